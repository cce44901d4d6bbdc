# The errors of this package, made of what the library says of its last call; knows no lock.
# SPDX-License-Identifier: MIT
import dataclasses
import json
import os
import re
from typing import Any, Dict, Optional, Tuple, Type

from ._native import library


@dataclasses.dataclass(frozen=True)
class Vote:
    """What one node answered, and why."""

    node: str
    answer: str
    cause: str
    elapsed: float
    """Seconds from sending the question to this answer."""


@dataclasses.dataclass(frozen=True)
class Issue:
    """One thing that is wrong with a configuration, or doubtful."""

    severity: str
    where: str
    """JSON pointer, such as "/nodes/2/port"."""
    message: str


class Error(Exception):
    """The base of all errors of this package. Its text names the reasons, node by node."""

    def __init__(self, message: str, said: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(message)
        self._said = said or {}

    def __reduce__(self) -> Tuple[Any, ...]:
        """Errors go from process to process, with what the nodes said."""
        return type(self), (str(self), self._said), self.__dict__

    @property
    def votes(self) -> Tuple[Vote, ...]:
        """One per node; empty where no node took part."""
        return tuple(Vote(v["node"], v["answer"], v["cause"], v["elapsed_us"] / 1e6)
                     for v in self._said.get("votes", ()))


class Contended(Error):
    """Another owner holds the resource until the wait was over, or the vote was split."""

    retry_after: float = 0.0
    """Of a rate limiter: seconds until it may allow one more."""


class NoQuorum(Error):
    """Too few nodes could vote."""


class ValidityExhausted(Error):
    """A quorum answered yes, but too late for the ttl."""


class NotHeld(Error):
    """A quorum denies that the lease holds the resource."""


class LeaseLost(Error):
    """The lease ended before the work did: what it protected may have met another holder's work."""


class WouldDeadlock(Error):
    """The thread or task holds this lock already."""


class InvalidArgument(Error, ValueError):
    """An argument is out of its range, which the text names."""


class WrongType(InvalidArgument, TypeError):
    """An argument is of another type than the text names."""


class ClientClosed(Error):
    """The client was closed before the call or during it."""


class ForkedError(ClientClosed):
    """The client belongs to the parent process: a child makes one of its own."""


class ConfigError(Error):
    """The configuration can't be used."""

    @property
    def issues(self) -> Tuple[Issue, ...]:
        """Every reason at once."""
        return tuple(Issue(i["severity"], i["where"], i["message"])
                     for i in self._said.get("issues", ()))


class Cancelled(Error):
    """Another thread cancelled the call."""


class OutOfMemory(Error, MemoryError):
    """The library had no memory for the call."""


class SystemRefused(Error):
    """The system refused a file, a thread or a descriptor."""


CONTENDED = 1
NO_QUORUM = 2
NOT_HELD = 4
LOST = 5
INVALID_ARGUMENT = 7
CLIENT_CLOSED = 8
CANCELLED = -1

_CLASSES: Dict[int, Type[Error]] = {
    CONTENDED: Contended, NO_QUORUM: NoQuorum, 3: ValidityExhausted, NOT_HELD: NotHeld, LOST: LeaseLost,
    6: WouldDeadlock, INVALID_ARGUMENT: InvalidArgument, CLIENT_CLOSED: ClientClosed, 11: ConfigError,
    CANCELLED: Cancelled, -2: OutOfMemory, -3: SystemRefused,
}


def in_seconds(message: str) -> str:
    """What the library says of arguments in milliseconds, as callers of this package give them."""
    def shown(match: "re.Match[str]") -> str:
        return f"{int(match[1]) / 1000:g}"

    if "_ms" not in message and " ms" not in message:
        return message
    message = re.sub(r"\b(\d+) ms\b", lambda match: shown(match) + " s", message)
    message = re.sub(r"\b1 to ttl_max_ms, which is (\d+)\b",
                     lambda match: f"0.001 to ttl_max, which is {shown(match)} seconds", message)
    message = re.sub(r"(?<=_ms must be )(\d+) to (\d+)\b(?! s)",
                     lambda match: f"{shown(match)} to {int(match[2]) / 1000:g} seconds", message)
    message = re.sub(r"(?<=which is )(\d+)\b(?! s)", lambda match: shown(match) + " seconds", message)
    message = message.replace("or 0 for the usual one", "or None for the usual one")
    return re.sub(r"\b(loss_)?(\w+?)_ms\b", r"\2", message)


def error_of(number: int, born: Optional[int] = None) -> Error:
    """What the last call of this thread returned, as an error. `born`: the process of its client."""
    if number == CLIENT_CLOSED and born not in (None, os.getpid()):
        return ForkedError("the client belongs to the parent process: make one in this process")
    message = library.last_error().decode()
    if number == INVALID_ARGUMENT:
        message = in_seconds(message)
    try:
        said = json.loads(library.last_error_json())
    except ValueError:  # nothing was said
        said = None
    return _CLASSES.get(number, Error)(message, said)


def check(number: int, born: Optional[int] = None) -> None:
    """Raises what the last call of this thread returned, unless it succeeded. `born`: as above."""
    if number != 0:
        raise error_of(number, born)
