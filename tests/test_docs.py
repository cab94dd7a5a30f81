"""The pages: their Python runs, their links lead somewhere, their commands exist."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
from typer.main import get_command

from mixtea.cli import app
from mixtea.config import PRESETS, Config

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
LINKED = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def text_of(page):
    return page.read_text(encoding="utf-8")


def blocks(page, *languages):
    """(language, content, its first line) of the fenced blocks in these languages, in order."""
    text = text_of(page)
    found = ((m[1], m[2], text.count("\n", 0, m.start(2))) for m in BLOCK.finditer(text))
    return [block for block in found if block[0] in languages]


def relative_links(page):
    """(label, path) of the links that do not leave the repository."""
    found = LINK.findall(BLOCK.sub("", text_of(page)))
    return [(label, page.parent / path.partition("#")[0]) for label, path in found if not re.match(r"\w+:|#", path)]


def name(page):
    return page.name


RUN_HERE = [p for p in PAGES if blocks(p, "python") and p.name != "tutorial.md"]  # which test_tutorial.py runs whole


@pytest.mark.parametrize("page", RUN_HERE, ids=name)
def test_python_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch, capsys):
    """A block `text` right after a block `python` is what that prints."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for _, code, line in blocks(page, "python"):
        exec(compile("\n" * line + code, str(page), "exec"), namespace)
        printed = capsys.readouterr().out
        shown = re.search(re.escape(code) + r"```\n\n```text\n(.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL)
        if shown:
            assert printed == shown[1]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "py")], ids=name)
def test_python_for_programs_that_are_not_here_is_python_and_calls_what_there_is(page):
    for _, code, line in blocks(page, "py"):
        tree = ast.parse("\n" * line + code, str(page))
        compile(tree, str(page), "exec")
        ours = [one for one in ast.walk(tree) if isinstance(one, ast.ImportFrom) and one.module.startswith("mixtea")]
        found = {alias.name: getattr(import_module(one.module), alias.name) for one in ours for alias in one.names}
        calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and ast.unparse(one.func) in found]
        for call in calls:
            named = {keyword.arg: None for keyword in call.keywords}
            inspect.signature(found[ast.unparse(call.func)]).bind(*call.args, **named)
        assert calls
        for said in re.findall(r"\"(mixtea [^\"]*)", code):
            words = shlex.split(re.sub(r"\{\w+\}", "--source a.csv", said))
            get_command(app).commands[words[1]].make_context(words[1], words[2:])


@pytest.mark.parametrize("page", LINKED, ids=name)
def test_relative_links_lead_to_a_file(page):
    assert [str(path) for _, path in relative_links(page) if not path.exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_name_that_links_to_a_source_file_is_defined_there(page):
    for label, path in relative_links(page):
        if re.fullmatch(r"`[\w.]+`", label) and path.suffix == ".py":
            defined = re.findall(r"^\s*(?:def|class) (\w+)", text_of(path), re.MULTILINE)
            assert set(label.strip("`").split(".")) <= set(defined), f"{label} is not in {path.name}"


def test_every_difference_between_text_and_numbers_is_documented():
    page = text_of(ROOT / "docs" / "paper-to-code.md")
    rows = "".join(line for line in page.splitlines() if line.startswith("|"))
    for field, letter in PRESETS["text"].items():
        assert f"`{field}`: `{getattr(Config(), field)}` / `{letter}`" in rows


def called(page):
    """The words of every line in a block `bash` that calls mixtea."""
    lines = "".join(code for _, code, _ in blocks(page, "bash")).replace("\\\n", " ").splitlines()
    calls = (shlex.split(line, comments=True) for line in lines)
    return [words for words in calls if words[:1] == ["mixtea"]]


@pytest.mark.parametrize("page", [p for p in LINKED if called(p)], ids=name)
def test_commands_are_verbs_with_their_options(page):
    verbs = get_command(app).commands
    for _, verb, *args in called(page):
        assert verb in verbs
        verbs[verb].make_context(verb, args)  # raises for an option that does not exist or is missing


@pytest.mark.parametrize("page", LINKED, ids=name)
def test_scripts_that_are_called_exist(page):
    for _, code, _ in blocks(page, "bash"):
        for script in re.findall(r"^(?:bash|python) (\S+)", code, re.MULTILINE):
            assert (ROOT / script).is_file()


def test_the_readme_opens_with_both_commands_and_the_second_is_what_is_checked():
    assert blocks(README, "bash")[0][1] == "bash scripts/demo\nbash scripts/test\n"
    assert "bash scripts/test" in text_of(ROOT / ".ci" / "run").splitlines()


def test_two_tables_of_the_readme_become_one(tmp_path, monkeypatch, capsys):
    """Its commands run as they stand, and print what the page shows of the result."""
    from mixtea.cli import app as commands

    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    section = text_of(README).partition("## Two tables in, one table out")[2]
    lines = [line for line in BLOCK.search(section)[2].splitlines() if line]
    assert len(lines) == 3
    for line in lines:
        commands(shlex.split(line.removeprefix(".venv/bin/mixtea ")), standalone_mode=False)
    shown = re.search(r"```text\n(.*?)\.\.\.", section, re.DOTALL)[1]
    assert Path("films.csv").read_text().startswith(shown)
    assert re.search(r"all +60 +60 +60 +1\.000", capsys.readouterr().out)
