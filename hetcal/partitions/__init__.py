"""The paper's Π: plain data that sends a row to its leaf, and the estimators that grow it.

A tree on labels, on scores, on the units of a layer, the user's own segments, a forest, boosted
trees. A new way to divide the feature space goes here.
"""
