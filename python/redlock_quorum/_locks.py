# The kinds of lock that programs use, all of them on a client; know no node.
# SPDX-License-Identifier: MIT
import contextlib
import dataclasses
import functools
import inspect
import threading
import time
import weakref
from typing import (Any, Callable, Dict, Generator, Iterator, List, Literal, Optional, Tuple, TypeVar,
                    overload)

from . import _interrupts
from ._errors import (CONTENDED, Contended, Error, InvalidArgument, LeaseLost, NoQuorum, NotHeld,
                      WouldDeadlock, WrongType, check, error_of)
from ._lease import Lease, Lost, Nodes
from ._native import Options, Single, byref, c_int64, c_void_p, library
from ._options import Resources, as_bytes, copy_of, count
from ._times import NO_WAIT, Seconds, milliseconds, waiting

F = TypeVar("F", bound=Callable[..., Any])


class Stack:
    """The leases of one lock object, with the holder of each: a thread or a task, itself, since numbers of
    threads are used again. It has no lock, which a handler of a signal might wait for in vain: each change
    is one call of a list."""

    def __init__(self) -> None:
        self._held: List[Tuple[Any, Any, bool]] = []
        self._prune_at = 8

    def add(self, who: Any, lease: Any, is_section: bool) -> None:
        self._held.append((who, lease, is_section))
        if len(self._held) >= self._prune_at:
            for one in self._held.copy():
                if not one[2] and one[1]._is_over():
                    self._drop(one)
            self._prune_at = 2 * len(self._held) + 8

    def has_section_of(self, who: Any) -> bool:
        return any(one[0] is who and one[2] and one[1].valid for one in self._held.copy())

    def take(self, who: Any, is_section: bool) -> Optional[Any]:
        """The last one of `who`; else, since a section may be left on another thread or in another task
        than it was entered, the last one of any."""
        while True:
            fitting = [one for one in self._held.copy()
                       if one[2] == is_section and (is_section or not one[1]._is_over())]
            if not fitting:
                return None
            own = [one for one in fitting if one[0] is who]
            last = (own or fitting)[-1]
            if self._drop(last):
                return last[1]

    def remove(self, lease: Any) -> None:
        """Keeps it no longer, if it was kept."""
        for one in self._held.copy():
            if one[1] is lease:
                self._drop(one)

    def has_valid(self) -> bool:
        return any(one[1].valid for one in self._held.copy())

    def _drop(self, one: Tuple[Any, Any, bool]) -> bool:
        """False where another thread was faster."""
        try:
            self._held.remove(one)
        except ValueError:
            return False
        return True


def options_for(options: Options, blocking: bool, timeout: Optional[Seconds]) -> Options:
    """Of one acquire, as threading.Lock takes the two."""
    if not blocking:
        if timeout is not None:
            raise InvalidArgument("timeout is for an acquire that is blocking")
        return copy_of(options, NO_WAIT)
    return options if timeout is None else copy_of(options, waiting(timeout, "timeout"))


class Lock(Single):
    """`with client.lock("stock:4711", ttl=10, wait=5) as lease:` holds the resource for the section.
    Any thread may use the object, each for sections of its own. A section may be left on another thread
    than the one that entered it. `@client.lock("stock:4711")` over a plain function makes each call a
    section."""

    _may_nest = False

    def __init__(self, client: Nodes, resources: Tuple[str, ...], options: Options) -> None:
        self._client = client
        self._resources = Resources(resources)
        self._options = options
        self._held = Stack()

    @property
    def resources(self) -> Tuple[str, ...]:
        """What it locks."""
        return self._resources.names

    @overload
    def acquire(self, blocking: Literal[True] = True, timeout: Optional[Seconds] = None) -> Lease: ...

    @overload
    def acquire(self, blocking: bool, timeout: Optional[Seconds] = None) -> Optional[Lease]: ...

    def acquire(self, blocking: bool = True, timeout: Optional[Seconds] = None) -> Optional[Lease]:
        """Waits for the lease, for `timeout` in place of the lock's own `wait`. The caller releases it, or
        calls `release` of this object, which keeps it until then. Raises Contended if the wait is over.
        Not `blocking`: one attempt; None if the resource is held."""
        options = options_for(self._options, blocking, timeout)
        lease: Optional[Lease] = None
        try:
            lease = self._client.acquire(self._resources, options)
            self._held.add(threading.current_thread(), lease, False)
            return lease
        except BaseException as error:  # also that of a handler of a signal: the caller gets no lease then
            self._held.remove(lease)
            del lease  # which else lives as long as the exception
            if isinstance(error, Contended) and not blocking:
                return None
            raise

    def try_acquire(self) -> Optional[Lease]:
        """As `acquire`, except that contention is no error: None."""
        try:
            return self.acquire()
        except Contended:
            return None

    def release(self) -> None:
        """Releases what this thread acquired last by this object, else what any thread did. Raises
        NotHeld where nothing is left, and what `Lease.release` raises."""
        lease = self._held.take(threading.current_thread(), False)
        if lease is None:
            raise NotHeld(f"nothing is held by this lock of {str(self._resources)!r}")
        lease.release()

    def locked(self) -> bool:
        """Whether anybody holds one of its resources, or of a semaphore one of its slots, by what a quorum of
        nodes says."""
        return any(is_held(self._client.inspect(name), self._options) for name in self.resources)

    def owned(self) -> bool:
        """Whether this object has a lease that is valid, by the clock at this call."""
        return self._held.has_valid()

    def __enter__(self) -> Lease:
        me = threading.current_thread()
        if not self._may_nest and self._held.has_section_of(me):
            raise WouldDeadlock(f"this thread holds {str(self._resources)!r} already")
        lease: Optional[Lease] = None
        try:
            lease = self._client.acquire(self._resources, self._options)
            self._held.add(me, lease, True)
            return lease
        except BaseException:  # also that of a handler of a signal: Python does not call __exit__ then
            self._held.remove(lease)
            del lease  # which else lives as long as the exception
            raise

    def __exit__(self, kind: Any, _error: Any, _trace: Any) -> None:
        """Releases the lease. Raises LeaseLost if the section did not have it until its end, unless an
        exception is already on its way."""
        # A handler of a signal that raises just here leaves the section open: Python calls this once. Later
        # the lease is dropped, and so released in the background.
        lease = self._held.take(threading.current_thread(), True)
        if lease is not None:
            lease._end_section(kind is not None)
        elif kind is None:
            raise NotHeld(f"no section of this lock of {str(self._resources)!r} is open")

    def __call__(self, function: F) -> F:
        """Decorates a plain function: each of its calls is a section."""
        return in_sections(self, function)


# What works after its call has returned, when the section is over; with what does it in a section.
_LATER: "Tuple[Tuple[Callable[[Any], bool], str], ...]" = (
    (inspect.iscoroutinefunction, "a coroutine function: decorate it with a lock of redlock_quorum.aio.Client"),
    (inspect.isgeneratorfunction, "a generator function: write `with` in it"),
    (inspect.isasyncgenfunction, "an async generator function: write `async with` in it, with a lock of "
                                 "redlock_quorum.aio.Client"),
)


def is_of_kind(is_it: Callable[[Any], bool], function: Any) -> bool:
    """Whether the function is such a one, or an object that is called as one."""
    return is_it(function) or is_it(getattr(function, "__call__", None))


def in_sections(lock: Any, function: F) -> F:
    """The function, each of whose calls is a section."""
    for is_it, name in _LATER:
        if is_of_kind(is_it, function):
            raise WrongType(f"function must be a plain function, and {function!r} is {name}")

    @functools.wraps(function)
    def locked(*words: Any, **more: Any) -> Any:
        with lock:
            return function(*words, **more)

    return locked  # type: ignore[return-value]


class Semaphore(Lock):
    """At most so many at once: each has one of the slots of the resource."""

    _may_nest = True


Levels = Tuple[bool, ...]
"""Whether each is a section, the outermost first; an acquire is none."""


def last_of(levels: Levels, is_section: bool) -> Optional[int]:
    """Where the last one of that kind is."""
    return max((i for i, one in enumerate(levels) if one == is_section), default=None)


class RLock(Single):
    """A lock that its thread may acquire again; one lease stands behind all levels. Each level ends once: by
    its section, by `release`, or by that of the lease, which as a context manager ends what `acquire` began."""

    def __init__(self, client: Nodes, resources: Tuple[str, ...], options: Options) -> None:
        self._client = client
        self._resources = Resources(resources)
        self._options = options
        self._held: Dict[Any, Tuple[Lease, Levels]] = {}  # of each thread

    @overload
    def acquire(self, blocking: Literal[True] = True, timeout: Optional[Seconds] = None) -> Lease: ...

    @overload
    def acquire(self, blocking: bool, timeout: Optional[Seconds] = None) -> Optional[Lease]: ...

    def acquire(self, blocking: bool = True, timeout: Optional[Seconds] = None) -> Optional[Lease]:
        """As `Lock.acquire`; the lease of the outermost level. Raises LeaseLost if the thread has the lock
        and its lease is over: no level more begins."""
        try:
            return self._begin(False, options_for(self._options, blocking, timeout))
        except Contended:
            if blocking:
                raise
            return None

    def release(self) -> None:
        """Ends one level of this thread; the last one releases the lease, and raises what that does."""
        me = threading.current_thread()
        if me not in self._held:
            raise NotHeld("this thread does not hold the lock")
        lease, levels = self._held[me]
        if not self._end(me, last_of(levels, False)):
            lease.release()

    def end_level(self, lease: Lease) -> bool:
        """Ends what `acquire` began last. Whether other levels have the lease; False, too, where all that are
        left are sections: one that releases its lease itself ends it."""
        for who, (held, levels) in list(self._held.items()):
            last = last_of(levels, False)
            if held is lease and last is not None:
                return self._end(who, last)
        return False

    def locked(self) -> bool:
        """Whether anybody holds it, by what a quorum of nodes says."""
        return is_held(self._client.inspect(self._resources.names[0]))

    def owned(self) -> bool:
        """Whether this thread holds it, by the clock at this call."""
        held = self._held.get(threading.current_thread())
        return held is not None and held[0].valid

    def __enter__(self) -> Lease:
        return self._begin(True, self._options)

    def __exit__(self, kind: Any, _error: Any, _trace: Any) -> None:
        """Ends one section: of this thread, else of the one that entered last."""
        # As of Lock.__exit__: a handler that raises before the level is taken leaves it open.
        me: Any = threading.current_thread()
        having = [who for who, (_, levels) in list(self._held.items()) if True in levels]
        if not having:
            if kind is not None:
                return
            raise NotHeld("no section of this lock is open")
        who = me if me in having else having[-1]
        lease, levels = self._held[who]
        if not self._end(who, last_of(levels, True)):
            lease._end_section(kind is not None)

    def __call__(self, function: F) -> F:
        """Decorates a plain function: each of its calls is a section."""
        return in_sections(self, function)

    def _begin(self, is_section: bool, options: Options) -> Lease:
        me = threading.current_thread()
        before = self._held.get(me)
        lease: Optional[Lease] = None
        try:
            if before is None:
                lease = self._client.acquire(self._resources, options)
                lease._levels = weakref.ref(self)
                self._held[me] = (lease, (is_section,))
                return lease
            lease, levels = before
            if not lease.valid:
                how = "released in an outer section" if lease._is_over() else "lost"
                raise LeaseLost(f"the lease of {str(self._resources)!r} was {how}")
            self._held[me] = (lease, (*levels, is_section))
            return lease
        except BaseException:  # also that of a handler of a signal: no level begins, and none is ended
            if before is None:
                self._held.pop(me, None)
            else:
                self._held[me] = before
            del lease, before  # which else live as long as the exception
            raise

    def _end(self, who: Any, which: Optional[int]) -> bool:
        """Ends that level of the thread, else its last one. Whether others are left."""
        lease, levels = self._held[who]
        at = len(levels) - 1 if which is None else which
        left = levels[:at] + levels[at + 1:]
        if left:
            self._held[who] = (lease, left)
        else:
            del self._held[who]
        return bool(left)


class RateLimiter(Single):
    """At most `limit` times per period, of all programs that name the resource."""

    def __init__(self, client: Nodes, resource: str, limit: int, period: Seconds) -> None:
        self._handle = c_void_p()
        self._client = client
        check(library.limiter_new(client._handle, as_bytes("resource", resource),
                                  count("limit", limit, 1000), milliseconds("period", period),
                                  byref(self._handle)), client.process)

    def __del__(self, free: Any = library.limiter_free) -> None:
        handle = getattr(self, "_handle", None)
        if handle:
            free(handle)

    def acquire(self, wait: Seconds = 0, cost: int = 1) -> None:
        """Uses one time up, or `cost` or none (1 to the limit, at most 64), and waits for them for so
        long. Raises Contended, with `retry_after`."""
        wait_ms, number = waiting(wait), count("cost", cost, 1000)
        error = (_interrupts.beside(lambda cancel: self._use(number, wait_ms, cancel))
                 if _interrupts.is_needed(wait_ms) else self._use(number, wait_ms))
        if error is not None:
            raise error

    def try_acquire(self, cost: int = 1) -> bool:
        """Whether one more is allowed now, or `cost` more. If so, they are used up."""
        try:
            self.acquire(0, cost)
        except Contended:
            return False
        return True

    def set_limit(self, limit: int) -> None:
        """From now on so many, of all programs, until another number is set: up or down."""
        check(library.limiter_set(self._handle, count("limit", limit, 1000)), self._client.process)

    def _use(self, cost: int, wait_ms: int, cancel: Optional[_interrupts.Cancel] = None) -> Optional[Error]:
        after_ms = c_int64()
        handle = None if cancel is None else cancel.handle
        number = library.limiter_use(self._handle, cost, max(0, wait_ms), handle, byref(after_ms))
        if number == 0:
            return None
        error = error_of(number, self._client.process)
        if number == CONTENDED and isinstance(error, Contended):
            error.retry_after = after_ms.value / 1000
        return error


@dataclasses.dataclass(frozen=True)
class Leader:
    """The leader of an election, by what a quorum of nodes says."""

    name: str
    """The `client_name` of its client."""
    note: str
    fence: int
    since: float
    """Seconds since it was elected; 0 if the nodes do not show it."""


def is_held(state: Any, options: Optional[Options] = None) -> bool:
    """By what `inspect` shows; of a semaphore's options, whether a slot is."""
    has_slots = options is not None and options.slots > 0
    held = any(not slot["kept"] for slot in state["slots"]) if has_slots else bool(state["held"])
    if not held and not state["decided"]:
        raise NoQuorum("too few nodes answered")
    return held


def leader_in(state: Any) -> Optional[Leader]:
    """The leader in what `inspect` shows."""
    if not is_held(state) or not state["owner"]:
        return None
    name = state["owner"].partition("@")[2].partition("#")[0]
    return Leader(name, state.get("note", ""), state["fence"], (state["since_ms"] or 0) / 1000)


def term_of(leader: Optional[Leader]) -> Tuple[str, int]:
    """What tells a term from the one before it."""
    return ("", 0) if leader is None else (leader.name, leader.fence)


def pause_of(every: Seconds) -> float:
    """Seconds between two looks."""
    return milliseconds("every", every) / 1000


class Candidate(Single):
    """What both kinds of election have of their terms. A term that was lost may be cleaned up in its section
    while another campaign is under way: each section ends its own."""

    _term: Any = None
    _name: str

    def __init__(self) -> None:
        self._sections = Stack()
        self._campaigns: List[object] = []  # the first is under way

    @contextlib.contextmanager
    def _campaign(self) -> Iterator[None]:
        mine = object()
        try:
            self._campaigns.append(mine)
            if self._campaigns[0] is not mine:
                raise WouldDeadlock(f"this election campaigns for {self._name!r} already")
            if self.held:
                raise WouldDeadlock(f"this election leads {self._name!r} already")
            yield
        finally:
            if mine in self._campaigns:
                self._campaigns.remove(mine)

    def _left(self, who: Any) -> Any:
        """The term of the section that is left. The election has it no longer."""
        term = self._sections.take(who, True)
        if self._term is term:
            self._term = None
        return term

    def _raise_loss(self, term: Any, kind: Any) -> None:
        """Also where the next campaign has ended the lost term."""
        if kind is None and term.lost.is_set():
            raise LeaseLost(f"the term of {self._name!r} was lost")

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
        super().__init__()
        self._client = client
        self._name = name
        self._resources = Resources((name,))
        self._options = options
        self._term: Optional[Lease] = None

    def campaign(self) -> Lease:
        """Waits until this election leads. The lease is that of the term. Raises WouldDeadlock where it leads,
        or campaigns in another thread."""
        with self._campaign():
            lost, self._term = self._term, None
            if lost is not None:
                lost._end_section(True)  # else its keys would keep everybody out, this election too
            self._term = self._client.acquire(self._resources, self._options)
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

    def observe(self, every: Seconds = 1) -> Generator[Optional[Leader], None, None]:
        """`for leader in election.observe():` the leader, and each other one that follows; None while
        there is none. It asks the nodes so often. While too few of them answer nothing counts as a change."""
        pause = pause_of(every)
        shown: Any = self
        while True:
            with contextlib.suppress(NoQuorum):
                leader = self.leader()
                if shown is self or term_of(leader) != term_of(shown):
                    shown = leader
                    yield leader
            time.sleep(pause)

    def __enter__(self) -> Lease:
        term: Optional[Lease] = None
        try:
            term = self.campaign()
            self._sections.add(threading.current_thread(), term, True)
            return term
        except BaseException:  # also that of a handler of a signal: Python does not call __exit__ then
            self._sections.remove(term)
            if term is not None and self._term is term:
                self._term = None
            del term  # which else lives as long as the exception
            raise

    def __exit__(self, kind: Any, _error: Any, _trace: Any) -> None:
        """Resigns. Raises LeaseLost if the section did not lead until its end, unless an exception is already
        on its way."""
        term = self._left(threading.current_thread())
        if term is not None:
            term._end_section(kind is not None)
            self._raise_loss(term, kind)
