"""Whether an artifact still holds on newer rows, and its maps fitted again on them.

The reference is what the artifact keeps of its test rows. A new test of newer rows goes to `held`
(with labels) or `moved` (without), and its words to `advice`.
"""
