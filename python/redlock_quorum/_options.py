# What callers ask of an acquire, as the library takes it.
# SPDX-License-Identifier: MIT
import ctypes
from typing import Any, Optional, Tuple

from ._errors import InvalidArgument
from ._native import Options, c_char_p
from ._times import Seconds, milliseconds, waiting


_DEFAULTS = Options(size=ctypes.sizeof(Options))


def as_bytes(name: str, text: str) -> bytes:
    raw = text.encode()
    if b"\0" in raw:
        raise InvalidArgument(f"{name} must have no NUL character")
    return raw


def options_of(ttl: Optional[Seconds] = None, wait: Optional[Seconds] = None,
               max_hold: Optional[Seconds] = None, min_hold: Optional[Seconds] = None,
               margin: Optional[Seconds] = None, watchdog: Optional[Seconds] = None,
               renew: bool = True, note: str = "", shared: bool = False, slots: int = 0) -> Options:
    options = Options.from_buffer_copy(_DEFAULTS)
    if ttl is not None:
        options.ttl_ms = milliseconds("ttl", ttl)
    if wait is not None:
        options.wait_ms = waiting(wait)
    if max_hold is not None:
        options.max_hold_ms = milliseconds("max_hold", max_hold)
    if min_hold is not None:
        options.min_hold_ms = milliseconds("min_hold", min_hold)
    if margin is not None:
        options.loss_margin_ms = milliseconds("margin", margin)
    if watchdog is not None:
        options.watchdog_ms = milliseconds("watchdog", watchdog)
    if slots:
        if not 0 < slots <= 0xffff:
            raise InvalidArgument(f"slots must be 1 to 1000, not {slots}")
        options.slots = slots
    if note:
        options.note = as_bytes("note", note)
    options.shared = shared
    options.no_renew = not renew
    return options


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
        self.is_one = len(names) == 1
        self.arguments: Tuple[Any, ...] = (
            (as_bytes("resource", names[0]),) if self.is_one else
            ((c_char_p * len(names))(*(as_bytes("resource", name) for name in names)), len(names)))
