# The kinds of lock that a client makes, whether its calls block or not; knows neither.
# SPDX-License-Identifier: MIT
from typing import Generic, Optional, Tuple, TypeVar

from ._native import Options, Single
from ._options import count, options_of
from ._times import Seconds

AnyLock = TypeVar("AnyLock")
AnySemaphore = TypeVar("AnySemaphore")
AnyElection = TypeVar("AnyElection")


class Kinds(Single, Generic[AnyLock, AnySemaphore, AnyElection]):
    """What a client makes locks by, with the terms that all kinds have."""

    def lock(self, resource: str, *more: str,
             ttl: Optional[Seconds] = None, wait: Optional[Seconds] = None,
             max_hold: Optional[Seconds] = None, min_hold: Optional[Seconds] = None,
             margin: Optional[Seconds] = None, watchdog: Optional[Seconds] = None,
             renew: Optional[bool] = None, note: str = "") -> AnyLock:
        """Exclusive: one holder of the resource; of several, all or none. `ttl`: how long the nodes keep it
        if this process ends; `wait`: how long to queue for it; `max_hold`: the longest validity;
        `min_hold`: how long the nodes keep it though it is released; `margin`: how long before its end
        its loss is reported; `watchdog`: the longest time between two calls of `Lease.touch`; `renew`:
        whether the client prolongs it; `note`: what others see of it."""
        return self._lock((resource, *more), options_of(
            ttl, wait, max_hold, min_hold, margin, watchdog, renew, note))

    def reader(self, resource: str, *,
               ttl: Optional[Seconds] = None, wait: Optional[Seconds] = None,
               max_hold: Optional[Seconds] = None, margin: Optional[Seconds] = None,
               watchdog: Optional[Seconds] = None, renew: Optional[bool] = None, note: str = "") -> AnyLock:
        """A lock that others may have at once, all of them readers. The rest is as of `lock`."""
        return self._lock((resource,), options_of(
            ttl, wait, max_hold, None, margin, watchdog, renew, note, shared=True))

    def writer(self, resource: str, *,
               ttl: Optional[Seconds] = None, wait: Optional[Seconds] = None,
               max_hold: Optional[Seconds] = None, min_hold: Optional[Seconds] = None,
               margin: Optional[Seconds] = None, watchdog: Optional[Seconds] = None,
               renew: Optional[bool] = None, note: str = "") -> AnyLock:
        """A lock that keeps out the readers of the resource, too. The rest is as of `lock`."""
        return self._lock((resource,), options_of(
            ttl, wait, max_hold, min_hold, margin, watchdog, renew, note))

    def semaphore(self, resource: str, slots: int, *, permits: int = 1,
                  ttl: Optional[Seconds] = None, wait: Optional[Seconds] = None,
                  max_hold: Optional[Seconds] = None, min_hold: Optional[Seconds] = None,
                  margin: Optional[Seconds] = None, watchdog: Optional[Seconds] = None,
                  renew: Optional[bool] = None, note: str = "") -> AnySemaphore:
        """At most so many at once. Each takes one, or as many `permits` together, 64 at most, or none. The
        rest is as of `lock`."""
        return self._semaphore(resource, options_of(
            ttl, wait, max_hold, min_hold, margin, watchdog, renew, note, slots=count("slots", slots, 1000),
            permits=count("permits", permits, min(slots, 64))))

    def election(self, name: str, *,
                 ttl: Optional[Seconds] = None, wait: Optional[Seconds] = float("inf"),
                 max_hold: Optional[Seconds] = None, min_hold: Optional[Seconds] = None,
                 margin: Optional[Seconds] = None, watchdog: Optional[Seconds] = None,
                 renew: Optional[bool] = None, note: str = "") -> AnyElection:
        """One leader of all that campaign under the name. The rest is as of `lock`; a campaign waits
        without a limit."""
        return self._election(name, options_of(
            ttl, wait, max_hold, min_hold, margin, watchdog, renew, note))

    def _lock(self, resources: Tuple[str, ...], options: Options) -> AnyLock:
        raise NotImplementedError

    def _semaphore(self, resource: str, options: Options) -> AnySemaphore:
        raise NotImplementedError

    def _election(self, name: str, options: Options) -> AnyElection:
        raise NotImplementedError
