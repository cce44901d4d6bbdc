# The same locks for asyncio: no call blocks the loop.
# SPDX-License-Identifier: MIT
"""    client = aio.Client.from_environment()
    async with client.lock("stock:4711", ttl=10, wait=5) as lease:
        await write(fence=lease.fence)

Tasks that wait for a lock need no thread, and those that wait for a loss wait for the lease's descriptor.
Other calls, which are short, are made by a few threads that end when they are idle. A task that is
cancelled gives back what it was about to be granted."""
import asyncio
import collections
import contextlib
import functools
import inspect
import os
import queue
import threading
import time
import weakref
from typing import (Any, AsyncGenerator, Awaitable, Callable, Deque, Dict, List, Literal, Mapping, Optional,
                    Tuple, TypeVar, Union, overload)

from . import _client, _interrupts, _lease, _locks
from ._errors import (Contended, Error, LeaseLost, NoQuorum, NotHeld, ValidityExhausted, WouldDeadlock,
                      WrongType, check, error_of)
from ._kinds import Kinds
from ._native import Options, Single, byref, c_void_p, library
from ._options import Resources, count
from ._times import NO_WAIT, Seconds, waiting

__all__ = ["Client", "Election", "Lease", "Lock", "Lost", "RateLimiter"]

F = TypeVar("F", bound=Callable[..., Awaitable[Any]])


class _Threads:
    """A few threads for calls that are short, of which none waits for another. Each ends when it has
    been idle, or with the program."""

    MOST = 8
    IDLE_S = 0.5

    def __init__(self) -> None:
        self._work: "queue.SimpleQueue[Callable[[], None]]" = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._threads = 0
        self._calls = 0  # that have not returned

    def start(self, call: Callable[[], None]) -> None:
        """Calls it in a thread. It raises nothing."""
        with self._gate:
            if self._calls + 1 > self._threads and self._threads < self.MOST:
                self._begin_thread()
            self._calls += 1
            self._work.put(call)

    def _begin_thread(self) -> None:
        try:
            threading.Thread(target=self._run, name="redlock call", daemon=True).start()
        except RuntimeError:  # the machine has no more
            if self._threads == 0:
                raise
        else:
            self._threads += 1

    def _run(self) -> None:
        while True:
            try:
                call = self._work.get(timeout=self.IDLE_S)
            except queue.Empty:
                with self._gate:
                    if not self._work.empty():
                        continue
                    self._threads -= 1
                    return
            call()
            del call
            with self._gate:
                self._calls -= 1


_threads = _Threads()


def _begin_again() -> None:
    global _threads, _calls_gate
    _threads = _Threads()
    _calls_gate = threading.Lock()


os.register_at_fork(after_in_child=_begin_again)


async def _in_thread(call: Callable[[], Any]) -> Any:
    """A call that is short, and goes on to its end where the task is cancelled meanwhile: then nothing
    reports how it ended."""
    loop = asyncio.get_running_loop()
    outcome: "asyncio.Future[Tuple[Any, Optional[BaseException]]]" = loop.create_future()

    def arrive(result: Any, error: Optional[BaseException]) -> None:
        if not outcome.done():
            outcome.set_result((result, error))

    def run() -> None:
        result, raised = None, None
        try:
            result = call()
        except BaseException as error:  # the caller's, whatever it is
            raised = error
        try:
            loop.call_soon_threadsafe(arrive, result, raised)
        except RuntimeError:
            pass  # the loop was closed

    _threads.start(run)
    result, error = await outcome
    try:
        if error is not None:
            raise error
        return result
    finally:
        del error, outcome  # an error has its frames, and they have the error


class _Calls:
    """The acquires of one loop that are under way. The loop has it, by its reader, until it is closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._queue = library.queue_new()
        if self._queue is None:
            raise error_of(-3)
        self._waiting: "Dict[int, Tuple[_lease.Lease, asyncio.Future[Any]]]" = {}
        loop.add_reader(library.queue_fd(self._queue), self._take_over)

    def __del__(self, free: Any = library.queue_free) -> None:
        if getattr(self, "_queue", None):
            free(self._queue)

    async def acquire(self, client: _client.Client, resources: Resources, options: Options) -> _lease.Lease:
        lease = _lease.Lease(client, resources.names)
        begin = library.begin_acquire if resources.is_one else library.begin_acquire_all
        pending = c_void_p()
        check(begin(client._handle, *resources.arguments, byref(options), byref(pending)), client.process)
        number = pending.value
        assert number is not None
        # Its result, also an error, is one that nobody has to take.
        outcome: "asyncio.Future[Any]" = asyncio.get_running_loop().create_future()
        self._waiting[number] = (lease, outcome)
        try:
            check(library.queue_add(self._queue, pending), client.process)
            error = await outcome
        except BaseException:
            del lease  # the frames of the error would keep it, and the lock with it
            raise
        finally:
            self._cancel(number)
        try:
            if error is not None:
                raise error
        finally:
            del error, outcome
        return lease._granted()

    def end(self) -> None:
        """The loop was closed: what is under way has no owner any more."""
        for number in list(self._waiting):
            self._cancel(number)

    def _cancel(self, number: int) -> None:
        if self._waiting.pop(number, None) is not None:
            library.pending_cancel(number)

    def _take_over(self) -> None:
        while True:
            pending = library.queue_next(self._queue)
            if pending is None:
                return
            lease, outcome = self._waiting.pop(pending)
            number = library.pending_take(pending, byref(lease._handle))
            error = None if number == 0 else error_of(number, lease._client.process)
            if not outcome.done():
                outcome.set_result(error)


# Both are weak: calls have futures, which have their loop. So those of a closed loop are garbage.
_calls: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.ref[_Calls]]" = (
    weakref.WeakKeyDictionary())
_calls_gate = threading.Lock()  # several threads may have loops


def _calls_here() -> _Calls:
    loop = asyncio.get_running_loop()
    with _calls_gate:
        known = _calls.get(loop)
        calls = None if known is None else known()
        if calls is None:
            _end_closed()
            calls = _Calls(loop)
            _calls[loop] = weakref.ref(calls)
    return calls


def _end_closed() -> None:
    """A program may keep the tasks of a loop that it closed: their acquires end when the next loop begins."""
    for loop, known in list(_calls.items()):
        if loop.is_closed() and (calls := known()) is not None:
            calls.end()


class Lost:
    """Set when the lease is lost, before its validity ends; not by a release. Awaitable."""

    def __init__(self, lease: "Lease") -> None:
        self._lease = lease

    def is_set(self) -> bool:
        """Whether it is lost, by the clock at this call."""
        return self._lease._sync._is_lost()

    async def wait(self) -> bool:
        """Until the lease is lost, released or detached. Whether it is lost."""
        return await self._lease._wait_for_loss()

    def __await__(self) -> Any:
        return self.wait().__await__()


class Lease(Single):
    """What the holder of a lock has; the tasks of one loop use it. One that is dropped is released in
    the background."""

    def __init__(self, sync: _lease.Lease) -> None:
        self._sync = sync
        self._watch: "Optional[asyncio.Future[None]]" = None
        self._watched = -1
        self._waiters = 0
        self._is_ending = False

    def __bool__(self) -> bool:
        return self._sync.valid

    def __repr__(self) -> str:
        return repr(self._sync).replace("redlock_quorum.", "redlock_quorum.aio.")

    async def __aenter__(self) -> "Lease":
        return self

    async def __aexit__(self, kind: Any, _error: Any, _trace: Any) -> None:
        await self._end_section(kind is not None)

    def _is_over(self) -> bool:
        return self._sync._is_over()

    @property
    def resource(self) -> str:
        """The resource, or the first of several."""
        return self._sync.resource

    @property
    def resources(self) -> Tuple[str, ...]:
        """All of them."""
        return self._sync.resources

    @property
    def fence(self) -> int:
        """The fencing token: see `redlock_quorum.Lease.fence`."""
        return self._sync.fence

    @property
    def slot(self) -> int:
        """Which place of a semaphore it holds, from 0; of several the lowest."""
        return self._sync.slot

    @property
    def valid(self) -> bool:
        """Whether it is neither released nor lost, by the clock at this call."""
        return self._sync.valid

    @property
    def remaining(self) -> float:
        """Seconds until it ends if nothing prolongs it."""
        return self._sync.remaining

    @property
    def token(self) -> str:
        """Text with which another process can prolong or release it; a secret. Empty if it is over."""
        return self._sync.token

    @property
    def lost(self) -> Lost:
        """The event of its loss."""
        return Lost(self)

    def touch(self) -> None:
        """A sign of life, for a lease with a watchdog."""
        self._sync.touch()

    def detach(self) -> None:
        """Ends renewal without a release: see `redlock_quorum.Lease.detach`."""
        self._end()
        self._sync.detach()

    async def extend(self, ttl: Seconds) -> None:
        """Prolongs it, and lets renewal go on with this ttl."""
        await _in_thread(lambda: self._sync.extend(ttl))

    async def release(self) -> None:
        """Releases it: see `redlock_quorum.Lease.release`."""
        self._end()
        await _in_thread(self._sync.release)

    async def _end_section(self, has_failed: bool) -> None:
        self._end()
        await _in_thread(lambda: self._sync._end_section(has_failed))

    async def _wait_for_loss(self) -> bool:
        if not self._is_ending and not self._is_over() and not self._sync._is_lost():
            if self._watch is None:
                self._watched = self._sync._lost_fd()
                loop = asyncio.get_running_loop()
                self._watch = loop.create_future()
                loop.add_reader(self._watched, self._end_watch)
            self._waiters += 1
            try:
                await asyncio.shield(self._watch)
            finally:
                self._waiters -= 1
                if self._waiters == 0:
                    self._end_watch()
        return self._sync._is_lost()

    def _end(self) -> None:
        """Before the descriptor goes with the lease."""
        self._is_ending = True
        self._end_watch()

    def _end_watch(self) -> None:
        """The lease is lost, about to end, or no task waits any more: the reader's loop has the lease, which
        would never be dropped."""
        watch, self._watch = self._watch, None
        if watch is None or watch.get_loop().is_closed():
            return
        watch.get_loop().remove_reader(self._watched)
        if not watch.done():
            watch.set_result(None)


class Lock(Single):
    """`async with client.lock(...) as lease`. Any task may use it, each for sections of its own, and a
    section may be left in another task than it was entered. `@client.lock(...)` over a coroutine function
    makes each call a section."""

    def __init__(self, client: _client.Client, resources: Tuple[str, ...], options: Options,
                 may_nest: bool = False) -> None:
        self._client = client
        self._resources = Resources(resources)
        self._options = options
        self._may_nest = may_nest
        self._held = _locks.Stack()

    @property
    def resources(self) -> Tuple[str, ...]:
        """What it locks."""
        return self._resources.names

    @overload
    async def acquire(self, blocking: Literal[True] = True, timeout: Optional[Seconds] = None) -> Lease: ...

    @overload
    async def acquire(self, blocking: bool, timeout: Optional[Seconds] = None) -> Optional[Lease]: ...

    async def acquire(self, blocking: bool = True, timeout: Optional[Seconds] = None) -> Optional[Lease]:
        """As `redlock_quorum.Lock.acquire`."""
        options = _locks.options_for(self._options, blocking, timeout)
        try:
            lease = await self._acquire(options)
        except Contended:
            if blocking:
                raise
            return None
        self._held.add(asyncio.current_task(), lease, False)
        return lease

    async def try_acquire(self) -> Optional[Lease]:
        """As `acquire`, except that contention is no error: None."""
        try:
            return await self.acquire()
        except Contended:
            return None

    async def release(self) -> None:
        """As `redlock_quorum.Lock.release`, by tasks."""
        lease = self._held.take(asyncio.current_task(), False)
        if lease is None:
            raise NotHeld(f"nothing is held by this lock of {str(self._resources)!r}")
        await lease.release()

    async def locked(self) -> bool:
        """Whether anybody holds one of its resources, or of a semaphore one of its slots, by what a quorum of
        nodes says."""
        for name in self.resources:
            state = await _in_thread(functools.partial(self._client.inspect, name))
            if _locks.is_held(state, self._options):
                return True
        return False

    def owned(self) -> bool:
        """Whether this object has a lease that is valid, by the clock at this call."""
        return self._held.has_valid()

    async def _acquire(self, options: Options) -> Lease:
        return Lease(await _calls_here().acquire(self._client, self._resources, options))

    async def __aenter__(self) -> Lease:
        task = asyncio.current_task()
        if not self._may_nest and self._held.has_section_of(task):
            raise WouldDeadlock(f"this task holds {str(self._resources)!r} already")
        lease = await self._acquire(self._options)
        self._held.add(task, lease, True)
        return lease

    async def __aexit__(self, kind: Any, _error: Any, _trace: Any) -> None:
        lease = self._held.take(asyncio.current_task(), True)
        if lease is not None:
            await lease._end_section(kind is not None)
        elif kind is None:
            raise NotHeld(f"no section of this lock of {str(self._resources)!r} is open")

    def __call__(self, function: F) -> F:
        """Decorates a coroutine function: each of its calls is a section."""
        if not _locks.is_of_kind(inspect.iscoroutinefunction, function):
            raise WrongType(f"function must be a coroutine function (async def), not {function!r}: decorate a "
                            "plain one with a lock of redlock_quorum.Client; in an async generator write "
                            "`async with`")

        @functools.wraps(function)
        async def locked(*words: Any, **more: Any) -> Any:
            async with self:
                return await function(*words, **more)

        return locked  # type: ignore[return-value]


class _Line:
    """The calls of one loop that were refused by one limiter and wait, and those behind them: the first one
    rests and asks the nodes."""

    def __init__(self) -> None:
        self.is_taken = False
        self._waiting: "Deque[asyncio.Future[None]]" = collections.deque()

    async def enter(self, seconds: float) -> bool:
        """Whether it is the first, at once or within that time."""
        if not self.is_taken:
            self.is_taken = True
            return True
        if seconds <= 0:
            return False
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await asyncio.wait((turn,), timeout=seconds)
        except asyncio.CancelledError:
            if turn.done():
                self.leave()
            raise
        finally:
            turn.cancel()  # unless it came
        return not turn.cancelled()

    def leave(self) -> None:
        """The next one that waits is the first."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                return turn.set_result(None)
        self.is_taken = False


class RateLimiter(Single):
    """As `redlock_quorum.RateLimiter`."""

    def __init__(self, sync: _locks.RateLimiter) -> None:
        self._sync = sync
        self._lines: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Line]" = weakref.WeakKeyDictionary()
        self._free_at = 0.0

    async def acquire(self, wait: Seconds = 0, cost: int = 1) -> None:
        """Uses one time up, or `cost` or none (1 to the limit, at most 64), and waits for them for so
        long. Raises Contended, with `retry_after`."""
        wait_ms, number = waiting(wait), count("cost", cost, 1000)
        end = time.monotonic() + max(0, wait_ms) / 1000
        line = self._lines.setdefault(asyncio.get_running_loop(), _Line())
        error = None
        if not line.is_taken:
            error = await self._use(number)
            if error is None:
                return
        if not await line.enter(end - time.monotonic()):
            raise error or self._refusal()
        try:
            while error is not None or (error := await self._use(number)) is not None:
                await self._rest(error, end)
                error = None
        finally:
            line.leave()
            del error  # which has this frame

    async def _rest(self, error: Error, end: float) -> None:
        now = time.monotonic()
        # As the library rests where nodes failed.
        pause = max(0.001, error.retry_after) if isinstance(error, Contended) else 0.1
        self._free_at = now + pause
        if not isinstance(error, (Contended, NoQuorum, ValidityExhausted)) or now >= end:
            raise error
        await asyncio.sleep(min(end - now, pause))

    def _refusal(self) -> Contended:
        error = Contended("others of this program wait for this limit")
        error.retry_after = max(0.001, self._free_at - time.monotonic())
        return error

    async def _use(self, number: int) -> Optional[Error]:
        cancel = _interrupts.Cancel()
        try:
            error: Optional[Error] = await _in_thread(lambda: self._sync._use(number, NO_WAIT, cancel))
        except asyncio.CancelledError:
            cancel.request()
            raise
        return error

    async def try_acquire(self, cost: int = 1) -> bool:
        """Whether one more is allowed now, or `cost` more. If so, they are used up."""
        try:
            await self.acquire(0, cost)
        except Contended:
            return False
        return True

    async def set_limit(self, limit: int) -> None:
        """From now on so many, of all programs, until another number is set: up or down."""
        await _in_thread(lambda: self._sync.set_limit(limit))


class Election(_locks.Candidate):
    """As `redlock_quorum.Election`."""

    def __init__(self, client: _client.Client, name: str, options: Options) -> None:
        super().__init__()
        self._client = client
        self._name = name
        self._resources = Resources((name,))
        self._options = options
        self._term: Optional[Lease] = None

    async def campaign(self) -> Lease:
        """Waits until this election leads. The lease is that of the term. Raises WouldDeadlock where it leads,
        or campaigns in another task."""
        with self._campaign():
            lost, self._term = self._term, None
            if lost is not None:
                await lost._end_section(True)  # else its keys would keep everybody out, this election too
            self._term = Lease(await _calls_here().acquire(self._client, self._resources, self._options))
            return self._term

    async def resign(self) -> None:
        """Gives the leadership up; the next campaigner is woken. Raises LeaseLost if it was lost."""
        term, self._term = self._term, None
        if term is None:
            raise NotHeld(f"this election does not lead {self._name!r}")
        await term.release()

    async def lead(self, work: Callable[[Lease], Awaitable[Any]]) -> Any:
        """Campaigns, runs `work(lease)` while this election leads, and resigns. Work whose term is lost is
        cancelled; then the error is LeaseLost."""
        async with self as term:
            working = asyncio.ensure_future(work(term))
            losing = asyncio.ensure_future(term.lost.wait())
            try:
                await asyncio.wait((working, losing), return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    return working.result()
            finally:
                losing.cancel()
                if not working.done():
                    working.cancel()
                    await asyncio.wait((working,))
            if not working.cancelled() and (error := working.exception()) is not None:
                raise error
            if not losing.cancelled() and (error := losing.exception()) is not None:
                raise error  # the loss could not be waited for
            raise LeaseLost(f"the term of {self._name!r} was lost")

    @property
    def lost(self) -> Optional[Lost]:
        """Set when this term is lost; None where there is none."""
        return None if self._term is None else self._term.lost

    async def leader(self) -> Optional[_locks.Leader]:
        """Also for programs that do not campaign."""
        return _locks.leader_in(await _in_thread(lambda: self._client.inspect(self._name)))

    async def observe(self, every: Seconds = 1) -> "AsyncGenerator[Optional[_locks.Leader], None]":
        """`async for leader in election.observe():` as of `redlock_quorum.Election`."""
        pause = _locks.pause_of(every)
        shown: Any = self
        while True:
            with contextlib.suppress(NoQuorum):
                leader = await self.leader()
                if shown is self or _locks.term_of(leader) != _locks.term_of(shown):
                    shown = leader
                    yield leader
            await asyncio.sleep(pause)

    async def __aenter__(self) -> Lease:
        term = await self.campaign()
        self._sections.add(asyncio.current_task(), term, True)
        return term

    async def __aexit__(self, kind: Any, _error: Any, _trace: Any) -> None:
        term = self._left(asyncio.current_task())
        if term is not None:
            await term._end_section(kind is not None)
            self._raise_loss(term, kind)


class Client(Kinds[Lock, Lock, Election]):
    """As `redlock_quorum.Client`, whose locks it has, but for `rlock`, which is of threads; calls that wait for
    the nodes are coroutines."""

    def __init__(self, configuration: "Union[str, os.PathLike[str], Mapping[str, Any], _client.Client]"
                 ) -> None:
        """As of `redlock_quorum.Client`; or such a client, which both use."""
        self._sync = (configuration if isinstance(configuration, _client.Client)
                      else _client.Client(configuration))

    @classmethod
    def from_environment(cls) -> "Client":
        """Of what REDLOCK_CONFIG, REDLOCK_NODES, or a file in the usual places names."""
        return cls(_client.Client.from_environment())

    @classmethod
    def from_file(cls, path: "Union[str, os.PathLike[str]]") -> "Client":
        """Of the JSON in a file."""
        return cls(_client.Client.from_file(path))

    async def close(self) -> None:
        """Releases all leases, and ends every call that a task waits in."""
        await _in_thread(self._sync.close)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    def _lock(self, resources: Tuple[str, ...], options: Options) -> Lock:
        return Lock(self._sync, resources, options)

    def _semaphore(self, resource: str, options: Options) -> Lock:
        return Lock(self._sync, (resource,), options, may_nest=True)

    def _election(self, name: str, options: Options) -> Election:
        return Election(self._sync, name, options)

    def rate_limiter(self, resource: str, limit: int, period: Seconds) -> RateLimiter:
        """At most `limit` times in any `period`."""
        return RateLimiter(self._sync.rate_limiter(resource, limit, period))

    async def adopt(self, token: str, *, ttl: Optional[Seconds] = None, renew: Optional[bool] = None,
                    max_hold: Optional[Seconds] = None) -> Lease:
        """Takes over a lease that another process acquired, by its `Lease.token`."""
        lease: _lease.Lease = await _in_thread(lambda: self._sync._adopt(token, ttl, renew, max_hold))
        return Lease(lease._adopted())

    async def inspect(self, resource: str) -> Dict[str, Any]:
        """Its holder, as `redlock inspect --json` shows it."""
        state: Dict[str, Any] = await _in_thread(lambda: self._sync.inspect(resource))
        return state

    async def list(self, prefix: str = "") -> List[str]:
        """What is held and begins with the prefix."""
        names: List[str] = await _in_thread(lambda: self._sync.list(prefix))
        return names

    async def probe(self) -> List[Dict[str, Any]]:
        """The nodes, as `redlock doctor --json` shows them."""
        nodes: List[Dict[str, Any]] = await _in_thread(self._sync.probe)
        return nodes

    def stats(self) -> Dict[str, Any]:
        """The counters of this client."""
        return self._sync.stats()

    def open_metrics(self) -> str:
        """The counters for Prometheus."""
        return self._sync.open_metrics()
