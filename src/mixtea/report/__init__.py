"""HTML report of a run, and comparison of two runs."""
