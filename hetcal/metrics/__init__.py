"""From labels, scores and weights to a number with its error, or to a curve.

AUC with DeLong's test, average precision, log-loss, calibration error, ROC and reliability
curves, for rows and for cells. A new metric goes here. Nothing here knows a table, a partition
or a run.
"""
