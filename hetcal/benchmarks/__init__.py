"""How good and how fast hetcal is, next to its rivals: the commands `benchmark` and `speed`.

Nothing else imports this package.
"""
