# Durations as callers give them, in the library's milliseconds.
# SPDX-License-Identifier: MIT
import math
from datetime import timedelta
from typing import Optional, Union

from ._errors import InvalidArgument

Seconds = Union[int, float, timedelta]
"""A number of seconds, or a timedelta."""

NO_WAIT = -1
NO_LIMIT = 31_536_000_000  # a year, which the library means as no limit


def milliseconds(name: str, value: Optional[Seconds]) -> int:
    """Rounded up. None is 0, which the library takes for the default; 0 itself is an error."""
    if value is None:
        return 0
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if not 0 < seconds <= NO_LIMIT / 1000:
        raise InvalidArgument(f"{name} must be more than 0 seconds and at most a year, not {value!r}; "
                              "None is the default")
    return math.ceil(seconds * 1000)


def waiting(value: Optional[Seconds]) -> int:
    """As wait_ms: None is the default, 0 one attempt, math.inf no limit."""
    if value is None:
        return 0
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if not seconds >= 0:
        raise InvalidArgument(f"wait must be 0 seconds or more, not {value!r}")
    if seconds == 0:
        return NO_WAIT
    return min(NO_LIMIT, math.ceil(seconds * 1000)) if seconds < NO_LIMIT else NO_LIMIT
