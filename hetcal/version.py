"""The version of hetcal."""

__version__ = "0.2.0"
