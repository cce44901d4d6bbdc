# What is waited for, and the clock; knows no scenario.
# SPDX-License-Identifier: MIT
import time


# How long something that has to come is waited for, where the machine may be busy with anything
# else: far longer than it takes. How fast it came is printed, never judged.
PATIENCE_S = 120


class Failure(Exception):
    """A scenario has seen what must not be, or has not seen in time what must be."""


class NoVerdict(Exception):
    """The machine was too busy to tell."""


def now_ns():
    """The clock of the leases: it counts suspended time, and all processes share it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def ms(ns):
    return round(ns / 1e6)


def wait_for(what, fact, seconds=PATIENCE_S):
    """Asks until the answer holds, and returns it. Fails with `what` if that takes too long."""
    limit = time.monotonic() + seconds
    while True:
        answer = fact()
        if answer:
            return answer
        if time.monotonic() > limit:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(0.01)
