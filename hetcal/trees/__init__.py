"""Growing a tree fast, on labels or on scores: arrays in, arrays out.

Bins of every column are counted node by node, compiled where numba is installed, with numpy as
the reference. Nothing here knows a table or a partition.
"""
