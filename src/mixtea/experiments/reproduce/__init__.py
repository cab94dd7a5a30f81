"""The paper's tables and figures, measured again: what to run, running it, and showing it beside what was published.

`experiments` says which trainings each table needs, `work` does one, `runner` does many and remembers them, `tables`
and `plots` show them, `published` holds the figures of the literature.
"""
