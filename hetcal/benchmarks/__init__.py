"""How good and how fast hetcal is, next to its rivals: the commands `benchmark` and `speed`.

Only the command line imports this package.
"""
