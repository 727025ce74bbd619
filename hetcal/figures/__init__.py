"""Finished results in, Plotly figures out: nothing here computes a statistic.

Every figure has axis titles, units and the number of rows on hover.
"""
