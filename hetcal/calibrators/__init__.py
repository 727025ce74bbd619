"""Maps of the score and how they are fitted, in one leaf, in all leaves, or for all rows.

Platt, beta, temperature, isotonic and the others, shrinkage towards the pooled map, and vector
and Dirichlet maps for more than two classes.

A new calibrator goes here: its fit in `methods` or `binned`, its name in `methods` and in
`hetcal.choices`, its estimator in `single`; pages name it in `pages/shared/controls/maps.py`.
"""
