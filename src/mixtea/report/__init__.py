"""A page about a run, and what changed between two runs."""
