"""Sequences of stages that turn a score and a row's columns into a calibrated score.

Candidates are tried on rows that they were not fitted on, and the simplest that is as good as
the best is kept, or none. A new candidate of `auto` goes here.
"""
