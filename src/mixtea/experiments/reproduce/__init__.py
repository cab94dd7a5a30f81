"""Reproduce the paper's tables and figures, beside the published ones.

`experiments` defines the trainings of each table, `work` does one, `runner` does many and stores them, `tables` and
`plots` show them, `published` holds the figures of the literature.
"""
