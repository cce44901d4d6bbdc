# The client: its nodes, what it acquires, and what it shows of them.
# SPDX-License-Identifier: MIT
import atexit
import json
import os
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from . import _interrupts
from ._errors import NO_QUORUM, InvalidArgument, check, error_of
from ._lease import Lease
from ._locks import Election, Lock, RateLimiter, RLock, Semaphore
from ._native import Options, byref, c_void_p, library, text_of
from ._options import Resources, as_bytes, copy_of, options_of
from ._times import Seconds

_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Leases that are held when the interpreter ends are released."""
    for client in list(_clients):
        if client.process == os.getpid():
            client.close()


class Client:
    """Locks over the nodes of one configuration. One client serves a whole process: any thread may
    use it. It connects in the background.

    In a child process it is over: calls raise ForkedError, and the parent's leases stay the
    parent's."""

    def __init__(self, configuration: Union[str, Mapping[str, Any]]) -> None:
        """A JSON text as in config/redlock.schema.json, or what such a text says."""
        text = configuration if isinstance(configuration, str) else json.dumps(configuration)
        self._open(lambda out: library.client_from_json(as_bytes("configuration", text), out))

    @classmethod
    def from_environment(cls) -> "Client":
        """Of what REDLOCK_CONFIG, REDLOCK_NODES, or a file in the usual places names."""
        return cls._opened(library.client_from_environment)

    @classmethod
    def from_file(cls, path: Union[str, "os.PathLike[str]"]) -> "Client":
        return cls._opened(lambda out: library.client_from_file(os.fsencode(path), out))

    @classmethod
    def _opened(cls, make: Callable[[Any], Any]) -> "Client":
        self = cls.__new__(cls)
        self._open(make)
        return self

    def _open(self, make: Callable[[Any], Any]) -> None:
        self._handle = c_void_p()
        self.process = os.getpid()
        check(int(make(byref(self._handle))))
        _clients.add(self)

    def __del__(self, free: Any = library.client_free) -> None:
        if getattr(self, "_handle", None):
            free(self._handle)

    def close(self) -> None:
        """Releases all leases, and ends every call that another thread is inside of."""
        library.client_close(self._handle)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def acquire(self, resources: Resources, options: Options,
                cancel: Optional[int] = None) -> Lease:
        """The lease of all of them."""
        function = library.acquire if resources.is_one else library.acquire_all
        lease = Lease(self, resources.names)
        out = byref(lease._handle)
        if cancel is None and not _interrupts.is_needed(options.wait_ms):
            number = function(self._handle, *resources.arguments, byref(options), out)
        else:
            def ask(wait_ms: int, by: Optional[int]) -> int:
                return int(function(self._handle, *resources.arguments,
                                    byref(copy_of(options, wait_ms, by)), out))

            number = (_interrupts.waiting_call(ask, options.wait_ms) if cancel is None
                      else ask(options.wait_ms, cancel))
        check(number, self.process)
        return lease._granted()

    def adopt(self, token: str, *, ttl: Optional[Seconds] = None, renew: bool = True,
              max_hold: Optional[Seconds] = None) -> Lease:
        """Takes over a lease that another process acquired, by its `Lease.token`."""
        lease = Lease(self, ())
        options = options_of(ttl, max_hold=max_hold, renew=renew)
        check(library.adopt(self._handle, as_bytes("token", token), byref(options),
                            byref(lease._handle)), self.process)
        return lease._granted()

    def inspect(self, resource: str) -> Dict[str, Any]:
        """Its holder, as `redlock inspect --json` shows it. "decided": whether a quorum answered."""
        out = c_void_p()
        number = library.inspect(self._handle, as_bytes("resource", resource), byref(out))
        error = None if number in (0, NO_QUORUM) else error_of(number, self.process)
        text = text_of(out)
        if error or not text:
            raise error or error_of(number, self.process)
        return {**json.loads(text), "decided": number == 0}

    def list(self, prefix: str = "") -> List[str]:
        """What is held and begins with the prefix."""
        text: List[str] = json.loads(self._report(library.list, as_bytes("prefix", prefix)))
        return text

    def probe(self) -> List[Dict[str, Any]]:
        """The nodes, as `redlock doctor --json` shows them, each with its "findings"."""
        nodes: List[Dict[str, Any]] = json.loads(self._report(library.probe))
        return nodes

    def stats(self) -> Dict[str, Any]:
        """The counters of this client."""
        counters: Dict[str, Any] = json.loads(self._report(library.stats))
        return counters

    def open_metrics(self) -> str:
        """The counters for Prometheus."""
        return self._report(library.open_metrics)

    def _report(self, function: Any, *what: Any) -> str:
        out = c_void_p()
        check(function(self._handle, *what, byref(out)), self.process)
        return text_of(out)

    # What is made of a client: see the classes. `how`: max_hold, min_hold, margin and watchdog, which are
    # durations; renew; note.

    def lock(self, resource: str, *more: str, ttl: Optional[Seconds] = None,
             wait: Optional[Seconds] = None, **how: Any) -> Lock:
        return Lock(self, (resource, *more), options_of(ttl, wait, **how))

    def rlock(self, resource: str, *, ttl: Optional[Seconds] = None,
              wait: Optional[Seconds] = None, **how: Any) -> RLock:
        return RLock(self, (resource,), options_of(ttl, wait, **how))

    def reader(self, resource: str, *, ttl: Optional[Seconds] = None,
               wait: Optional[Seconds] = None, **how: Any) -> Lock:
        """A lock that others may have at once, all of them readers."""
        return Lock(self, (resource,), options_of(ttl, wait, shared=True, **how))

    def writer(self, resource: str, *, ttl: Optional[Seconds] = None,
               wait: Optional[Seconds] = None, **how: Any) -> Lock:
        """A lock that keeps out the readers of the resource, too."""
        return self.lock(resource, ttl=ttl, wait=wait, **how)

    def semaphore(self, resource: str, slots: int, *, ttl: Optional[Seconds] = None,
                  wait: Optional[Seconds] = None, **how: Any) -> Semaphore:
        if not slots > 0:
            raise InvalidArgument(f"slots must be 1 to 1000, not {slots}")
        return Semaphore(self, (resource,), options_of(ttl, wait, slots=slots, **how))

    def rate_limiter(self, resource: str, limit: int, period: Seconds) -> RateLimiter:
        return RateLimiter(self, resource, limit, period)

    def election(self, name: str, *, ttl: Optional[Seconds] = None,
                 wait: Optional[Seconds] = float("inf"), **how: Any) -> Election:
        return Election(self, name, options_of(ttl, wait, **how))
