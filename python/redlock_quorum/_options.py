# What callers ask of an acquire, as the library takes it.
# SPDX-License-Identifier: MIT
import ctypes
from typing import Any, Optional, Tuple

from ._errors import InvalidArgument, WrongType
from ._native import Options, c_char_p
from ._times import Seconds, or_default, waiting


RENEW = -1  # as no_renew: also where the configuration says that leases are not renewed
_DEFAULTS = Options(size=ctypes.sizeof(Options))


def as_bytes(name: str, text: Any) -> bytes:
    """The text of an argument."""
    if not isinstance(text, str):
        raise WrongType(f"{name} must be a str, not {text!r}")
    try:
        raw = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{name} must be text that UTF-8 can have: {error}") from None
    if b"\0" in raw:
        raise InvalidArgument(f"{name} must have no NUL character")
    return raw


def count(name: str, value: Any, most: int) -> int:
    """A number of slots, or of times."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongType(f"{name} must be an int, not {value!r}")
    if not 0 < value <= most:
        raise InvalidArgument(f"{name} must be 1 to {most}, not {value}")
    return value


def options_of(ttl: Optional[Seconds] = None, wait: Optional[Seconds] = None,
               max_hold: Optional[Seconds] = None, min_hold: Optional[Seconds] = None,
               margin: Optional[Seconds] = None, watchdog: Optional[Seconds] = None,
               renew: Optional[bool] = None, note: str = "", shared: bool = False, slots: int = 0,
               permits: int = 1) -> Options:
    """All that is given is read here: what is wrong is an error of this call."""
    options = Options.from_buffer_copy(_DEFAULTS)
    options.ttl_ms = or_default("ttl", ttl)
    options.wait_ms = waiting(wait)
    options.max_hold_ms = or_default("max_hold", max_hold)
    options.min_hold_ms = or_default("min_hold", min_hold)
    options.loss_margin_ms = or_default("margin", margin)
    options.watchdog_ms = or_default("watchdog", watchdog)
    options.slots = slots
    options.permits = permits
    if note != "":
        options.note = as_bytes("note", note)
    options.shared = shared
    if renew is not None:
        options.no_renew = RENEW if renew else 1
    return options


def copy_of(options: Options, wait_ms: int, cancel: Optional[int] = None) -> Options:
    """For one call. The note in it is that of `options`, which has to outlive it."""
    mine = Options.from_buffer_copy(options)
    mine.wait_ms = wait_ms
    mine.cancel = cancel
    return mine


class Resources:
    """The names of one lock, as the library takes them."""

    def __init__(self, names: Tuple[str, ...]) -> None:
        self.names = names
        self.is_one = len(names) == 1
        raw = [as_bytes("resource", name) for name in names]
        self.arguments: Tuple[Any, ...] = (
            (raw[0],) if self.is_one else ((c_char_p * len(raw))(*raw), len(raw)))

    def __str__(self) -> str:
        return "+".join(self.names)
