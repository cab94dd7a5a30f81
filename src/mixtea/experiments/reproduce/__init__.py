"""Reproduce the paper's tables and figures, beside the published ones.

`plan` defines the trainings of each table, `runner` does and stores them, `pages` shows them, `published` holds the
figures of the literature.
"""
