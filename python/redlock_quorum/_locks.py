# The kinds of lock that programs use, all of them on a client; know no node.
# SPDX-License-Identifier: MIT
import dataclasses
import threading
from typing import Any, Dict, List, Optional, Tuple

from . import _interrupts
from ._errors import CONTENDED, Contended, InvalidArgument, NoQuorum, NotHeld, WouldDeadlock, check, error_of
from ._lease import Lease, Lost, Nodes
from ._native import Options, byref, c_int64, c_void_p, library
from ._options import Resources, as_bytes
from ._times import NO_WAIT, Seconds, milliseconds, waiting


class Lock:
    """`with client.lock("stock:4711", ttl=10, wait=5) as lease:` holds the resource for the section.
    Any thread may use the object, each for a section of its own."""

    _may_nest = False

    def __init__(self, client: Nodes, resources: Tuple[str, ...], options: Options) -> None:
        self._client = client
        self._resources = Resources(resources)
        self._options = options
        self._sections: Dict[int, List[Lease]] = {}  # of each thread

    @property
    def resources(self) -> Tuple[str, ...]:
        return self._resources.names

    def acquire(self) -> Lease:
        """Waits for the lease, which the caller releases."""
        return self._client.acquire(self._resources, self._options)

    def try_acquire(self) -> Optional[Lease]:
        """As `acquire`, except that contention is no error: None."""
        try:
            return self.acquire()
        except Contended:
            return None

    def __enter__(self) -> Lease:
        me = threading.get_ident()
        held = self._sections.get(me)
        if held and not self._may_nest:
            raise WouldDeadlock(f"this thread holds {'+'.join(self.resources)!r} already")
        lease = self.acquire()
        if held is None:
            self._sections[me] = [lease]
        else:
            held.append(lease)
        return lease

    def __exit__(self, kind: Any, _error: Any, _trace: Any) -> None:
        """Releases the lease. Raises LeaseLost if the section did not have it until its end, unless an
        exception is already on its way."""
        me = threading.get_ident()
        held = self._sections[me]
        lease = held.pop()
        if not held:
            del self._sections[me]
        lease._end_section(kind is not None)


class Semaphore(Lock):
    """At most so many at once: each has one of the slots of the resource."""

    _may_nest = True


class RLock:
    """A lock that its thread may acquire again; one lease stands behind all levels."""

    def __init__(self, client: Nodes, resources: Tuple[str, ...], options: Options) -> None:
        self._lock = Lock(client, resources, options)
        self._owner: Optional[int] = None
        self._levels = 0
        self._lease: Optional[Lease] = None

    def acquire(self) -> Lease:
        me = threading.get_ident()
        if self._owner == me and self._lease is not None:
            self._levels += 1
            return self._lease
        lease = self._lock.acquire()
        self._owner, self._levels, self._lease = me, 1, lease
        return lease

    def release(self) -> None:
        """Ends one level; the last one releases the lease, and raises what that does."""
        self._end(False)

    def __enter__(self) -> Lease:
        return self.acquire()

    def __exit__(self, kind: Any, _error: Any, _trace: Any) -> None:
        self._end(kind is not None)

    def _end(self, has_failed: bool) -> None:
        lease = self._lease
        if self._owner != threading.get_ident() or lease is None:
            raise NotHeld("this thread does not hold the lock")
        self._levels -= 1
        if self._levels == 0:
            self._owner, self._lease = None, None
            lease._end_section(has_failed)


class RateLimiter:
    """At most `limit` times per period, of all programs that name the resource."""

    def __init__(self, client: Nodes, resource: str, limit: int, period: Seconds) -> None:
        if not 0 <= limit <= 0xffff:
            raise InvalidArgument(f"limit must be 1 to 1000, not {limit}")
        self._handle = c_void_p()
        self._client = client
        check(library.limiter_new(client._handle, as_bytes("resource", resource), limit,
                                  milliseconds("period", period), byref(self._handle)),
              client.process)

    def __del__(self, free: Any = library.limiter_free) -> None:
        if self._handle.value:
            free(self._handle)

    def acquire(self, wait: Seconds = 0) -> None:
        """Uses one time up, and waits for it for so long. Raises Contended, with `retry_after`."""
        self.use(waiting(wait))

    def try_acquire(self) -> bool:
        """Whether one more is allowed now. If it is, it is used up."""
        try:
            self.use(NO_WAIT)
        except Contended:
            return False
        return True

    def use(self, wait_ms: int, cancel: Optional[int] = None) -> None:
        after_ms = c_int64()

        def ask(left_ms: int, by: Optional[int]) -> int:
            return int(library.limiter_acquire(self._handle, max(0, left_ms), by, byref(after_ms)))

        number = (_interrupts.waiting_call(ask, wait_ms) if cancel is None
                  else ask(wait_ms, cancel))
        if number == 0:
            return
        error = error_of(number, self._client.process)
        if number == CONTENDED and isinstance(error, Contended):
            error.retry_after = after_ms.value / 1000
        raise error


@dataclasses.dataclass(frozen=True)
class Leader:
    """The leader of an election, by what a quorum of nodes says."""

    name: str
    """The `client_name` of its client."""
    note: str
    fence: int
    since: float
    """Seconds since it was elected; 0 if the nodes do not show it."""


def leader_in(state: Any) -> Optional[Leader]:
    """The leader in what `inspect` shows."""
    if not state["held"] and not state["decided"]:
        raise NoQuorum("too few nodes answered")
    if not state["held"] or not state["owner"]:
        return None
    name = state["owner"].partition("@")[2].partition("#")[0]
    return Leader(name, state.get("note", ""), state["fence"], (state["since_ms"] or 0) / 1000)


class Candidate:
    """What both kinds of election have of their term."""

    _term: Any = None

    @property
    def held(self) -> bool:
        """Whether this election leads, by the clock at this call."""
        return self._term is not None and bool(self._term.valid)

    @property
    def fence(self) -> int:
        """Of this term; 0 where there is none."""
        return 0 if self._term is None else int(self._term.fence)


class Election(Candidate):
    """At most one leader of all programs that campaign under a name. A leader has the lease of the
    resource with that name, which a lock of that name excludes."""

    def __init__(self, client: Nodes, name: str, options: Options) -> None:
        self._client = client
        self._name = name
        self._lock = Lock(client, (name,), options)
        self._term: Optional[Lease] = None

    def campaign(self) -> Lease:
        """Waits until this election leads. The lease is that of the term."""
        if self.held:
            raise WouldDeadlock(f"this election leads {self._name!r} already")
        self._term = self._lock.acquire()
        return self._term

    def resign(self) -> None:
        """Gives the leadership up; the next campaigner is woken. Raises LeaseLost if it was lost."""
        term, self._term = self._term, None
        if term is None:
            raise NotHeld(f"this election does not lead {self._name!r}")
        term.release()

    @property
    def lost(self) -> Optional[Lost]:
        """Set when this term is lost; None where there is none."""
        return None if self._term is None else self._term.lost

    def leader(self) -> Optional[Leader]:
        """Also for programs that do not campaign."""
        return leader_in(self._client.inspect(self._name))

    def __enter__(self) -> Lease:
        return self.campaign()

    def __exit__(self, kind: Any, _error: Any, _trace: Any) -> None:
        term, self._term = self._term, None
        if term is not None:
            term._end_section(kind is not None)
