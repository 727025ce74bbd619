"""Damaged files through the doors: a result or a named error, never anything else.

`python -m tests.mutations [--count 10000] [--seed 0] [KIND ...]` changes bytes of a sound file of
each kind at random and opens what comes of it, in a process that is watched: whatever takes longer
than 10 s, ends the process or raises anything but a named error is listed with its number, and
kept in the folder that `--keep` names.
"""
