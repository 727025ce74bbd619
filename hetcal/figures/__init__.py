"""Finished results in, Plotly figures and tables to show out: nothing here computes a statistic.

Figures have axis titles, units and the number of rows on hover.
"""
