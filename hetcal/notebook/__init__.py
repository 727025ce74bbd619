"""hetcal from Python in one statement: arrays or a frame in, a finished run to look at out.

`calibrate` makes a run, `open` reopens one that was saved, and a `FinishedRun` shows itself in a
notebook. Nothing here computes a statistic or draws a Plotly figure of its own.
"""
