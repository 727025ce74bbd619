"""Everything Keras: the look at an untrusted file, the confined child process, scoring, training.

A model never runs in the process of the app. Only `worker` and `network_worker`, which run
inside the child, import Keras.
"""
