"""Check the folder of a language model before any library opens it: it must not be able to run code.

Weights are safetensors, modules are those of sentence-transformers that only compute, and no settings file names code,
other weights, or another place to load from.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mixtea.io.safe.open import open_input
from mixtea.io.safe.problems import UnreadableError

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


def _is_there(place: Path, kind: str) -> bool:
    """Return whether a module has its folder; Normalize needs no file, and packages leave empty folders out."""
    return place.is_dir() or (kind.endswith(".Normalize") and not os.path.lexists(place))


def _check_modules(path: Path, folder: Path, modules: Any) -> None:
    """Refuse modules other than those that only compute, and those outside this folder."""
    if not isinstance(modules, list) or not all(isinstance(one, dict) for one in modules) or not modules:
        raise UnreadableError(path, None, "", "no list of modules", USE_ANOTHER)
    for one in modules:
        kind, where = str(one.get("type")), one.get("path")
        if not MODULE.fullmatch(kind):
            raise UnreadableError(path, None, kind, "a module that is not known to be safe:", USE_ANOTHER)
        is_inside = type(where) is str and re.fullmatch(r"[\w-]*", where) is not None
        if not is_inside or not _is_there(folder / where, kind):
            raise UnreadableError(path, None, str(where), "a module that lies elsewhere:", COPY)
