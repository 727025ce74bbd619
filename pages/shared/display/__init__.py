"""How pages show results: cards, charts with a line on how to read them, tables and messages.

Nothing here computes a result; words that the command line needs, too, are in `hetcal`.
"""
