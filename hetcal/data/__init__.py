"""From a file to rows with roles: label, features, split, one score per row and output.

Every decision made while reading is reported. A new source or file format goes here and returns
a `reading.Source`. Nothing here knows Keras: a model's scores come from `hetcal.models`.
"""
