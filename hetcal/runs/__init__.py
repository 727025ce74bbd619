"""Algorithm 1 from table to result: settings in, a `Run` out.

`run` splits and checks the table, takes the scores, partitions, calibrates and evaluates, in
this order; `HeterogeneousCalibrator` is the scikit-learn estimator for the same steps.
"""
