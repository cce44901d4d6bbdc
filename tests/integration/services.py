# Redlock as systemd starts it, with sockets and a place for its messages: CMD gets them; from outside.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_TOOL=FILE services.py [TEST...]

Nothing here needs a systemd that runs: a shell, and systemd-socket-activate where it is installed,
start redlock with the variables of sd_listen_fds(3), and a socket of the test's reads the messages.
"""
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import skipping

LONGEST_S = 60  # ends what hangs; judges no speed
TOOL = os.environ["REDLOCK_TOOL"]

# What a service does that is started by its socket: as sd_listen_fds(3), then one connection.
SERVICE = """
import os, socket
if os.environ["LISTEN_PID"] != str(os.getpid()):
    raise SystemExit("the sockets are of " + os.environ["LISTEN_PID"])
assert os.environ["LISTEN_FDS"] == "1" and "LISTEN_PIDFDID" not in os.environ
connection, _ = socket.socket(fileno=3).accept()
connection.sendall(b"under " + os.environ["REDLOCK_RESOURCE"].encode())
"""
# As sd_notify(3).
MESSAGE = """
import os, socket
name = os.environ["NOTIFY_SOCKET"]
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(
    b"READY=1\\nSTATUS=works", "\\0" + name[1:] if name[0] == "@" else name)
"""


def run(resource, program, *options):
    return [TOOL, "run", *options, resource, "--", sys.executable, "-c", program]


def answer_of(address):
    """What a service says to one connection."""
    with socket.create_connection(address, LONGEST_S) as connection:
        connection.settimeout(LONGEST_S)
        return connection.makefile("rb").read()


class Sockets(unittest.TestCase):
    def expect_service(self, words, address, **more):
        with subprocess.Popen(words, **more) as running:
            try:
                self.assertEqual(answer_of(address), b"under " + self.id().encode())
                self.assertEqual(running.wait(LONGEST_S), 0)
            finally:
                running.kill()

    def test_a_listening_socket_goes_to_cmd(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            moved = os.dup2(listening.fileno(), 3 if listening.fileno() != 3 else 3)
            def place():
                os.dup2(listening.fileno(), 3)
                os.set_inheritable(3, True)
            line = "LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_PIDFDID=1 exec \"$@\""
            self.expect_service(["sh", "-c", line, "sh", *run(self.id(), SERVICE)],
                                listening.getsockname(), preexec_fn=place, close_fds=False)

    def test_systemd_passes_one(self):
        activate = shutil.which("systemd-socket-activate")
        if activate is None:
            skipping.skip(self, "systemd-socket-activate is not installed; "
                                "scripts/install-deps all installs it")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        words = [activate, "--listen", f"127.0.0.1:{port}", "-E", "REDLOCK_CONFIG",
                 *run(self.id(), SERVICE)]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as running:
            try:
                self.assertIn("Listening", running.stderr.readline())
                self.assertEqual(answer_of(("127.0.0.1", port)), b"under " + self.id().encode())
                self.assertEqual(running.wait(LONGEST_S), 0)
            finally:
                running.kill()

    def test_those_of_another_process_stay_its_own(self):
        look = "import os; raise SystemExit(os.environ['LISTEN_PID'] != '1')"
        words = run(self.id(), look)
        self.assertEqual(subprocess.run(words, check=False, timeout=LONGEST_S,
                                        env={**os.environ, "LISTEN_PID": "1"}).returncode, 0)

    def test_the_watchdog_of_systemd_is_of_cmd(self):
        look = "import os; raise SystemExit(os.environ['WATCHDOG_PID'] != str(os.getpid()))"
        line = "WATCHDOG_PID=$$ WATCHDOG_USEC=30000000 exec \"$@\""
        words = ["sh", "-c", line, "sh", *run(self.id(), look)]
        self.assertEqual(subprocess.run(words, check=False, timeout=LONGEST_S).returncode, 0)


class Messages(unittest.TestCase):
    def sender_of(self, *options):
        """The process by which systemd judges a message, and redlock's."""
        with tempfile.TemporaryDirectory() as folder, \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
            path = os.path.join(folder, "notify")
            heard.bind(path)
            heard.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            heard.settimeout(LONGEST_S)
            with subprocess.Popen(run(self.id(), MESSAGE, *options),
                                  env={**os.environ, "NOTIFY_SOCKET": path}) as running:
                text, extra, _, _ = heard.recvmsg(4096, socket.CMSG_SPACE(struct.calcsize("3i")))
                self.assertEqual(text, b"READY=1\nSTATUS=works")
                self.assertEqual(running.wait(LONGEST_S), 0)
                return struct.unpack("3i", extra[0][2])[0], running.pid

    def test_they_reach_systemd_from_cmd(self):
        for options in ([], ["--watchdog", "30s"]):
            sender, redlock = self.sender_of(*options)
            self.assertNotEqual(sender, redlock)  # so the unit needs NotifyAccess=all


if __name__ == "__main__":
    unittest.main()
