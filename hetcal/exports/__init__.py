"""The calibrated model for where models live: one file per format, made from an opened artifact.

Every format is generated from the same `recipe`, and `export` compares it with the artifact in a
fresh process before it gives it out. A new format goes here: what writes it in a module of its
own, its name in `hetcal.choices.EXPORTS`, its call in `export`; the page names it in
`pages/shared/controls/exports.py`. `scorer` is given out as it is, with the recipe in it.
"""
