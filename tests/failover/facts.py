# What is waited for, the clock, and a plain connection to a Redis server; knows no scenario.
# SPDX-License-Identifier: MIT
import socket
import time


# How long something that has to come is waited for, where the machine may be busy with anything
# else: far longer than it takes. How fast it came is told, never judged.
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
    """Asks until the answer holds, and returns it. `what` is told if that takes too long."""
    limit = time.monotonic() + seconds
    while True:
        answer = fact()
        if answer:
            return answer
        if time.monotonic() > limit:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(0.01)


class ErrorReply(Exception):
    pass


class Direct:
    """One connection for the test's own questions; errors of the server are raised. So is a silence
    of so many seconds: by default more than a busy machine needs."""

    def __init__(self, port, seconds=30):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self.stream = self.socket.makefile("rwb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def ask(self, *words):
        self.stream.write(b"*%d\r\n" % len(words))
        for word in words:
            data = word if isinstance(word, bytes) else str(word).encode()
            self.stream.write(b"$%d\r\n%s\r\n" % (len(data), data))
        self.stream.flush()
        return self.reply()

    def reply(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise ErrorReply(rest)
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == "-1" else self.stream.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        return rest
