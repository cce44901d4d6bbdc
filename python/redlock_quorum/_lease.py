# A lease, the event of its loss, and what it uses of its client.
# SPDX-License-Identifier: MIT
import os
import select
import threading
import time
import weakref
from typing import Any, Dict, Optional, Protocol, Tuple

from ._errors import CLIENT_CLOSED, LOST, ForkedError, NotHeld, check, error_of
from ._native import Options, Single, c_void_p, library
from ._options import Resources
from ._times import NO_LIMIT, Seconds, milliseconds, waiting

_LONGEST_POLL_MS = 0x7fffffff


class Nodes(Protocol):
    """The client, as leases and locks use it."""

    _handle: c_void_p
    process: int

    def acquire(self, resources: Resources, options: Options) -> "Lease": ...

    def inspect(self, resource: str) -> Dict[str, Any]: ...


class Reentrant(Protocol):
    """A lock that its thread may acquire again."""

    def end_level(self, lease: "Lease") -> bool: ...


class Lost:
    """Set when the lease is lost, before its validity ends; not by a release. As threading.Event."""

    def __init__(self, lease: "Lease") -> None:
        self._lease = lease

    def is_set(self) -> bool:
        """Whether it is lost, by the clock at this call."""
        return self._lease._is_lost()

    def wait(self, timeout: Optional[Seconds] = None) -> bool:
        """Blocks until the lease is lost, released or detached, or the time is over. Whether it is
        lost."""
        return self._lease._wait_for_loss(None if timeout is None else max(0, waiting(timeout, "timeout")))

    def fileno(self) -> int:
        """A descriptor that becomes readable at the loss, for a selector of one's own. It is the
        lease's: never read or close it, and take it out of the selector before the release."""
        return self._lease._lost_fd()


class _Handle(c_void_p):
    """Of a lease, which is released when nobody has its handle any more. So a handler of a signal may raise
    wherever the handle is: what lets go of it does so in the instruction before the call."""

    is_only_ours = True  # else the lease goes on without it

    def __del__(self, free: Any = library.lease_free, detach: Any = library.lease_detach) -> None:
        if self.value:
            (free if self.is_only_ours else detach)(self.value)


class Lease(Single):
    """What the holder of a lock has. Any thread may use it. One that is dropped is released in the
    background. In a child process it is lost, and stays the parent's."""

    __slots__ = ("_handle", "_client", "_gate", "_long", "_detached", "_waiters", "_was_lost", "_fence",
                 "_levels", "resources", "__weakref__")

    def __init__(self, client: Nodes, resources: Tuple[str, ...]) -> None:
        # The library writes the lease here: no signal can come between the two.
        self._handle = _Handle()
        self._client = client
        # The first is of the handle, and never held during a call to a node. The second is of calls that
        # ask nodes, which the end of the lease waits for. A child process touches neither: a thread that
        # it does not have may hold them. A handler of a signal may call what it has interrupted.
        self._gate = threading.RLock()
        self._long = threading.RLock()
        self._detached: Optional[_Handle] = None
        self._waiters = 0
        self._was_lost = False
        self._fence = 0
        self._levels: "Optional[weakref.ref[Reentrant]]" = None
        self.resources = resources

    def _granted(self) -> "Lease":
        self._fence = library.lease_fence(self._handle)
        return self

    def _adopted(self) -> "Lease":
        """The caller has it now. Until then the process that it was taken over from may go on with it."""
        self._handle.is_only_ours = True
        return self

    def __bool__(self) -> bool:
        return self.valid

    def __enter__(self) -> "Lease":
        return self

    def __exit__(self, kind: Any, _error: Any, _trace: Any) -> None:
        """Releases the lease. Raises LeaseLost if the section did not have it until its end, unless an
        exception is already on its way."""
        if not self._ends_level():
            self._end_section(kind is not None)

    def __repr__(self) -> str:
        return f"<redlock_quorum.Lease {'+'.join(self.resources)!r} fence {self._fence}>"

    @property
    def resource(self) -> str:
        """The resource, or the first of several. Empty for one that was taken over by its token."""
        return self.resources[0] if self.resources else ""

    @property
    def fence(self) -> int:
        """The fencing token: larger than that of every earlier lease of the resource. 0: fencing is
        off."""
        return self._fence

    @property
    def slot(self) -> int:
        """Which place of a semaphore it holds, from 0; of several the lowest."""
        return int(self._of_living(library.lease_slot, 0))

    @property
    def valid(self) -> bool:
        """Whether it is neither released nor lost, by the clock at this call."""
        return bool(self._of_living(library.lease_valid, 0))

    @property
    def remaining(self) -> float:
        """Seconds until it ends if nothing prolongs it."""
        return int(self._of_living(library.lease_remaining, 0)) / 1000

    @property
    def token(self) -> str:
        """Text with which another process can prolong or release it: `Client.adopt`, `redlock
        release`. It is a secret. Empty if the lease is over."""
        return bytes(self._of_living(library.lease_token, b"")).decode() if self.valid else ""

    @property
    def lost(self) -> Lost:
        """The event of its loss."""
        return Lost(self)

    def touch(self) -> None:
        """A sign of life, for a lease with a watchdog."""
        self._of_living(library.lease_touch, None)

    def extend(self, ttl: Seconds) -> None:
        """Prolongs it, and lets renewal go on with this ttl."""
        ttl_ms = milliseconds("ttl", ttl)
        self._refuse_child()
        try:
            with self._long:
                check(library.extend(self._living(), ttl_ms), self._client.process)
        finally:
            self._let_go()

    def release(self) -> None:
        """Releases it, and waits until a quorum of nodes has answered. The lease is over with this
        call, whatever it raises: LeaseLost, NotHeld, NoQuorum; in that case the client goes on in the
        background. That of an RLock goes on while the thread has other levels of it."""
        if self._ends_level():
            return
        check(self._release(), self._client.process)

    def detach(self) -> None:
        """Ends renewal without a release: it stays held until its ttl ends, for another process that
        has the token."""
        if self._is_foreign():
            return
        handle = self._taken()
        handle.is_only_ours = False
        if handle:
            self._detached = handle
        del handle
        self._let_go()

    def _let_go(self) -> None:
        """Of what was detached, unless a call of another thread uses it: that one comes here after it."""
        while self._detached is not None and self._long.acquire(blocking=False):
            self._detached = None
            self._long.release()

    def _ends_level(self) -> bool:
        """Whether only a level of its lock ends, and others go on."""
        lock = None if self._levels is None or self._is_foreign() else self._levels()
        return lock is not None and lock.end_level(self)

    def _is_over(self) -> bool:
        return not self._handle

    def _is_foreign(self) -> bool:
        return self._client.process != os.getpid()

    def _refuse_child(self) -> None:
        if self._is_foreign():
            raise ForkedError("the lease belongs to the parent process")

    def _of_living(self, function: Any, otherwise: Any) -> Any:
        if self._is_foreign():
            return otherwise
        with self._gate:
            return function(self._handle) if self._handle.value else otherwise

    def _living(self) -> c_void_p:
        if not self._handle:
            raise NotHeld("the lease was released")
        return self._handle

    def _taken(self) -> _Handle:
        """The handle, which the lease has no longer; null if it had none. Wakes what waits for the loss."""
        with self._gate:
            handle, self._handle = self._handle, _Handle()
            if handle and self._waiters:
                os.write(library.lease_lost_fd(handle), (1).to_bytes(8, "little"))
        return handle

    def _release(self) -> int:
        self._refuse_child()
        handle = None
        try:
            with self._long:
                handle = self._taken()
                if not handle:
                    raise NotHeld("the lease was released")
                released, handle.value = handle.value, None
                number: int = library.release(released)
        except BaseException:
            del handle  # which else lives as long as the exception
            raise
        finally:
            self._let_go()
        if number in (LOST, CLIENT_CLOSED):
            self._was_lost = True
        return number

    def _end_section(self, has_failed: bool) -> None:
        if not self._handle:
            return  # released within
        if has_failed and self._is_foreign():
            return
        number = self._release()
        if number == 0:
            return
        # What else a release may meet is no matter of the section: the client goes on with it.
        if not has_failed and number in (LOST, CLIENT_CLOSED):
            raise error_of(number, self._client.process)

    def _is_lost(self) -> bool:
        if self._is_foreign():
            return self._was_lost or bool(self._handle)
        with self._gate:
            if self._handle.value and not library.lease_valid(self._handle):
                self._was_lost = True
            return self._was_lost

    def _lost_fd(self) -> int:
        self._refuse_child()
        with self._gate:
            descriptor = library.lease_lost_fd(self._living())
            if descriptor < 0:
                raise error_of(-3)
            return int(descriptor)

    def _wait_for_loss(self, timeout_ms: Optional[int]) -> bool:
        if self._is_foreign():
            return self._is_lost()
        with self._gate:
            if not self._handle.value:
                return self._was_lost
            descriptor = library.lease_lost_fd(self._handle)
            if descriptor < 0:
                raise error_of(-3)
            copy = os.dup(descriptor)  # which stays when the lease is released meanwhile
            self._waiters += 1
        try:
            poll = select.poll()
            poll.register(copy, select.POLLIN)
            left_ms = NO_LIMIT if timeout_ms is None else timeout_ms
            end = time.monotonic() + left_ms / 1000
            while not poll.poll(min(left_ms, _LONGEST_POLL_MS)) and left_ms > 0:
                left_ms = max(0, int((end - time.monotonic()) * 1000))
        finally:
            os.close(copy)
            with self._gate:
                self._waiters -= 1
        return self._is_lost()
