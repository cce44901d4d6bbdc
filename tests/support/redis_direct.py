# A plain connection to a Redis server, for the tests' own questions; knows no lock.
# SPDX-License-Identifier: MIT
import socket


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
