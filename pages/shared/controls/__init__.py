"""Widgets by which the user gives files and chooses settings, one module for each page or task.

Each change goes into the workspace of `pages.shared.state`, never into a result.
"""
