# How a signal ends a call that the main thread waits in, so that Python can run its handler; knows no
# lock.
# SPDX-License-Identifier: MIT
"""Python runs handlers of signals in the main thread alone, and only between its own instructions. While
that thread waits in the library, each signal writes its number to a pipe; a thread that reads it cancels
the call, which returns at once and leaves nothing behind. Then the handler runs: it may raise, as that
of ^C does; or else the caller waits again for the rest of its time."""
import os
import signal
import threading
import time
from typing import Any, Callable, List, Optional

from ._errors import CANCELLED
from ._native import library
from ._times import NO_WAIT


class _Watcher:
    """Of one process. A child process begins with none."""

    def __init__(self) -> None:
        self._reads, self.writes = os.pipe()
        os.set_blocking(self.writes, False)
        self._gate = threading.Lock()
        self._calls: List["_Call"] = []
        threading.Thread(target=self._run, name="redlock signals", daemon=True).start()

    def add(self, call: "_Call") -> None:
        with self._gate:
            self._calls.append(call)

    def remove(self, call: "_Call") -> None:
        with self._gate:
            self._calls.remove(call)

    def _run(self) -> None:
        while True:
            numbers = os.read(self._reads, 4096)
            with self._gate:
                for call in self._calls:
                    call.end(numbers)


class _Call:
    """One call of the main thread that signals end."""

    def __init__(self, watcher: _Watcher) -> None:
        self._watcher = watcher
        self._before = -1
        self.cancel: Optional[int] = library.cancel_new()
        self.is_ended = False

    def __enter__(self) -> "_Call":
        self._watcher.add(self)
        self._before = signal.set_wakeup_fd(self._watcher.writes, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: Any) -> None:
        signal.set_wakeup_fd(self._before, warn_on_full_buffer=False)
        self._watcher.remove(self)
        library.cancel_free(self.cancel)

    def end(self, numbers: bytes) -> None:
        """In the watcher's thread."""
        self.is_ended = True
        library.cancel_request(self.cancel)
        if self._before not in (-1, self._watcher.writes):
            try:
                os.write(self._before, numbers)  # to whom they would have gone
            except OSError:
                pass


_watcher: Optional[_Watcher] = None


def _forget() -> None:
    global _watcher
    _watcher = None


os.register_at_fork(after_in_child=_forget)


def is_needed(wait_ms: int) -> bool:
    """Whether this thread is the one that runs handlers, and the call waits."""
    return wait_ms != NO_WAIT and threading.get_ident() == threading.main_thread().ident


def waiting_call(ask: Callable[[int, Optional[int]], int], wait_ms: int) -> int:
    """`ask(wait_ms, cancel)` calls the library, for up to so long. What it returned."""
    global _watcher
    if not is_needed(wait_ms):
        return ask(wait_ms, None)
    if _watcher is None:
        _watcher = _Watcher()
    began = time.monotonic()
    left_ms = wait_ms
    while True:
        with _Call(_watcher) as call:
            number = ask(left_ms, call.cancel)
        if number != CANCELLED or not call.is_ended:
            return number
        # The handlers have run, and none raised. 0 is the default of the configuration.
        if wait_ms > 0:
            left_ms = max(1, wait_ms - int((time.monotonic() - began) * 1000))
