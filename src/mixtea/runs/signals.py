"""Stop on Ctrl-C, SIGTERM or a closed terminal: the first ends a training after its epoch, the second at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class StopSignals:
    """Signal handlers of a training: within the context, a first signal calls `on_first` and is kept in `asked`.

    A second one calls `on_second` and does what it would have done without; so does the first outside of the main
    thread of the program. A signal that was ignored stays so.
    """

    def __init__(
        self, on_first: Callable[[], object] = lambda: None, on_second: Callable[[], object] = lambda: None
    ) -> None:
        self.asked, self.on_first, self.on_second = 0, on_first, on_second
        self._before: dict[int, object] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            handled = [number for number in SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
            self._before = {number: signal.signal(number, self._on_signal) for number in handled}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]
        self._before = {}

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            self.on_second()
            self.__exit__(None, None, None)
            signal.raise_signal(number)
            return
        self.asked = number
        self.on_first()
