"""Folders of models that could run code, or load it from elsewhere: each is refused before a library sees it."""

from __future__ import annotations

import json
import os

import pytest
from conftest import write

from mixtea import DataError
from mixtea.io.vectors import model_folder
from mixtea.io.vectors.model_folder import check_model_folder

BASE = "sentence_transformers.base.modules.transformer.Transformer"
POOLING = "sentence_transformers.models.Pooling"
DENSE = {"in_features": 4, "activation_function": "torch.nn.modules.activation.Tanh"}


def modules(*kinds, path=""):
    return json.dumps([{"idx": i, "name": str(i), "path": path, "type": kind} for i, kind in enumerate(kinds)])


GOOD = {
    "modules.json": modules(BASE, POOLING),
    "config.json": '{"model_type": "bert", "auto_map": null, "architectures": ["BertModel"]}',
    "sentence_bert_config.json": '{"max_seq_length": 8, "modality_config": {"text": {"method": "forward"}}}',
    "model.safetensors": "weights",
    "pytorch_model.bin": "the same weights, which nobody reads",
    "model.safetensors.index.json": '{"weight_map": {"a": "model-00001-of-00002.safetensors"}}',
    "tokenizer.json": '{"auto_map": "words of a vocabulary may be any"}',
    "2_Dense/config.json": json.dumps(DENSE),
    "README.md": "import os",
}


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "model", GOOD)


def refused(folder):
    with pytest.raises(DataError) as error:
        check_model_folder(folder)
    return str(error.value)


def test_a_good_folder_passes(folder):
    check_model_folder(folder)
    (folder / "vocab.txt").symlink_to(folder / "README.md")
    check_model_folder(folder)


def test_normalize_needs_no_folder(folder):
    """As in a package, which has no empty folders; what is there in its place is looked at."""
    normalize = "sentence_transformers.models.Normalize"
    write(folder, {"modules.json": modules(BASE, normalize, path="2_Normalize").replace("2_Normalize", "", 1)})
    check_model_folder(folder)
    write(folder, {"2_Normalize": "a file"})
    assert "modules.json: a module that lies elsewhere: '2_Normalize'" in refused(folder)
    write(folder, {"modules.json": modules(normalize, path="../other")})
    assert "modules.json: a module that lies elsewhere: '../other'" in refused(folder)


CODE = "code, which a model must not bring"
WEIGHTS = "weights in a format that is not read, and no safetensors"
SETTING = "a setting that can have other code loaded"
KIND = "a module that is not known to be safe"
ELSEWHERE = "a module that lies elsewhere"
HOSTILE = {
    "code": ("modeling_evil.py", "", CODE),
    "code in a folder": ("1_Pooling/custom.PY", "", CODE),
    "a library": ("kernel.so", "", CODE),
    "a pickle": ("2_Dense/pytorch_model.bin", "", WEIGHTS),
    "weights of another library": ("1_Pooling/model.h5", "", WEIGHTS),
    "an adapter": ("adapter_config.json", "{}", "an adapter to a model that lies elsewhere"),
    "code that a map names": (
        "config.json",
        '{"auto_map": {"AutoModel": "evil--repo.Model"}}',
        SETTING + ": 'auto_map'",
    ),
    "a map of the tokenizer": ("tokenizer_config.json", '{"auto_map": {"AutoTokenizer": ["x.Y", null]}}', SETTING),
    "a nested map": ("config.json", '{"text_config": [{"auto_map": {"AutoModel": "x.Y"}}]}', SETTING),
    "trust": ("sentence_bert_config.json", '{"model_args": {"trust_remote_code": true}}', SETTING),
    "arguments": ("sentence_bert_config.json", '{"processor_kwargs": {"vocab_file": "/etc/passwd"}}', SETTING),
    "a kernel": ("config.json", '{"attn_implementation": "evil/kernel"}', SETTING),
    "quantised weights": ("config.json", '{"quantization_config": {"quant_method": "evil"}}', SETTING),
    "other weights": ("config.json", '{"transformers_weights": "pytorch_model.bin"}', SETTING),
    "weights by a list": ("model.safetensors.index.json", '{"weight_map": {"a": "pytorch_model.bin"}}', SETTING),
    "weights from above": ("model.safetensors.index.json", '{"weight_map": {"a": "../x.safetensors"}}', SETTING),
    "weights by a word": ("model.safetensors.index.json", '{"weight_map": "x.bin"}', SETTING),
    "a function": ("2_Dense/config.json", '{"activation_function": "torch.hub.load"}', SETTING),
    "a method": ("sentence_bert_config.json", '{"modality_config": {"text": {"method": "push_to_hub"}}}', SETTING),
    "a module of one's own": ("modules.json", modules(BASE, "custom_st.Pooling"), KIND + ": 'custom_st.Pooling'"),
    "a module of Python": ("modules.json", modules("os.system"), KIND),
    "a module like one of theirs": ("modules.json", modules("sentence_transformers_evil.Pooling"), KIND),
    "another of theirs": ("modules.json", modules("sentence_transformers.base.modules.router.Router"), KIND),
    "a module above": ("modules.json", modules(BASE, path="../other"), ELSEWHERE),
    "a module that is not there": ("modules.json", modules(BASE, path="9_Other"), ELSEWHERE),
    "a path that is a number": ("modules.json", modules(BASE, path=5), ELSEWHERE),
    "no modules": ("modules.json", "[]", "no list of modules"),
    "modules that are an object": ("modules.json", "{}", "no list of modules"),
    "modules that are words": ("modules.json", '["x"]', "no list of modules"),
    "no JSON": ("config.json", "{", "no JSON (Expecting"),
    "JSON without a bottom": ("config.json", "[" * 100_000, "no JSON (maximum recursion"),
    "far too much JSON": (
        "config.json",
        " " * (model_folder.MAX_JSON_BYTES + 1),
        "more than 4,194,304 bytes of settings",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_could_run_code_is_refused_by_name(kind, folder):
    name, content, message = HOSTILE[kind]
    said = refused(write(folder, {name: content}))
    assert said.startswith(f"{folder / name}: {message}") and len(said) < 1000


@pytest.mark.parametrize("name", ["vocab.txt", "1_Pooling"])
def test_links_out_of_it_are_refused(name, folder, tmp_path):
    write(tmp_path, {"secret/file": "x"})
    (folder / name).symlink_to(tmp_path / "secret" / ("file" if name == "vocab.txt" else ""))
    assert f"{folder / name}: a link that leads out of the folder. Copy the model's files" in refused(folder)


def test_other_things_that_are_no_files_are_refused(folder, monkeypatch):
    (folder / "nowhere").symlink_to(folder / "not there")
    assert "nowhere: a device, a pipe or a link to nowhere" in refused(folder)
    (folder / "nowhere").unlink()
    (folder / "round").symlink_to(folder / "round")
    assert "round: a device, a pipe or a link to nowhere" in refused(folder)
    (folder / "round").unlink()
    os.mkfifo(folder / "pipe.txt")
    assert "pipe.txt: a device, a pipe or a link to nowhere" in refused(folder)
    (folder / "pipe.txt").unlink()
    (folder / "linked").symlink_to(folder / "2_Dense")
    assert "linked: a link to a folder" in refused(folder)
    (folder / "linked").unlink()
    monkeypatch.setattr(model_folder, "MAX_FILES", 3)
    assert "more than 3 files" in refused(folder)


def test_it_must_be_a_folder_with_modules(folder, tmp_path):
    assert "no such folder. Name the folder of a model" in refused(tmp_path / "none")
    assert "a file, where a folder is needed" in refused(folder / "README.md")
    (folder / "modules.json").unlink()
    assert "modules.json: no such file" in refused(folder)
