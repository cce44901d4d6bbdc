# Locks over a quorum of Redis masters: what programs without an event loop use.
# SPDX-License-Identifier: MIT
"""Locks over N independent Redis masters, granted by a majority under a lease with a fencing token.

    import redlock_quorum as redlock

    client = redlock.Client.from_environment()
    with client.lock("stock:4711", ttl=10, wait=5) as lease:
        write(fence=lease.fence)

Durations are numbers of seconds or timedeltas. `redlock_quorum.aio` has the same for asyncio."""
from ._client import Client
from ._errors import (Cancelled, ClientClosed, ConfigError, Contended, Error, ForkedError,
                      InvalidArgument, Issue, LeaseLost, NoQuorum, NotHeld, OutOfMemory,
                      SystemRefused, ValidityExhausted, Vote, WouldDeadlock, WrongType)
from ._lease import Lease, Lost
from ._locks import Election, Leader, Lock, RateLimiter, RLock, Semaphore
from ._native import library as _library

__version__ = _library.version().decode()

__all__ = [
    "Cancelled", "Client", "ClientClosed", "ConfigError", "Contended", "Election", "Error",
    "ForkedError", "InvalidArgument", "Issue", "Leader", "Lease", "LeaseLost", "Lock", "Lost",
    "NoQuorum", "NotHeld", "OutOfMemory", "RLock", "RateLimiter", "Semaphore", "SystemRefused",
    "ValidityExhausted", "Vote", "WouldDeadlock", "WrongType",
]
