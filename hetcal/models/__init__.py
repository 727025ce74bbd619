"""Everything Keras: the look at an untrusted file, the confined child process, scoring, training.

A model never runs in the process of the app: Keras is imported only by functions that run
inside the child. `scoring` also takes scores from columns.
"""
