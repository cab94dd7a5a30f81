"""Signals: the first is remembered, the second does what it always did."""

import signal
import threading

import pytest

from mixtea.runs.checkpoints import StopSignals


@pytest.fixture(autouse=True)
def ctrl_c():
    """Ctrl-C is heard here, as in a program that runs in front; elsewhere it may be ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_is_remembered_and_said(number):
    before, said = signal.getsignal(number), []
    with StopSignals(lambda: said.append("stopping")) as stopping:
        assert stopping.asked == 0
        signal.raise_signal(number)
        assert stopping.asked == number and said == ["stopping"]
    assert signal.getsignal(number) is before


def test_the_second_ends_at_once():
    said = []
    with pytest.raises(KeyboardInterrupt), StopSignals(on_second=lambda: said.append("at once")) as stopping:
        signal.raise_signal(signal.SIGTERM)
        assert stopping.asked == signal.SIGTERM and not said
        signal.raise_signal(signal.SIGINT)
    assert said == ["at once"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_was_ignored_stays_so(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with StopSignals() as stopping:
            signal.raise_signal(number)
            assert stopping.asked == 0
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_outside_of_the_main_thread_signals_are_left_alone():
    found = []

    def work():
        with StopSignals():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
