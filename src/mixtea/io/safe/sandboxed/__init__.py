"""Parsers that run in a process of their own, for formats whose files can crash a parser or exhaust time and memory.

These modules run without the rest of mixtea, so that they start quickly: they import only each other, relatively. Their
input is standard input; they open no file.
"""
