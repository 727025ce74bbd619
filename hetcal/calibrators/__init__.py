"""Maps of the score and how they are fitted, in one leaf, in all leaves, or for all rows.

Platt, beta, temperature, isotonic and the others, shrinkage towards the pooled map, and vector
and Dirichlet maps for more than two classes. A new calibrator goes here.
"""
