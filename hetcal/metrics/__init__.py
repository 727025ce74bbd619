"""From labels, scores and weights to a number with its error, or to a curve.

AUC with DeLong's test, average precision, log-loss, calibration error, ROC and reliability
curves, for rows and for cells. Nothing here knows a table, a partition or a run.

A new metric goes here; its definition goes to `results.words`, and `artifacts.evaluation` must
still read artifacts that were saved without it.
"""
