# Durations as callers give them, in the library's milliseconds.
# SPDX-License-Identifier: MIT
import math
from datetime import timedelta
from typing import Any, Optional, Union

from ._errors import InvalidArgument, WrongType

Seconds = Union[int, float, timedelta]
"""A number of seconds, or a timedelta."""

NO_WAIT = -1
NO_LIMIT = 31_536_000_000  # a year, which the library means as no limit


def seconds_of(name: str, value: Any) -> float:
    """What a caller gave as a duration."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WrongType(f"{name} must be a number of seconds or a timedelta, not {value!r}")
    return value


def _rounded_up(seconds: float) -> int:
    # A product such as 1.1 * 1000 lies above what was meant by less than a nanosecond.
    return math.ceil(round(seconds * 1000, 6))


def milliseconds(name: str, value: Seconds, remedy: str = "") -> int:
    """Rounded up."""
    seconds = seconds_of(name, value)
    if not 0 < seconds <= NO_LIMIT / 1000:
        raise InvalidArgument(f"{name} must be more than 0 seconds and at most a year, not {value!r}{remedy}")
    return max(1, _rounded_up(seconds))


def or_default(name: str, value: Optional[Seconds]) -> int:
    """None is 0, which the library takes for the default; 0 itself is an error."""
    return 0 if value is None else milliseconds(name, value, "; None is the default")


def waiting(value: Optional[Seconds], name: str = "wait") -> int:
    """As wait_ms: None is the default, 0 one attempt, math.inf no limit."""
    if value is None:
        return 0
    seconds = seconds_of(name, value)
    if not seconds >= 0:
        raise InvalidArgument(f"{name} must be 0 seconds or more, not {value!r}")
    if seconds == 0:
        return NO_WAIT
    return max(1, min(NO_LIMIT, _rounded_up(seconds))) if seconds < NO_LIMIT else NO_LIMIT
