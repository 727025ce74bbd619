"""From a file to rows with roles: label, features, split, one score per row and output.

Every decision made while reading is reported. A new source or file format goes here. Nothing
here knows Keras: scores that a model computes come from `hetcal.models`.
"""
