# How the main thread waits in a call, so that Python can run its handlers of signals; knows no lock.
# SPDX-License-Identifier: MIT
"""Python runs handlers of signals in the main thread alone, and only between its own instructions. So that
thread begins a call, and waits in Python until it is over. A handler that returns changes nothing: the call
goes on meanwhile, in its place in line. One that raises, as that of ^C does, ends the call, which leaves
nothing behind."""
import select
import threading
from typing import Any, Callable, List

from ._errors import error_of
from ._native import c_void_p, library
from ._times import NO_WAIT


def is_needed(wait_ms: int) -> bool:
    """Whether this thread is the one that runs handlers, and the call waits."""
    return wait_ms != NO_WAIT and threading.get_ident() == threading.main_thread().ident


def waiting_call(begin: Callable[[c_void_p], int], out: Any) -> int:
    """`begin(pending)` begins an acquire. What it returned in the end, with the lease in `out`."""
    pending = c_void_p()
    try:
        number = begin(pending)
        if number != 0:
            return number
        descriptor = library.pending_fd(pending)
        if descriptor < 0:
            raise error_of(-3)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll()
        over, pending.value = pending.value, None
        return int(library.pending_take(over, out))
    finally:
        del out  # an exception has this frame
        if pending.value:
            library.pending_cancel(pending)


class Cancel:
    """With which a call is cancelled. It lives as long as anybody has it, the thread of the call too."""

    def __init__(self) -> None:
        self.handle = library.cancel_new()
        if self.handle is None:
            raise MemoryError("redlock: no memory for a call")

    def __del__(self, free: Any = library.cancel_free) -> None:
        if getattr(self, "handle", None) is not None:
            free(self.handle)

    def request(self) -> None:
        """From any thread."""
        library.cancel_request(self.handle)


def beside(call: Callable[[Cancel], Any]) -> Any:
    """`call(cancel)` in a thread of its own. What it returned; it raises nothing."""
    cancel = Cancel()
    said: List[Any] = []
    thread = threading.Thread(target=lambda: said.append(call(cancel)), name="redlock call", daemon=True)
    try:
        thread.start()
        thread.join()
    finally:
        cancel.request()
        if thread.ident is not None:  # else it begins later, if at all
            thread.join()
    return said[0]
