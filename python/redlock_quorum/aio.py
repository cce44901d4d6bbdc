# The same locks for asyncio: no call blocks the loop.
# SPDX-License-Identifier: MIT
"""    client = aio.Client.from_environment()
    async with client.lock("stock:4711", ttl=10, wait=5) as lease:
        await write(fence=lease.fence)

A call that waits for the nodes waits in a thread. What waits for a loss waits for the lease's descriptor.
A task that is cancelled gives back what it was about to be granted."""
import asyncio
import os
import queue
import threading
from concurrent.futures import Future
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Tuple, Union

from . import _client, _lease, _locks
from ._errors import Contended, NotHeld, WouldDeadlock
from ._native import Options, library
from ._options import Resources, options_of
from ._times import Seconds, waiting

__all__ = ["Client", "Election", "Lease", "Lock", "Lost", "RateLimiter"]


class _Threads:
    """As many threads as calls wait at once: with fewer, one that is to release could wait behind those
    that wait for it. They end with the program."""

    def __init__(self) -> None:
        self._work: "queue.SimpleQueue[Tuple[Future[Any], Callable[[], Any]]]" = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)

    def start(self, call: Callable[[], Any]) -> "Future[Any]":
        future: "Future[Any]" = Future()
        self._work.put((future, call))
        if not self._idle.acquire(blocking=False):
            threading.Thread(target=self._run, name="redlock call", daemon=True).start()
        return future

    def _run(self) -> None:
        while True:
            future, call = self._work.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:  # the caller's, whatever it is
                    future.set_exception(error)
            del future, call
            self._idle.release()


_threads = _Threads()


def _begin_again() -> None:
    global _threads
    _threads = _Threads()


os.register_at_fork(after_in_child=_begin_again)


async def _in_thread(call: Callable[[], Any]) -> Any:
    """A call that is short, and goes on to its end where the task is cancelled meanwhile."""
    return await asyncio.shield(asyncio.wrap_future(_threads.start(call)))


async def _cancellable(call: Callable[[int], Any]) -> Any:
    """`call(cancel)` in a thread. Where the task is cancelled, the call is, too; a lease that it was
    granted in that moment is dropped, and so released."""
    cancel = library.cancel_new()
    if cancel is None:
        raise MemoryError("redlock: no memory for a call")
    running = _threads.start(lambda: call(cancel))

    def is_over(done: "Future[Any]") -> None:
        library.cancel_free(cancel)

    try:
        result = await asyncio.shield(asyncio.wrap_future(running))
    except asyncio.CancelledError:
        if not running.cancel():
            library.cancel_request(cancel)
        running.add_done_callback(is_over)
        raise
    except BaseException:
        is_over(running)
        raise
    is_over(running)
    return result


class Lost:
    """Set when the lease is lost, before its validity ends; not by a release. Awaitable."""

    def __init__(self, lease: "Lease") -> None:
        self._lease = lease

    def is_set(self) -> bool:
        return self._lease._sync._is_lost()

    async def wait(self) -> bool:
        """Until the lease is lost, or released. Whether it is lost."""
        return await asyncio.shield(self._lease._end_of_watch())

    def __await__(self) -> Any:
        return self.wait().__await__()


class Lease:
    """What the holder of a lock has; the tasks of one loop use it. One that is dropped is released in
    the background."""

    def __init__(self, sync: _lease.Lease) -> None:
        self._sync = sync
        self._watch: "Optional[asyncio.Future[bool]]" = None
        self._watched = -1

    def __bool__(self) -> bool:
        return self._sync.valid

    def __repr__(self) -> str:
        return repr(self._sync).replace("redlock_quorum.", "redlock_quorum.aio.")

    async def __aenter__(self) -> "Lease":
        return self

    async def __aexit__(self, kind: Any, _error: Any, _trace: Any) -> None:
        await self._end_section(kind is not None)

    @property
    def resource(self) -> str:
        return self._sync.resource

    @property
    def resources(self) -> Tuple[str, ...]:
        return self._sync.resources

    @property
    def fence(self) -> int:
        return self._sync.fence

    @property
    def slot(self) -> int:
        return self._sync.slot

    @property
    def valid(self) -> bool:
        return self._sync.valid

    @property
    def remaining(self) -> float:
        return self._sync.remaining

    @property
    def token(self) -> str:
        return self._sync.token

    @property
    def lost(self) -> Lost:
        return Lost(self)

    def touch(self) -> None:
        self._sync.touch()

    def detach(self) -> None:
        self._end_watch()
        self._sync.detach()

    async def extend(self, ttl: Seconds) -> None:
        await _in_thread(lambda: self._sync.extend(ttl))

    async def release(self) -> None:
        """Releases it: see `redlock.Lease.release`."""
        self._end_watch()
        await _in_thread(self._sync.release)

    async def _end_section(self, has_failed: bool) -> None:
        self._end_watch()
        await _in_thread(lambda: self._sync._end_section(has_failed))

    def _end_of_watch(self) -> "asyncio.Future[bool]":
        """Completes with whether the lease was lost."""
        loop = asyncio.get_running_loop()
        if self._watch is None:
            self._watch = loop.create_future()
            if self._sync._handle.value and not self._sync._is_lost():
                self._watched = self._sync._lost_fd()
                loop.add_reader(self._watched, self._end_watch)
            else:
                self._watch.set_result(self._sync._is_lost())
        return self._watch

    def _end_watch(self) -> None:
        """The lease is lost, or about to be released."""
        if self._watched < 0 or self._watch is None:
            return
        self._watch.get_loop().remove_reader(self._watched)
        self._watched = -1
        if not self._watch.done():
            self._watch.set_result(self._sync._is_lost())

    def __del__(self) -> None:
        if self._watched >= 0 and self._watch is not None and not self._watch.get_loop().is_closed():
            self._watch.get_loop().remove_reader(self._watched)


class Lock:
    """`async with client.lock(...) as lease`. Any task may use it, each for a section of its own; a
    semaphore and a reader, too."""

    def __init__(self, client: _client.Client, resources: Tuple[str, ...], options: Options,
                 may_nest: bool = False) -> None:
        self._client = client
        self._resources = Resources(resources)
        self._options = options
        self._may_nest = may_nest
        self._sections: Dict[Any, List[Lease]] = {}  # of each task

    async def acquire(self) -> Lease:
        def call(cancel: int) -> _lease.Lease:
            return self._client.acquire(self._resources, self._options, cancel)

        return Lease(await _cancellable(call))

    async def try_acquire(self) -> Optional[Lease]:
        """As `acquire`, except that contention is no error: None."""
        try:
            return await self.acquire()
        except Contended:
            return None

    async def __aenter__(self) -> Lease:
        task = asyncio.current_task()
        if task in self._sections and not self._may_nest:
            raise WouldDeadlock(f"this task holds {'+'.join(self._resources.names)!r} already")
        lease = await self.acquire()
        self._sections.setdefault(task, []).append(lease)
        return lease

    async def __aexit__(self, kind: Any, _error: Any, _trace: Any) -> None:
        task = asyncio.current_task()
        held = self._sections[task]
        lease = held.pop()
        if not held:
            del self._sections[task]
        await lease._end_section(kind is not None)


class RateLimiter:
    """As `redlock.RateLimiter`."""

    def __init__(self, sync: _locks.RateLimiter) -> None:
        self._sync = sync

    async def acquire(self, wait: Seconds = 0) -> None:
        wait_ms = waiting(wait)
        await _cancellable(lambda cancel: self._sync.use(wait_ms, cancel))

    async def try_acquire(self) -> bool:
        return bool(await _in_thread(self._sync.try_acquire))


class Election(_locks.Candidate):
    """As `redlock.Election`."""

    def __init__(self, client: _client.Client, name: str, options: Options) -> None:
        self._client = client
        self._name = name
        self._lock = Lock(client, (name,), options)
        self._term: Optional[Lease] = None

    async def campaign(self) -> Lease:
        if self.held:
            raise WouldDeadlock(f"this election leads {self._name!r} already")
        self._term = await self._lock.acquire()
        return self._term

    async def resign(self) -> None:
        term, self._term = self._term, None
        if term is None:
            raise NotHeld(f"this election does not lead {self._name!r}")
        await term.release()

    async def leader(self) -> Optional[_locks.Leader]:
        return _locks.leader_in(await _in_thread(lambda: self._client.inspect(self._name)))


class Client:
    """As `redlock.Client`, whose locks it has; calls that wait for the nodes are coroutines."""

    def __init__(self, configuration: Union[str, Mapping[str, Any], _client.Client]) -> None:
        self._sync = (configuration if isinstance(configuration, _client.Client)
                      else _client.Client(configuration))

    @classmethod
    def from_environment(cls) -> "Client":
        return cls(_client.Client.from_environment())

    @classmethod
    def from_file(cls, path: "Union[str, os.PathLike[str]]") -> "Client":
        return cls(_client.Client.from_file(path))

    async def close(self) -> None:
        await _in_thread(self._sync.close)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    def lock(self, resource: str, *more: str, ttl: Optional[Seconds] = None,
             wait: Optional[Seconds] = None, **how: Any) -> Lock:
        return Lock(self._sync, (resource, *more), options_of(ttl, wait, **how))

    def reader(self, resource: str, *, ttl: Optional[Seconds] = None,
               wait: Optional[Seconds] = None, **how: Any) -> Lock:
        return Lock(self._sync, (resource,), options_of(ttl, wait, shared=True, **how))

    def writer(self, resource: str, *, ttl: Optional[Seconds] = None,
               wait: Optional[Seconds] = None, **how: Any) -> Lock:
        return self.lock(resource, ttl=ttl, wait=wait, **how)

    def semaphore(self, resource: str, slots: int, *, ttl: Optional[Seconds] = None,
                  wait: Optional[Seconds] = None, **how: Any) -> Lock:
        sync = self._sync.semaphore(resource, slots, ttl=ttl, wait=wait, **how)
        return Lock(self._sync, sync.resources, sync._options, may_nest=True)

    def rate_limiter(self, resource: str, limit: int, period: Seconds) -> RateLimiter:
        return RateLimiter(self._sync.rate_limiter(resource, limit, period))

    def election(self, name: str, *, ttl: Optional[Seconds] = None,
                 wait: Optional[Seconds] = float("inf"), **how: Any) -> Election:
        return Election(self._sync, name, options_of(ttl, wait, **how))

    async def adopt(self, token: str, *, ttl: Optional[Seconds] = None, renew: bool = True,
                    max_hold: Optional[Seconds] = None) -> Lease:
        return Lease(await _in_thread(lambda: self._sync.adopt(
            token, ttl=ttl, renew=renew, max_hold=max_hold)))

    async def inspect(self, resource: str) -> Dict[str, Any]:
        state: Dict[str, Any] = await _in_thread(lambda: self._sync.inspect(resource))
        return state

    async def list(self, prefix: str = "") -> List[str]:
        names: List[str] = await _in_thread(lambda: self._sync.list(prefix))
        return names

    async def probe(self) -> List[Dict[str, Any]]:
        nodes: List[Dict[str, Any]] = await _in_thread(self._sync.probe)
        return nodes

    def stats(self) -> Dict[str, Any]:
        return self._sync.stats()

    def open_metrics(self) -> str:
        return self._sync.open_metrics()
