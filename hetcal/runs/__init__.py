"""Algorithm 1 from table to result: settings in, a `Run` out.

`run` checks the table, splits, scores, partitions, calibrates and evaluates, in this order; the
scikit-learn face of the same steps is `HeterogeneousCalibrator`.
"""
