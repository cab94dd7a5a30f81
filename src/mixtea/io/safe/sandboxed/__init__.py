"""Parsers in a process of their own, for formats whose parsers a file can bring to crash, or to eat time and memory.

These modules run without the rest of mixtea, so that starting them takes little time: they import each other relatively
and nothing else of mixtea. What they get is on standard input; they open no file.
"""
