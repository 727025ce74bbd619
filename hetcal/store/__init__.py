"""Runs that last: a folder for each, with what it was given and what was found.

Imports from `hetcal` itself and from the packages up to `jobs`.
"""
