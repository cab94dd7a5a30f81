"""Encode the texts of entities by a local sentence-transformers model."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mixtea.callbacks import active_callbacks
from mixtea.errors import DataError, MissingExtraError, is_full_memory
from mixtea.graph.graph import Graph
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.vectors.model_folder import check_model_folder
from mixtea.messages import visible
from mixtea.text.names import entity_texts

logger = logging.getLogger(__name__)
LIBRARIES = ("sentence_transformers", "huggingface_hub.constants", "transformers.utils.logging")
TEXTS_PER_BLOCK = 2048  # texts
MAX_REASON = 300  # characters


def text_vectors(graphs: tuple[Graph, Graph], folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Encode the entities of both graphs, float32 [n, d]: NaN for one of which nothing can be read.

    The vector of an entity is the mean of the unit vectors of its names and of its description, as far as it has them.
    """
    check_model_folder(folder)
    texts = [entity_texts(graph) for graph in graphs]
    for side, found in zip(("source", "target"), texts, strict=True):
        if not any(map(any, found)):
            raise DataError(f"No entity of the {side} graph has a label, a description or a name to encode.")
    distinct = sorted({text for found in texts for both in found for text in both} - {""})
    encoded = _encoded(folder, distinct)
    encoded /= np.maximum(np.linalg.norm(encoded, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    place = {text: i for i, text in enumerate(distinct)} | {"": len(distinct)}
    vectors = np.append(encoded, np.zeros_like(encoded[:1]), axis=0)
    source, target = (_means(vectors, np.array([[place[text] for text in both] for both in found])) for found in texts)
    return source, target


def _means(vectors: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Average the vectors at places [n, 2] per row, where the last of them stands for no text."""
    n_texts = (places < len(vectors) - 1).sum(axis=1)
    means: np.ndarray = vectors[places].sum(axis=1) / np.maximum(n_texts, 1)[:, None].astype(np.float32)
    means[n_texts == 0] = np.nan
    return means


def _encoded(folder: Path, texts: list[str]) -> np.ndarray:
    """Return float32 [n, d], computed in blocks for progress."""
    blocks = []
    with _library() as library:
        with _library_errors(folder):  # an absolute path cannot be taken for the name of a model elsewhere
            model = library.SentenceTransformer(
                str(folder.absolute()),
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            ).float()
        for start in range(0, len(texts), TEXTS_PER_BLOCK):
            with _library_errors(folder):
                blocks.append(_block(model, texts[start : start + TEXTS_PER_BLOCK]))
            n = min(start + TEXTS_PER_BLOCK, len(texts))
            logger.info("%s of %s texts encoded", f"{n:,}", f"{len(texts):,}")
            for callback in active_callbacks():
                callback.on_texts(n, len(texts))
    return np.concatenate(blocks)


def _block(model: Any, texts: list[str]) -> np.ndarray:
    found = np.asarray(model.encode(texts, show_progress_bar=False), dtype=np.float32)
    if found.ndim != 2 or not np.isfinite(found).all():
        raise ValueError("its output for a text is not a vector of numbers")
    return found


@contextmanager
def _library() -> Iterator[Any]:
    """Import sentence-transformers; inside the block it is offline and shows no bars."""
    try:
        library, hub, bars = map(_module, LIBRARIES)
    except ImportError:
        raise MissingExtraError("A text model needs sentence-transformers: pip install 'mixtea[text]'.") from None
    offline, shown = hub.HF_HUB_OFFLINE, bars.is_progress_bar_enabled()
    hub.HF_HUB_OFFLINE = True
    bars.disable_progress_bar()
    try:
        yield library
    finally:
        hub.HF_HUB_OFFLINE = offline
        (bars.enable_progress_bar if shown else bars.disable_progress_bar)()


def _module(name: str) -> Any:
    return import_module(name)


@contextmanager
def _library_errors(folder: Path) -> Iterator[None]:
    """Turn any error of the library into one message that names the folder."""
    try:
        yield
    except Exception as error:  # the folder is a stranger's, and the library large
        if is_full_memory(error):
            raise
        what = f"not a model that can be used ({visible(error, MAX_REASON)})"
        raise UnreadableError(folder, None, "", what, "Save it again by sentence-transformers.") from None
