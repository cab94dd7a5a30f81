"""Run folders from somebody who means harm, with every checksum made anew: each is refused by name, none runs code."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from payloads import attacks, is_live
from processes import LONG
from processes import run as run_process
from safetensors.numpy import load_file, save_file

from mixtea import MixTEA, RunError
from mixtea.io.vectors import load as holes_of
from mixtea.runs import safe_read as run_files
from mixtea.runs.checkpoints import Checkpoints
from mixtea.runs.folder import RESULT_FILES
from mixtea.runs.in_progress import TrainingInputs, UnfinishedRun

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
import run_fuzz  # noqa: E402

DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A good run with opinions, votes, labels, attribute triples, vectors, rejected pairs and prefixes."""
    return run_fuzz.seeds(tmp_path_factory.mktemp("seeds"))[0]


@pytest.fixture
def run(whole, tmp_path):
    """A copy to break; whoever waits for a pipe is woken."""
    shutil.copytree(whole, tmp_path / "run")

    def woken(*_):
        raise TimeoutError("somebody waits")

    before = signal.signal(signal.SIGALRM, woken)
    signal.alarm(int(LONG))
    yield tmp_path / "run"
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def at(*path):
    """Puts a value at a place of nested JSON."""

    def change(value, into):
        for key in path[:-1]:
            value = value[key]
        value[path[-1]] = into

    return change


def in_json(*place):
    def make(into):
        def edit(path):
            value = json.loads(path.read_text(encoding="utf-8"))
            at(*place)(value, into)
            path.write_text(json.dumps(value))

        return edit

    return make


def as_text(text):
    return lambda path: path.write_text(text)


def padded(n):
    """As it was, after very many spaces."""
    return lambda path: path.write_text(" " * n + path.read_text(encoding="utf-8"), encoding="utf-8")


def in_arrays(change):
    def edit(path):
        arrays = load_file(path)
        change(arrays)
        save_file({name: np.ascontiguousarray(value) for name, value in arrays.items()}, path)

    return edit


def number(name, place, value):
    def change(arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return in_arrays(change)


def array(name, make):
    return in_arrays(lambda arrays: arrays.update({name: make(arrays[name])}))


def file_entry(name, **entry):
    """Another file in the manifest's list."""

    def edit(path):
        about = json.loads(path.read_text(encoding="utf-8"))
        about["files"][name] = {"bytes": 0, "sha256": "0" * 64} | entry
        path.write_text(json.dumps(about))

    return edit


def instead(make):
    """Something else in a file's place."""

    def edit(path):
        path.unlink()
        make(path)

    return edit


def linked(path):
    shutil.copy(path, path.parent.parent / "elsewhere")
    path.unlink()
    path.symlink_to(path.parent.parent / "elsewhere")


def holes(size, head=b""):
    """Many bytes, of which hardly any was written."""

    def edit(path):
        with path.open("wb") as file:
            file.write(head)
            file.truncate(size)

    return edit


def sized(size):
    """A file of holes that the manifest lists, with a checksum that nobody ever computed."""

    def edit(path):
        holes(size)(path)
        file_entry(path.name, bytes=size)(path.parent / MANIFEST)

    return edit


def triples_of_zeros(path, n=10_000_000):
    """Honest arrays in front, then more zeros than anybody would send."""
    arrays = load_file(path)
    arrays["target_triples"] = np.zeros((0, 3), dtype=np.int64)
    names = sorted(arrays, key=lambda name: name == "target_triples")
    shapes = {name: [n, 3] if name == "target_triples" else list(arrays[name].shape) for name in names}
    ends = np.cumsum([0, *(8 * np.prod(shapes[name], dtype=np.int64) for name in names)]).tolist()
    header = json.dumps(
        {name: {"dtype": "I64", "shape": shapes[name], "data_offsets": ends[i : i + 2]} for i, name in enumerate(names)}
    ).encode()
    content = b"".join(arrays[name].tobytes() for name in names)
    holes(8 + len(header) + ends[-1], len(header).to_bytes(8, "little") + header + content)(path)


def text_twice(arrays):
    """The two texts of a column become the same."""
    name = "source_attributes.value"
    first = arrays[f"{name}.data"][: arrays[f"{name}.offsets"][1]]
    arrays[f"{name}.data"], arrays[f"{name}.offsets"] = np.tile(first, 2), np.arange(3) * len(first)


MANIFEST, WEIGHTS, GRAPHS = "run.json", "weights.safetensors", "graphs.safetensors"
VOTES, OPINIONS, WORDS = "votes.safetensors", "opinions.safetensors", "vocabulary.json"
CANDIDATES, MAPPING = "candidates.safetensors", "mapping.safetensors"
about, words, config = (in_json, in_json, in_json)
LEARNED = "learned.json"


def view_of_attributes(path):
    """As many weights as there must be, of a voter that had no opinion."""
    array("source", lambda a: a)(path.parent / OPINIONS)
    in_arrays(lambda arrays: arrays.pop("score.names"))(path.parent / OPINIONS)


HOSTILE = {
    "an absolute name": (MANIFEST, file_entry("/etc/hostname")),
    "a name that climbs": (MANIFEST, file_entry("../elsewhere")),
    "the folder above": (MANIFEST, file_entry("..")),
    "a name in a folder": (MANIFEST, file_entry("a/b")),
    "a name with NUL": (MANIFEST, file_entry("a\0b")),
    "a name of another system": (MANIFEST, file_entry("..\\a")),
    "no name": (MANIFEST, file_entry("")),
    "itself": (MANIFEST, file_entry("run.json")),
    "a file that is not there": ("secret.txt", lambda path: file_entry("secret.txt")(path.parent / MANIFEST)),
    "a negative size": (MANIFEST, file_entry("x", bytes=-1)),
    "a size that is true": (MANIFEST, file_entry("x", bytes=True)),
    "a checksum that is none": (MANIFEST, file_entry("x", sha256="\u202e")),
    "a list of files that is a list": (MANIFEST, about("files")([])),
    "a list of files that lacks one": (MANIFEST, about("files")({})),
    "no object": (MANIFEST, as_text("[]")),
    "a manifest without a bottom": (MANIFEST, as_text(DEEP)),
    "a format that is a word": (MANIFEST, about("format")("3")),
    "a format that is true": (MANIFEST, about("format")(True)),
    "a format that never was": (MANIFEST, about("format")(-3)),
    "an unknown preset": (MANIFEST, about("preset")("worst")),
    "a preset that is a list": (MANIFEST, about("preset")([])),
    "a task name that is a number": (MANIFEST, about("task")(5)),
    "a task name of half a character": (MANIFEST, about("task")("\ud800")),
    "links from elsewhere": (MANIFEST, about("links_from")("elsewhere")),
    "links from a list": (MANIFEST, about("links_from")(["given"])),
    "a fold that is a word": (MANIFEST, about("fold")("1")),
    "epochs without end": (MANIFEST, about("n_epochs")(10**400)),
    "a best epoch after the last": (MANIFEST, about("best_epoch")(3)),
    "seconds that are NaN": (MANIFEST, about("seconds")(float("nan"))),
    "seconds without end": (MANIFEST, lambda path: path.write_text(path.read_text().replace("{", '{"x": 1e999,', 1))),
    "voters without a name": (MANIFEST, about("voter_weights")({"m e": 1.0})),
    "voters that weigh too much": (MANIFEST, about("voter_weights")({"agreement": 1e300})),
    "voters that are a list": (MANIFEST, about("voter_weights")([1.0])),
    "versions that are numbers": (MANIFEST, about("versions")({"mixtea": 1})),
    "too few seconds of epochs": ("history.json", lambda path: about("epoch_seconds")([1.0])(path.parent / MANIFEST)),
    "an unknown setting": ("config.json", config("exec")("import os")),
    "a setting out of range": ("config.json", config("n_layers")(10**9)),
    "a setting of another type": ("config.json", config("entity_dim")("8")),
    "a device that is none": ("config.json", config("device")("\x1b]0;x\x07")),
    "a weight without end": ("config.json", config("agreement_weight")(1e308)),
    "settings without a bottom": ("config.json", as_text('{"seed":' * 100_000 + "1" + "}" * 100_000)),
    "settings that are a list": ("config.json", as_text("[]")),
    "ids that are a word": (WORDS, words("source", "ids")("abc")),
    "an id that is a number": (WORDS, words("source", "ids", 0)(1)),
    "an id that is a list": (WORDS, words("target", "ids", 0)([])),
    "an id of half a character": (WORDS, words("target", "ids", 0)("\udfff")),
    "an id twice": (WORDS, words("source", "ids", 1)("s0")),
    "a relation twice": (WORDS, words("source", "relations", 1)("r")),
    "prefixes that are a list": (WORDS, words("source", "prefixes")([["a", "b"]])),
    "synonyms that are a word": (WORDS, words("synonyms")("fe")),
    "a group of synonyms that is a word": (WORDS, words("synonyms")(["fe"])),
    "a synonym that is a number": (WORDS, words("synonyms")([["fe", 5]])),
    "a synonym that is a list": (WORDS, words("synonyms")([["fe", []]])),
    "a synonym alone": (WORDS, words("synonyms")([["fe"]])),
    "an empty group of synonyms": (WORDS, words("synonyms")([[]])),
    "a synonym in two groups": (WORDS, words("synonyms")([["fe", "iron"], ["fe", "zinc"]])),
    "a side less": (WORDS, as_text('{"source": {}}')),
    "words without a bottom": (WORDS, as_text(DEEP)),
    "words that are not UTF-8": (WORDS, lambda path: path.write_bytes(b'{"source": "\xff"}')),
    "a head outside": (GRAPHS, number("source_triples", (0, 0), 9)),
    "a relation outside": (GRAPHS, number("source_triples", (0, 1), 2)),
    "a tail far outside": (GRAPHS, number("target_triples", (0, 2), 2**62)),
    "a negative tail": (GRAPHS, number("target_triples", (0, 2), -1)),
    "a link outside": (GRAPHS, number("train", (0, 1), 9)),
    "a negative link": (GRAPHS, number("test", (0, 0), -(2**63))),
    "no training link": (GRAPHS, array("train", lambda a: a[:0])),
    "triples of two": (GRAPHS, array("source_triples", lambda a: a[:, :2])),
    "triples in one row": (GRAPHS, array("source_triples", lambda a: a.reshape(-1))),
    "triples that are fractions": (GRAPHS, array("source_triples", lambda a: a.astype(np.float64))),
    "triples of 32 bits": (GRAPHS, array("source_triples", lambda a: a.astype(np.int32))),
    "a vector that is in part no number": (GRAPHS, number("source_vectors", (0, 0), np.nan)),
    "a vector without end": (GRAPHS, number("target_vectors", (0, 0), np.inf)),
    "vectors of fewer entities": (GRAPHS, array("source_vectors", lambda a: a[:-1])),
    "vectors of no number": (GRAPHS, array("source_vectors", lambda a: a[:, :0])),
    "vectors of another length": (GRAPHS, array("target_vectors", lambda a: a[:, :2])),
    "vectors of 64 bits": (GRAPHS, array("target_vectors", lambda a: a.astype(np.float64))),
    "vectors of a third side": (GRAPHS, in_arrays(lambda a: a.update(other_vectors=a["source_vectors"]))),
    "a rejected pair outside": (GRAPHS, number("rejected", (0, 1), 9)),
    "a value's text outside": (GRAPHS, number("source_attributes.value.codes", 0, 9)),
    "a negative text": (GRAPHS, number("source_labels.text.codes", 0, -1)),
    "texts that end before they begin": (GRAPHS, number("source_attributes.value.offsets", 1, 2**40)),
    "texts that begin before the first": (GRAPHS, number("target_labels.text.offsets", 0, -1)),
    "texts that end too soon": (GRAPHS, array("target_labels.text.data", lambda a: np.append(a, a[:1]))),
    "texts that end too late": (GRAPHS, array("target_labels.text.data", lambda a: a[:-1])),
    "texts without an end": (GRAPHS, array("target_labels.text.offsets", lambda a: a[:0])),
    "texts that are not UTF-8": (GRAPHS, number("source_labels.text.data", 0, 0xFF)),
    "a text that begins within a character": (GRAPHS, number("source_attributes.value.offsets", 1, 1)),
    "a text twice": (GRAPHS, in_arrays(text_twice)),
    "a value of nobody": (GRAPHS, number("source_attributes.entity", -1, 9)),
    "a label of nobody": (GRAPHS, number("source_labels.entity", 0, -1)),
    "labels in disorder": (GRAPHS, number("source_labels.entity", 0, 8)),
    "more values than entities that have them": (GRAPHS, array("source_attributes.entity", lambda a: a[:-1])),
    "more ranks than labels": (GRAPHS, array("source_labels.rank", lambda a: np.append(a, a[:1]))),
    "codes of 64 bits": (GRAPHS, array("source_attributes.language.codes", lambda a: a.astype(np.int64))),
    "texts in a table": (GRAPHS, array("source_attributes.value.data", lambda a: a[:, None])),
    "a split less": (GRAPHS, in_arrays(lambda arrays: arrays.pop("valid"))),
    "an array more": (GRAPHS, in_arrays(lambda arrays: arrays.update(more=np.zeros(1)))),
    "more entities than answers": (CANDIDATES, lambda path: more_entities(path.parent / WORDS)),
    "vectors too wide": (WEIGHTS, lambda path: config("entity_dim")(8192)(path.parent / "config.json")),
    "layers that are not there": (WEIGHTS, lambda path: config("n_layers")(8)(path.parent / "config.json")),
    "a matrix that is a vector": (WEIGHTS, lambda p: config("layer_transform")("matrix")(p.parent / "config.json")),
    "weights of 64 bits": (WEIGHTS, array("entity", lambda a: a.astype(np.float64))),
    "weights of 16 bits": (WEIGHTS, array("entity", lambda a: a.astype(np.float16))),
    "a weight that is NaN": (WEIGHTS, number("entity", (0, 0), np.nan)),
    "an infinite weight": (WEIGHTS, number("attention.0", (0, 0), -np.inf)),
    "weights that overflow": (WEIGHTS, array("entity", lambda a: a * 0 + np.float32(3e38))),
    "weights turned": (WEIGHTS, array("entity", lambda a: a.T)),
    "no safetensors": (WEIGHTS, lambda path: path.write_bytes(b"\xff" * 64)),
    "a header that is too long": (WEIGHTS, lambda path: path.write_bytes(b"\xff" * 7 + b"\x7f{}")),
    "a header without a bottom": (WEIGHTS, lambda p: p.write_bytes(len(DEEP).to_bytes(8, "little") + DEEP.encode())),
    "sizes beyond memory": (WEIGHTS, lambda path: path.write_bytes(announced("F32", [2**60, 2**60]))),
    "a vote for nobody": (VOTES, number("target", 0, 9)),
    "a vote by unknown voters": (VOTES, number("voters", 0, 1)),
    "a vote before the first epoch": (VOTES, number("first_epoch", 0, 0)),
    "a vote that never ends": (VOTES, number("last_epoch", 0, 99)),
    "a vote that ends before it begins": (VOTES, in_arrays(lambda a: a.update(first_epoch=a["last_epoch"] * 0 + 2))),
    "votes of 64 bits": (VOTES, array("source", lambda a: a.astype(np.int64))),
    "votes of different lengths": (VOTES, array("source", lambda a: a[:-1])),
    "an opinion about nobody": (OPINIONS, number("source", 0, 99)),
    "a negative opinion": (OPINIONS, number("target", 0, -1)),
    "an opinion twice": (OPINIONS, in_arrays(lambda a: a.update(source=a["source"] * 0 + a["source"][0]))),
    "an infinite opinion": (OPINIONS, number("score.agreement", 0, np.inf)),
    "a candidate that is nobody": (CANDIDATES, number("target", 0, 99)),
    "a negative candidate": (CANDIDATES, number("target", 0, -1)),
    "candidates of a linked source": (CANDIDATES, number("source", 0, 0)),
    "candidates that are ranked otherwise": (CANDIDATES, number("rank", 0, 2)),
    "a probability above 1": (CANDIDATES, number("probability", 0, 1.5)),
    "a likelihood that is NaN": (CANDIDATES, number("likelihood", 0, np.nan)),
    "a decision that there is not": (CANDIDATES, number("decision", 0, 9)),
    "a score without end": (CANDIDATES, number("score.vectors", 0, np.inf)),
    "scores of somebody with a strange name": (CANDIDATES, in_arrays(lambda a: a.update({"score.a b": a["belief"]}))),
    "candidates of different lengths": (CANDIDATES, array("belief", lambda a: a[:-1])),
    "candidates without voters": (CANDIDATES, in_arrays(lambda arrays: arrays.pop("voters"))),
    "a decision for nobody": (MAPPING, number("target", (0, 0), 99)),
    "decisions about others": (CANDIDATES, lambda path: number("source", 0, 0)(path.parent / MAPPING)),
    "a counterpart beyond doubt": (CANDIDATES, lambda path: number("counterpart", 0, -0.5)(path.parent / MAPPING)),
    "decisions of three": (MAPPING, array("target", lambda a: np.concatenate([a, a[:, :1]], axis=1))),
    "decisions without a flag": (MAPPING, in_arrays(lambda arrays: arrays.pop("is_free"))),
    "an opinion without end": (OPINIONS, number("score.agreement", 0, 1e38)),
    "an opinion without a name": (OPINIONS, in_arrays(lambda a: a.update({"score.m e": a["score.agreement"]}))),
    "opinions of whole numbers": (OPINIONS, array("score.agreement", lambda a: a.astype(np.int32))),
    "opinions of different lengths": (OPINIONS, array("target", lambda a: a[:-1])),
    "opinions in a table": (OPINIONS, array("target", lambda a: a[:, None])),
    "opinions without targets": (OPINIONS, in_arrays(lambda arrays: arrays.pop("target"))),
    "a history that is an object": ("history.json", as_text("{}")),
    "a history that is too short": ("history.json", as_text("[]")),
    "a history that is nested": ("history.json", in_json(0, "loss")([1])),
    "a history of words": ("history.json", in_json(0, "loss")("<script>")),
    "a history of huge numbers": ("history.json", in_json(0, "loss")(10**400)),
    "a history of NaN": ("history.json", in_json(0, "loss")(float("nan"))),
    "a history in another order": ("history.json", in_json(0, "epoch")(2)),
    "a history without a bottom": ("history.json", as_text(DEEP)),
    "nothing learned": (LEARNED, as_text("[]")),
    "a later version of what was learned": (LEARNED, in_json("version")(2)),
    "views of nobody": (LEARNED, in_json("views", "smells")({})),
    "a constant that is a word": (LEARNED, in_json("constant")("1")),
    "a constant beyond all": (LEARNED, in_json("constant")(1e9)),
    "half a calibration": (LEARNED, in_json("calibration")([0.5])),
    "views without an opinion": (LEARNED, view_of_attributes),
    "too few weights of names": (LEARNED, in_json("views", "names", "weights")([1.0])),
    "a view without a constant": (LEARNED, in_json("views", "names")({"weights": []})),
    "a view that is always wrong": (LEARNED, in_json("views", "names", "wrong")(1.0)),
    "values that are compared with nothing": (LEARNED, in_json("views", "names", "compared")([["a", None, 1.0]])),
    "values that count for nothing": (LEARNED, in_json("views", "names", "compared")([["a", "b", -1.0]])),
    "values of everything": (LEARNED, in_json("views", "names", "compared")([["a", "b", 1.0]] * 1000)),
    "learning beyond all size": (LEARNED, padded(1 << 21)),
    "shares of nobody": ("metrics.json", in_json("by_evidence/\x1b[31m/hits@1")(0.5)),
    "shares beyond all": ("metrics.json", in_json("by_evidence/all/hits@1")(2.0)),
    "shares without links": ("metrics.json", in_json("by_evidence/other/hits@1")(0.5)),
    "half a link": ("metrics.json", in_json("by_evidence/all/links")(0.5)),
    "voters that mislead too often": (MANIFEST, about("misleading")({"names": 1.5})),
    "voters that mislead by words": (MANIFEST, about("misleading")({"names": "1"})),
    "parts without end": (MAPPING, number("part.vectors", (0, 0), np.inf)),
    "parts of nobody": (MAPPING, in_arrays(lambda arrays: arrays.update({"part.a b": arrays["part.vectors"]}))),
    "parts of one": (MAPPING, array("part.vectors", lambda a: a[:, :1])),
    "too few parts": (MAPPING, array("part.vectors", lambda a: a[1:])),
    "metrics that are words": ("metrics.json", in_json("hits@1")("1")),
    "metrics that are a list": ("metrics.json", as_text("[1]")),
    "metrics that are infinite": ("metrics.json", as_text('{"hits@1": Infinity}')),
    "a number of a million digits": ("metrics.json", as_text('{"hits@1": ' + "9" * 1_000_000 + "}")),
    "a link to itself": (WEIGHTS, linked),
    "a manifest that is a link": (MANIFEST, linked),
    "a link to nowhere": ("report.html", lambda path: (file_entry("report.html")(path.parent / MANIFEST),
                                                        path.symlink_to("nowhere"))),
    "a manifest beyond all size": (MANIFEST, holes(1 << 40, b"{}")),
    "a manifest of many lists": (MANIFEST, about("x")([[]] * 100_000)),
    "settings beyond all size": ("config.json", padded(1 << 20)),
    "metrics beyond all size": ("metrics.json", padded(1 << 20)),
    "a history beyond all size": ("history.json", padded(2 << 20)),
    "a picture beyond all size": ("curves.png", sized(1 << 40)),
    "a page beyond all size": ("report.html", sized(1 << 40)),
    "words of holes": (WORDS, sized(1 << 40)),
    "weights of holes": (WEIGHTS, sized(1 << 40)),
    "changes of holes": ("changes.tsv", sized(1 << 40)),
    "triples of holes": (GRAPHS, triples_of_zeros),
    "a pipe": (WORDS, instead(os.mkfifo)),
    "a manifest that is a pipe": (MANIFEST, instead(os.mkfifo)),
    "a device": ("config.json", instead(lambda path: path.symlink_to("/dev/zero"))),
    "a folder for a file": (VOTES, instead(Path.mkdir)),
    "a manifest that is a folder": (MANIFEST, instead(Path.mkdir)),
}  # fmt: skip


def more_entities(path):
    vocabulary = json.loads(path.read_text(encoding="utf-8"))
    vocabulary["source"]["ids"].append("one more")
    path.write_text(json.dumps(vocabulary))
    array("source_vectors", lambda a: np.append(a, a[:1], axis=0))(path.parent / GRAPHS)


def announced(kind, shape):
    """A safetensors file that says more than it has."""
    header = json.dumps({"entity": {"dtype": kind, "shape": shape, "data_offsets": [0, 4]}}).encode()
    return len(header).to_bytes(8, "little") + header + b"\0" * 4


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_runs_are_refused_by_name(kind, run, mixtea):
    name, edit = HOSTILE[kind]
    edit(run / name)
    run_fuzz.reseal(run)
    with pytest.raises(RunError) as refused:
        MixTEA.load(run)
    assert str(refused.value).startswith(f"{run / name}: ") and len(str(refused.value)) < 1000
    by_student = ("--voters", "forward,backward")  # not stored: what the answers do not need is read for it
    anew = () if name in (MANIFEST, *RESULT_FILES) else by_student
    for verb in (("score", run), *((verb, run, "--out", run.parent / "out.tsv") for verb in ("predict", "export"))):
        code, out, err = mixtea(*verb, *anew)
        err = err.removeprefix(f"{run}: not stored with these options (voters), so it is computed anew\n")
        assert (code, out) == (2, "") and err.startswith(f"error: {run / name}: ") and err.count("\n") == 1
    assert not (run.parent / "out.tsv").exists()


def test_files_that_take_little_room_but_have_no_holes_are_read(tmp_path, monkeypatch):
    """As where the file system packs them, or writes them later, or knows nothing."""
    (path := tmp_path / "zeros").write_bytes(bytes(holes_of.MIN_SPARSE_BYTES))
    run_files.check_plain(path)
    monkeypatch.setattr(holes_of, "_on_disk", lambda found: 0)
    run_files.check_plain(path)
    holes(holes_of.MIN_SPARSE_BYTES - 1)(path)
    run_files.check_plain(path)
    holes(holes_of.MIN_SPARSE_BYTES)(path)
    with pytest.raises(RunError, match="zeros: 4,194,304 bytes, nearly all of them holes"):
        run_files.check_plain(path)
    holes(holes_of.MIN_SPARSE_BYTES, bytes(holes_of.MIN_SPARSE_BYTES // holes_of.MAX_HOLES))(path)
    run_files.check_plain(path)
    holes(holes_of.MIN_SPARSE_BYTES)(path)
    monkeypatch.setattr(os, "lseek", refuses_to_say)
    run_files.check_plain(path)


def refuses_to_say(*_):
    raise OSError(errno.EINVAL, "Invalid argument")


def test_the_good_run_is_read_through_a_link_to_its_folder(run, tmp_path):
    run_fuzz.reseal(run)
    (tmp_path / "link").symlink_to(run)
    assert run_fuzz.check(run) == run_fuzz.check(tmp_path / "link") == "worked"


def test_what_a_file_says_is_cut_and_made_visible(run):
    settings = json.loads((run / "config.json").read_text()) | {"\x1b[2J" + "x" * 10_000: 1}
    (run / "config.json").write_text(json.dumps(settings))
    run_fuzz.reseal(run)
    with pytest.raises(RunError, match=r"There is no setting '\\x1b\[2Jxxx") as refused:
        MixTEA.load(run)
    assert "\x1b" not in str(refused.value) and len(str(refused.value)) < 1000


@pytest.mark.parametrize("n", [30, pytest.param(300, marks=pytest.mark.search)])
def test_run_folders_broken_at_random(n):
    """In a process of its own, which a crash of compiled code would end with a signal."""
    command = [sys.executable, ROOT / "benchmarks" / "run_fuzz.py", "--n", n, "--seed", "7"]
    done = run_process(command, forked=True)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-3000:]
    assert f"{n} run folders" in done.stdout


@pytest.mark.parametrize("sealed", [False, True], ids=["as found", "resealed"])
def test_no_pickle_is_ever_opened(sealed, run, tmp_path, mixtea):
    marker = tmp_path / "marker"
    assert is_live(marker)
    good = (run / "run.json").read_bytes()
    n_read = 0
    for where in attacks(run, marker):
        if sealed:
            run_fuzz.reseal(run)
        codes = [mixtea("score", run, "--decoder", "csls")[0]]  # which reads all there is
        if "beside" in where or "weights" in where:
            codes += [mixtea(verb, run, "--out", tmp_path / "out.tsv")[0] for verb in ("predict", "export")]
        assert not marker.exists(), where
        assert set(codes) <= {0, 2}, where
        n_read += codes[0] == 0
        if not where.endswith("run.json"):
            (run / "run.json").write_bytes(good)
    assert n_read == 7 * (2 if sealed else 1)  # beside the files it harms nobody, and nobody reads a picture


def lint(code):
    """What ruff says of a file of the package with this content, by the settings of this project."""
    command = [sys.executable, "-m", "ruff", "check", "--output-format", "concise", "--no-cache"]
    command += ["--stdin-filename", "src/mixtea/some.py", "-"]
    return run_process(command, input=code, cwd=ROOT).stdout


def test_unsafe_readers_are_banned_by_the_linter():
    modules = ["pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "torch.package"]
    calls = ["torch.load", "torch.jit.load", "numpy.load", "pandas.read_pickle", "yaml.load", "yaml.unsafe_load"]
    found = lint("".join(f"import {name}\n" for name in modules) + "import torch, numpy, pandas, yaml\n"
                 + "".join(f"{name}('x')\n" for name in calls) + "eval('1')\nexec('1')\n")  # fmt: skip
    for name in (*modules, *calls):
        assert f"TID251 `{name}` is banned" in found
    assert "S307" in found and "S102" in found
    assert "TID251" not in lint("from safetensors.numpy import load_file\n\nprint(load_file)\n")


def test_nothing_that_we_wrote_needs_an_unsafe_reader():
    rules = "S102,S301,S302,S307,TID251"
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--select", rules, "--ignore-noqa"]
    done = run_process([*command, "src", "benchmarks"], cwd=ROOT)
    assert done.returncode == 0, done.stdout


def test_no_pickle_is_opened_in_an_unfinished_training_either(tiny, tmp_path):
    marker, work = tmp_path / "marker", UnfinishedRun(tmp_path / "run")
    settings = {"max_epochs": 2, "entity_dim": 4, "relation_dim": 4, "device": "cpu"}
    with work.locked():
        work.store_inputs(TrainingInputs(tiny, "paper", settings))
        MixTEA("paper", **settings).fit(tiny, checkpoints=Checkpoints(work.folder, 0))
    assert work.read_inputs() is not None and work.epoch() == 2
    refused = 0
    for where in attacks(work.folder, marker):
        for action in (work.read_inputs, Checkpoints(work.folder, 0).load):
            try:
                action()
            except RunError:
                refused += 1
        assert not marker.exists(), where
    assert refused > 10
