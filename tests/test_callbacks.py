"""What callbacks receive and when; and who is shown how far a training is: who asks for it, and people in notebooks."""

from __future__ import annotations

import io
import sys
import threading
from types import ModuleType, SimpleNamespace

import pytest
from processes import run
from rich.console import Console

from mixtea import Callback, ConfigError, MixTEA, progress, train
from mixtea.callbacks import History, Log, active_callbacks, report_step, run_callbacks, training_callbacks
from mixtea.config import Config

QUICK = dict(preset="paper", max_epochs=2, device="cpu")


@pytest.fixture
def notebook(monkeypatch):
    """A kernel of Jupyter that keeps what it is told to display."""
    shown = []

    def display(page, raw, display_id):
        shown.append(page)
        return SimpleNamespace(update=lambda page, raw: shown.append(page))

    ipython, displaying = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(config={"IPKernelApp": {}})
    displaying.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", displaying)
    monkeypatch.setattr(progress, "REFRESH_SECONDS", 0)
    return shown


def test_nothing_is_shown_unless_somebody_asks(tiny, capsys):
    MixTEA(**QUICK).fit(tiny)
    MixTEA(**QUICK).fit(tiny, progress=False)
    assert capsys.readouterr() == ("", "")


def test_lines_on_standard_error(tiny, capsys):
    MixTEA(**QUICK).fit(tiny, progress=True)
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("epoch 1/2  L_a ")


def test_a_notebook_has_a_line_that_changes(tiny, notebook):
    MixTEA(**QUICK).fit(tiny)
    assert len(notebook) == 2 and '<progress value="2" max="2"' in notebook[-1]["text/html"]
    assert notebook[-1]["text/plain"].startswith("2 of 2  epochs  L_a ")
    MixTEA(**QUICK).fit(tiny, progress=False)
    assert len(notebook) == 2


def test_a_notebook_is_not_drawn_too_often(notebook, monkeypatch):
    monkeypatch.setattr(progress, "REFRESH_SECONDS", 1000)
    line = progress.NotebookLine()
    for done in (1, 2, 3):
        line(done, 3, "<&>")
    assert [page["text/plain"] for page in notebook] == ["1 of 3  <&>", "3 of 3  <&>"]
    assert "&lt;&amp;&gt;" in notebook[0]["text/html"]


def test_texts_are_counted_in_a_notebook(notebook):
    progress.text_callbacks()[0].on_texts(1, 5)
    assert notebook[0]["text/plain"] == "1 of 5  texts"


def test_a_terminal_of_ipython_is_no_notebook(notebook, monkeypatch):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace(config={}))
    assert progress.progress_callbacks(None) == progress.text_callbacks() == ()


def test_a_function_is_told_beside_callbacks(tiny):
    told, history = [], History()
    how = dict(max_epochs=2, propagation_rounds=1, device="cpu", entity_dim=16)
    MixTEA(**how).fit(tiny, callbacks=history, progress=lambda done, of, words: told.append((done, of, words)))
    assert [row[:2] for row in told] == [(0, 2), (0, 2), (1, 2), (2, 2)]
    assert "sure pairs" in told[0][2] and "first answer after" in told[1][2]
    assert [record["epoch"] for record in history.epochs] == [1, 2] and len(history.rounds) == len(history.answers) == 1


def test_train_shows_it_unless_there_are_callbacks(tiny, tmp_path, notebook):
    train(tiny, tmp_path / "a", **QUICK)
    assert len(notebook) == 2
    train(tiny, tmp_path / "b", callbacks=Log(), **QUICK)
    assert len(notebook) == 2


def test_what_is_no_answer_is_refused(tiny):
    with pytest.raises(ConfigError, match=r"progress is 'yes'\. Choose True, False, None"):
        MixTEA(**QUICK).fit(tiny, progress="yes")


def test_silence_is_broken_with_what_is_waited_for(monkeypatch):
    monkeypatch.setattr(progress, "MAX_SILENT_SECONDS", 0.01)
    said, enough = [], threading.Event()

    def say(text):
        said.append(text)
        if len(said) == 2:
            enough.set()

    with progress.Heartbeat(say) as heartbeat:
        heartbeat.begin("reading a.csv")
        assert enough.wait(10)
    n = len(said)
    assert said[1] == "reading a.csv (0 s)" and not heartbeat._thread.is_alive() and len(said) == n


def test_who_speaks_is_not_interrupted(monkeypatch):
    monkeypatch.setattr(progress, "MAX_SILENT_SECONDS", 9.0)
    said, clock = [], [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    heartbeat = progress.Heartbeat(said.append)
    waits = iter([True, False, False])

    def wait(seconds):
        clock[0] += seconds
        heartbeat.said() if len(said) == 0 and next(waits) else None
        return clock[0] > 30

    monkeypatch.setattr(heartbeat._ended, "wait", wait)
    heartbeat._run()
    assert said == ["starting (18 s)", "starting (27 s)"]


def test_a_log_has_a_line_now_and_then(monkeypatch):
    monkeypatch.setattr(progress, "MAX_SILENT_SECONDS", 9.0)
    record = {"seconds": 1.0, "loss_alignment": 5.0, "valid_hits@1": 0.5}
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    console = Console(width=100, file=io.StringIO())
    bar = progress.TerminalBar(console)
    bar.on_start(None, Config(max_epochs=30), ())
    for epoch in range(1, 31):
        bar.on_epoch(record | {"epoch": epoch})
        clock[0] += 1
    bar.on_end()
    lines = console.file.getvalue().splitlines()
    assert [line.split()[1] for line in lines] == ["1/30", "10/30", "19/30", "28/30"]


class Ends(Callback):
    """Keeps in `calls` what begins and ends, and fails in the method `fails`."""

    def __init__(self, calls, name="", fails=""):
        self.calls, self.name, self.fails = calls, name, fails

    def __getattribute__(self, method):
        if not method.startswith("on_"):
            return super().__getattribute__(method)

        def called(*_):
            self.calls.append(f"{self.name}{method}")
            if method == self.fails:
                raise ZeroDivisionError(method)

        return called


def test_what_begins_ends_also_after_an_error(tiny):
    for fails in ("on_begin", "on_start", "on_epoch", "on_vectors"):
        calls = []
        with pytest.raises(ZeroDivisionError, match=fails):
            MixTEA(**QUICK).fit(tiny, callbacks=[Ends(calls, "first "), Ends(calls, "second ", fails)])
        ended = {"on_begin": ["first on_close"], "on_start": ["first on_end", "second on_close", "first on_close"]}
        both = ["second on_end", "first on_end", "second on_close", "first on_close"]
        assert calls[calls.index(f"second {fails}") + 1 :] == ended.get(fails, both)
    assert active_callbacks() == ()


def test_a_call_within_a_call_does_not_begin_again(tiny, tmp_path):
    calls = []
    train(tiny, tmp_path / "run", callbacks=Ends(calls), checkpoint_every=0, **QUICK)
    named = [name for name in calls if name not in ("on_step", "on_notice", "on_warning")]
    of_epoch = ["on_epoch", "on_vectors", "on_checkpoint"]
    assert named == ["on_begin", "on_start", *of_epoch, *of_epoch, "on_end", "on_scores", "on_close"]


def test_reports_reach_the_callbacks_of_their_own_thread_and_call():
    outer, inner, heard = History(), History(), []
    with run_callbacks([outer]):
        thread = threading.Thread(target=lambda: heard.append(active_callbacks()))
        thread.start()
        thread.join()
        with run_callbacks([inner]), training_callbacks(None, None, ()):
            report_step("inside")
        report_step("outside")
    report_step("after")
    assert (outer.steps, inner.steps, heard) == (["outside"], ["inside"], [()])


def test_callbacks_are_imported_without_torch():
    done = run([sys.executable, "-c", "import sys, mixtea.callbacks; assert not {'torch', 'rich'} & {*sys.modules}"])
    assert done.returncode == 0, done.stderr
