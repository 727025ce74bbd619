"""What calibration changed on the test rows, overall and leaf by leaf, in numbers and in words.

Evaluation, over-confidence, where the lift comes from, histograms, the verdict and the
definitions of every measure.
"""
