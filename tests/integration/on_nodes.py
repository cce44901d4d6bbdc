# What tests of the command on real nodes begin with: calls of it, and lists of nodes of their own.
# SPDX-License-Identifier: MIT
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

LONGEST_S = 60  # ends what hangs; judges no speed
TOOL = os.environ["REDLOCK_TOOL"]
CONFIG = os.environ["REDLOCK_CONFIG"]
QUICK = {"ttl_max_ms": 2000, "node_timeout_ms": 5000, "connect_timeout_ms": 10000}


@contextlib.contextmanager
def running(*words, until):
    """The command in the background, once it has written `until`; ended in the end."""
    with subprocess.Popen([TOOL, *words], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        try:
            for line in process.stderr:
                if until in line.decode():
                    break
            yield process
        finally:
            process.kill()


def call(*words, stdin=None):
    return subprocess.run([TOOL, *words], input=stdin, capture_output=True, text=True,
                          timeout=LONGEST_S, check=False)


class OnNodes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.resource = self.id()
        self.prefix = self.id() + ":"  # the nodes of one prefix are of one list
        # Nobody listens there.
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.nobody = taken.getsockname()[1]

    def expect(self, status, *words, stdin=None):
        got = call(*words, stdin=stdin)
        self.assertEqual(got.returncode, status, (words, got.stdout, got.stderr))
        return got.stdout

    def until(self, text, process, *words):
        """Calls the command until it shows the text, while the process runs."""
        end = time.monotonic() + LONGEST_S
        while text not in (seen := self.expect(0, *words)):
            self.assertIsNone(process.poll(), f"it ended, and {words} shows no {text!r}: {seen!r}")
            if time.monotonic() > end:
                process.kill()
                self.fail(f"{words} shows no {text!r} after {LONGEST_S} s: {seen!r}")

    def dead(self, command, *words, stdin=None):
        self.expect(121, command, "--node", f"127.0.0.1:{self.nobody}", *words, stdin=stdin)

    def token(self):
        return self.expect(0, "acquire", self.resource)

    def signalled(self, *words, until, number=signal.SIGTERM):
        with running(*words, until=until) as process:
            process.send_signal(number)
            self.assertEqual(process.wait(LONGEST_S), 128 + number)

    def list_of(self, *nodes, **more):
        """A configuration of its own set: (place in REDLOCK_CONFIG, or None for a dead one; change)."""
        known = json.loads(pathlib.Path(CONFIG).read_text(encoding="utf-8"))["nodes"]
        named = []
        for place, change in nodes:
            port = self.nobody if place is None else int(known[place].rpartition(":")[2])
            named.append({"host": "127.0.0.1", "port": port, **({"change": change} if change else {})})
        path = pathlib.Path(self.folder) / f"{len(os.listdir(self.folder))}.json"
        path.write_text(json.dumps({**QUICK, "key_prefix": self.prefix, "nodes": named, **more}),
                        encoding="utf-8")
        return str(path)

    def changing(self, *joining, others=None):
        """Two nodes, with which a program has worked, and a joint list."""
        old = self.list_of((0, None), (1, None))
        self.expect(0, "run", "--config", old, "r", "--", "true")
        return old, self.list_of((0, others), (1, others), *((node, "joining") for node in joining))
