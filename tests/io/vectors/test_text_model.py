"""Vectors by a model of sentence-transformers from a folder: a tiny one that is made here."""

from __future__ import annotations

import json
import shutil
import socket
import sys

import numpy as np
import pytest
from conftest import write

from mixtea import DataError, load_task
from mixtea.callbacks import History
from mixtea.errors import MissingExtraError
from mixtea.io.vectors import text_model

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rome", "paris", "capital", "of", "italy", "france", "."]
RDFS = "@prefix : <http://a.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
FILES = {
    "a.ttl": RDFS + ':x :in :Italy ; rdfs:label "Rome" . :y :in :France ; rdfs:label "Paris" .\n',
    "b.ttl": RDFS + ':Q1 :in :Italy ; rdfs:label "Rome" . :Paris :in :Q2 .\n',
    "l.tsv": "http://a.org/x\thttp://a.org/Q1\nhttp://a.org/y\thttp://a.org/Paris\n",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Two layers of sixteen numbers, with weights by chance."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = tmp_path_factory.mktemp("model")
    shape = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32)
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=64, **shape)).save_pretrained(folder)
    BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)}).save_pretrained(folder)
    logging.enable_progress_bar()
    listed = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling",
         "type": "sentence_transformers.sentence_transformer.modules.pooling.Pooling"},
    ]  # fmt: skip
    pooling = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
    return write(folder, {"modules.json": json.dumps(listed), "1_Pooling/config.json": json.dumps(pooling)})


def load(tmp_path, folder, files=FILES, **options):
    write(tmp_path, files)
    paths = [tmp_path / name for name in files]
    return load_task(source=paths[0], target=paths[1], links=paths[2], text_model=folder, **options)


def test_texts_become_vectors(tmp_path, model, monkeypatch, capfd):
    def nobody(*_):
        raise AssertionError("it asked somebody")

    monkeypatch.setattr(socket.socket, "connect", nobody)
    monkeypatch.setattr(text_model, "TEXTS_PER_BLOCK", 3)
    history = History()
    task = load(tmp_path, model, callbacks=history)
    source, target = ({name.rpartition("/")[2]: i for i, name in enumerate(g.ids)} for g in (task.source, task.target))
    assert task.source.vectors.shape == (4, 16) and task.source.vectors.dtype == np.float32
    assert np.array_equal(task.source.vectors[source["x"]], task.target.vectors[target["Q1"]])  # both are Rome
    assert np.array_equal(task.source.vectors[source["y"]], task.target.vectors[target["Paris"]])
    assert not np.allclose(task.source.vectors[source["x"]], task.source.vectors[source["y"]], atol=1e-3)
    assert task.target.has_vector().tolist() == [name != "http://a.org/Q2" for name in task.target.ids]
    assert history.texts == [(3, 4), (4, 4)] and capfd.readouterr().err == ""
    hub = sys.modules["huggingface_hub.constants"]
    assert not hub.HF_HUB_OFFLINE and sys.modules["transformers.utils.logging"].is_progress_bar_enabled()


def test_names_and_descriptions_weigh_the_same(tmp_path, model):
    described = RDFS + ':x rdfs:label "Rome" ; rdfs:comment "Paris" . :y rdfs:label "Paris" ; :in :x .\n'
    task = load(tmp_path, model, FILES | {"a.ttl": described})
    x, y = (task.source.vectors[list(task.source.ids).index(f"http://a.org/{name}")] for name in "xy")
    rome = task.target.vectors[list(task.target.ids).index("http://a.org/Q1")]
    assert np.allclose(x, (rome + y) / 2) and np.allclose(np.linalg.norm([rome, y], axis=1), 1)


def test_the_same_again_is_the_same(tmp_path, model):
    first, second = (load(tmp_path, model) for _ in range(2))
    assert np.array_equal(first.target.vectors, second.target.vectors, equal_nan=True)


def test_the_command_says_how_far_it_is(tmp_path, model, mixtea):
    write(tmp_path, FILES)
    paths = zip(("--source", "--target", "--links"), (tmp_path / name for name in FILES), strict=True)
    code, out, err = mixtea(
        "inspect", *(word for pair in paths for word in pair), "--text-model", model, "--device", "cpu"
    )
    assert code == 0 and "4 of 4 texts encoded" in err and "with a vector: 3" in out


def test_the_model_of_a_package_gives_the_same(tmp_path, model, monkeypatch):
    """Packages have no empty folders, so that a module that only normalises has none; no code of theirs runs."""
    package = tmp_path / "site" / "tiny_text_model"
    inside = shutil.copytree(model, package / "model")
    listed = json.loads((inside / "modules.json").read_text())
    listed.append({"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"})
    write(package, {"__init__.py": "raise SystemExit", "model/modules.json": json.dumps(listed)})
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    vectors, found = (load(tmp_path, one).source.vectors for one in (model, "tiny-text-model"))
    assert np.allclose(found, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), atol=1e-5, equal_nan=True)
    assert "tiny_text_model" not in sys.modules


def test_a_model_that_is_broken_is_named(tmp_path, model):
    broken = shutil.copytree(model, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(DataError, match="broken: not a model that can be used"):
        load(tmp_path, broken)


def test_a_model_that_gives_no_numbers_is_named(tmp_path, model, monkeypatch):
    from sentence_transformers import SentenceTransformer

    monkeypatch.setattr(SentenceTransformer, "encode", lambda self, texts, **_: np.full((len(texts), 2), np.nan))
    with pytest.raises(DataError, match="its output for a text is not a vector of numbers"):
        load(tmp_path, model)


def test_full_memory_is_not_the_models_fault(tmp_path, model, monkeypatch):
    from sentence_transformers import SentenceTransformer

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(SentenceTransformer, "encode", full)
    with pytest.raises(MemoryError):
        load(tmp_path, model)


def test_a_graph_without_any_text_is_named(tmp_path, model):
    files = FILES | {"b.ttl": "@prefix : <http://a.org/> . :Q1 :in :Q3 . :Paris :in :Q2 .".replace("Paris", "Q4")}
    files |= {"l.tsv": "http://a.org/x\thttp://a.org/Q1\nhttp://a.org/y\thttp://a.org/Q4\n"}
    with pytest.raises(DataError, match="No entity of the target graph has a label, a description or a name"):
        load(tmp_path, model, files)


def test_without_the_library_the_extra_is_named(tmp_path, model, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mixtea\[text\]'"):
        load(tmp_path, model)


def test_a_hostile_model_is_refused_before_the_library_is_loaded(tmp_path, model, monkeypatch):
    folder = shutil.copytree(model, tmp_path / "hostile")
    write(folder, {"modeling_x.py": "raise SystemExit"})
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(DataError, match=r"modeling_x\.py: code, which a model must not bring"):
        load(tmp_path, folder)
