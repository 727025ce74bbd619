"""The version of hetcal."""

__version__ = "0.1.0"
