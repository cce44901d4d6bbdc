# What callers ask of an acquire, as the library takes it.
# SPDX-License-Identifier: MIT
import ctypes
from typing import Any, Optional, Tuple

from ._errors import InvalidArgument
from ._native import Options, c_char_p
from ._times import Seconds, milliseconds, waiting


def as_bytes(name: str, text: str) -> bytes:
    raw = text.encode()
    if b"\0" in raw:
        raise InvalidArgument(f"{name} must have no NUL character")
    return raw


def options_of(ttl: Optional[Seconds] = None, wait: Optional[Seconds] = None,
               max_hold: Optional[Seconds] = None, min_hold: Optional[Seconds] = None,
               margin: Optional[Seconds] = None, watchdog: Optional[Seconds] = None,
               renew: bool = True, note: str = "", shared: bool = False, slots: int = 0) -> Options:
    if not 0 <= slots <= 0xffff:
        raise InvalidArgument(f"slots must be 1 to 1000, not {slots}")
    return Options(
        size=ctypes.sizeof(Options), ttl_ms=milliseconds("ttl", ttl), wait_ms=waiting(wait),
        max_hold_ms=milliseconds("max_hold", max_hold),
        min_hold_ms=milliseconds("min_hold", min_hold),
        loss_margin_ms=milliseconds("margin", margin),
        watchdog_ms=milliseconds("watchdog", watchdog), shared=shared, no_renew=not renew,
        slots=slots, note=as_bytes("note", note) or None)


def copy_of(options: Options, wait_ms: int, cancel: Optional[int]) -> Options:
    """For one call that can be cancelled. The note in it is that of `options`, which has to outlive it."""
    mine = Options.from_buffer_copy(options)
    mine.wait_ms = wait_ms
    mine.cancel = cancel
    return mine


class Resources:
    """The names of one lock, as the library takes them."""

    def __init__(self, names: Tuple[str, ...]) -> None:
        self.names = names
        raw = tuple(as_bytes("resource", name) for name in names)
        self.is_one = len(raw) == 1
        self.arguments: Tuple[Any, ...] = raw if self.is_one else ((c_char_p * len(raw))(*raw), len(raw))
