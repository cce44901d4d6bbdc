# The client: its nodes, what it acquires, and what it shows of them.
# SPDX-License-Identifier: MIT
import atexit
import json
import os
import sys
import threading
import weakref
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from . import _interrupts
from ._errors import NO_QUORUM, InvalidArgument, WrongType, check, error_of
from ._kinds import Kinds
from ._lease import Lease
from ._locks import Election, Lock, RateLimiter, RLock, Semaphore
from ._native import Options, byref, c_void_p, library, text_of
from ._options import Resources, as_bytes, options_of
from ._times import Seconds

_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()


# Threads that end clients which were dropped in an event loop: that waits for nodes.
_is_ending = False
_endings: "weakref.WeakSet[threading.Thread]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Leases that are held when the interpreter ends are released."""
    global _is_ending
    _is_ending = True
    for client in list(_clients):
        if client.process == os.getpid():
            client.close()
    for thread in list(_endings):
        if thread.ident is not None:
            thread.join()


_finalized = 0  # the process that multiprocessing ends in this way


def _close_at_end() -> None:
    """A child that multiprocessing forked ends without atexit. Its finalizers go at the fork, so each process
    has one of its own, which is called when its own children have ended."""
    global _finalized
    util = sys.modules.get("multiprocessing.util")
    if util is not None and _finalized != os.getpid():
        util.Finalize(None, _close_all, exitpriority=-1)
        _finalized = os.getpid()


def _is_in_loop() -> bool:
    """Whether this thread runs an event loop."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def _free(handle: c_void_p, process: int, free: Any = library.client_free) -> None:
    """In a thread of its own where an event loop runs, else here; so, too, at the end of the process and
    after a fork."""
    if process == os.getpid() and not _is_ending and _is_in_loop():
        try:
            thread = threading.Thread(target=free, args=(handle,), name="redlock end", daemon=True)
            thread.start()
            _endings.add(thread)
            return
        except RuntimeError:  # the system has none
            pass
    free(handle)


def _plain(value: Any) -> Any:
    """What JSON has for it."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    raise TypeError(f"not {value!r}")


def _path(path: Any) -> bytes:
    raw = os.fsencode(path)
    if b"\0" in raw:
        raise InvalidArgument("the name of a file must have no NUL character")
    return raw


def _text_in(configuration: Any) -> Optional[str]:
    """The JSON of a configuration; None for the name of a file: no JSON of one has no brace."""
    if isinstance(configuration, str):
        return configuration if "{" in configuration else None
    if isinstance(configuration, Mapping):
        try:
            return json.dumps(configuration, default=_plain)
        except (TypeError, ValueError) as error:
            raise WrongType(f"configuration must say what JSON can have: {error}") from None
    if isinstance(configuration, os.PathLike):
        return None
    raise WrongType("configuration must be JSON text, a mapping, or the name of a file, "
                    f"not {configuration!r}")


class Client(Kinds[Lock, Semaphore, Election]):
    """Locks over the nodes of one configuration. One client serves a whole process: any thread may
    use it. It connects in the background.

    In a child process it is over: calls raise ForkedError, and the parent's leases stay the
    parent's."""

    def __init__(self, configuration: "Union[str, os.PathLike[str], Mapping[str, Any]]") -> None:
        """The name of a file of JSON as in config/redlock.schema.json; such a text itself; or a dict
        that says the same."""
        text = _text_in(configuration)
        if text is None:
            path = _path(configuration)
            self._open(lambda out: library.client_from_file(path, out))
        else:
            raw = as_bytes("configuration", text)
            self._open(lambda out: library.client_from_json(raw, out))

    @classmethod
    def from_environment(cls) -> "Client":
        """Of what REDLOCK_CONFIG, REDLOCK_NODES, or a file in the usual places names."""
        return cls._opened(library.client_from_environment)

    @classmethod
    def from_file(cls, path: Union[str, "os.PathLike[str]"]) -> "Client":
        """Of the JSON in a file."""
        if not isinstance(path, (str, os.PathLike)):
            raise WrongType(f"path must be a str or a path, not {path!r}")
        raw = _path(path)
        return cls._opened(lambda out: library.client_from_file(raw, out))

    @classmethod
    def _opened(cls, make: Callable[[Any], Any]) -> "Client":
        self = cls.__new__(cls)
        self._open(make)
        return self

    def _open(self, make: Callable[[Any], Any]) -> None:
        self._handle = c_void_p()
        self.process = os.getpid()
        check(int(make(byref(self._handle))))
        _close_at_end()
        _clients.add(self)

    def __del__(self, free: Any = _free) -> None:
        handle = getattr(self, "_handle", None)
        if handle:
            free(handle, self.process)

    def close(self) -> None:
        """Releases all leases, and ends every call that another thread is inside of."""
        library.client_close(self._handle)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def acquire(self, resources: Resources, options: Options) -> Lease:
        """The lease of all of them; what locks are made of."""
        lease = Lease(self, resources.names)
        out = byref(lease._handle)
        try:
            if _interrupts.is_needed(options.wait_ms):
                begin = library.begin_acquire if resources.is_one else library.begin_acquire_all
                number = _interrupts.waiting_call(
                    lambda pending: int(begin(self._handle, *resources.arguments, byref(options),
                                              byref(pending))), out)
            else:
                function = library.acquire if resources.is_one else library.acquire_all
                number = function(self._handle, *resources.arguments, byref(options), out)
            check(number, self.process)
            return lease._granted()
        except BaseException:
            del lease, out  # which else live as long as the exception
            raise

    def adopt(self, token: str, *, ttl: Optional[Seconds] = None, renew: Optional[bool] = None,
              max_hold: Optional[Seconds] = None) -> Lease:
        """Takes over a lease that another process acquired, by its `Lease.token`."""
        return self._adopt(token, ttl, renew, max_hold)._adopted()

    def _adopt(self, token: str, ttl: Optional[Seconds], renew: Optional[bool], max_hold: Optional[Seconds]) -> Lease:
        lease = Lease(self, ())
        lease._handle.is_only_ours = False
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
        state: Dict[str, Any] = json.loads(text)
        return state

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

    def _lock(self, resources: Tuple[str, ...], options: Options) -> Lock:
        return Lock(self, resources, options)

    def _semaphore(self, resource: str, options: Options) -> Semaphore:
        return Semaphore(self, (resource,), options)

    def _election(self, name: str, options: Options) -> Election:
        return Election(self, name, options)

    def rlock(self, resource: str, *,
              ttl: Optional[Seconds] = None, wait: Optional[Seconds] = None,
              max_hold: Optional[Seconds] = None, min_hold: Optional[Seconds] = None,
              margin: Optional[Seconds] = None, watchdog: Optional[Seconds] = None,
              renew: Optional[bool] = None, note: str = "") -> RLock:
        """As `lock`, which its thread may acquire again."""
        return RLock(
            self, (resource,),
            options_of(ttl, wait, max_hold, min_hold, margin, watchdog, renew, note))

    def rate_limiter(self, resource: str, limit: int, period: Seconds) -> RateLimiter:
        """At most `limit` times in any `period`."""
        return RateLimiter(self, resource, limit, period)
