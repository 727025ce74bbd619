"""Work beside the caller: functions in processes of their own, a few at a time, with progress.

A process that is kept ready loads what most jobs need: `runs` and what is before it.
"""
