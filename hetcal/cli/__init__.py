"""The command line: options to settings, settings to a run, a run to files.

The same core as the app, without Streamlit.
"""
