"""A mapping into a file; the file's ending chooses the format."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Table
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from mixtea.decide.mapping import Mapping
from mixtea.errors import ConfigError, RunError
from mixtea.export.alignment_xml import write_alignment
from mixtea.export.csv_file import write_csv
from mixtea.export.json_file import write_json
from mixtea.export.metadata import About
from mixtea.export.parquet import write_parquet
from mixtea.export.rdf import write_ntriples, write_turtle
from mixtea.export.sssom import write_sssom
from mixtea.export.tsv import write_links

W = TypeVar("W")
Writer = Callable[[Mapping, Path, About], int]
WRITERS: dict[str, Writer] = {
    ".sssom.tsv": write_sssom,  # before .tsv, with which it ends too
    ".tsv": write_links,
    ".nt": write_ntriples,
    ".ttl": write_turtle,
    ".rdf": write_alignment,
    ".parquet": write_parquet,
    ".csv": write_csv,
    ".json": write_json,
}


def write_mapping(mapping: Mapping, path: Path, about: About | None = None) -> int:
    """Write a mapping whole or not at all; returns the number of mappings in the file.

    Labels are kept byte for byte, but names in SSSOM lose their line breaks. What a format cannot hold is refused by
    name, and nothing is written. Blank nodes are left out of the formats that name entities by IRIs, with a word in the
    log.
    """
    writer = writer_for(path, WRITERS)
    about = (about or About()).naming(mapping.source, mapping.target).identified(mapping.frame)
    return writer(mapping, path, about.described(mapping.links_from))


def write_new_mapping(mapping: Mapping, path: Path, about: Table[str, Any], *, overwrite: bool) -> int:
    """What `Mapping.write` does: the same with what the file says about itself by name; a file that is there stays."""
    known = asdict(About())
    for name, value in about.items():
        if name not in known:
            raise ConfigError(f"{name}: unknown. A mapping file says about itself: {', '.join(sorted(known))}.")
        if not isinstance(value, date if name == "date" else type(known[name])):
            kind = "a datetime.date" if name == "date" else {str: "text", bool: "True or False"}[type(known[name])]
            raise ConfigError(f"{name}: {value!r:.100} is not {kind}.")
    writer_for(path, WRITERS)
    if path.exists() and not overwrite:
        raise RunError(f"{path}: already there. Name another file, or replace it: overwrite=True.")
    return write_mapping(mapping, path, About(**about))


def writer_for(path: Path, writers: Table[str, W]) -> W:
    """The one of the writers that goes with the ending of a file's name."""
    for ending, writer in writers.items():
        if path.name.lower().endswith(ending):
            return writer
    raise ConfigError(f"{path}: no format goes with the ending {path.suffix!r}. Choose one of {', '.join(writers)}.")
