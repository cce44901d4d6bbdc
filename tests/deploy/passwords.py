# What docs/production.md says of users.acl, done: passwords, other prefixes, Redis 6.0; knows no right.
# SPDX-License-Identifier: MIT
"""usage: REDIS_SERVER=FILE REDLOCK_TOOL=FILE passwords.py [TEST...]"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from support import DEPLOY, PROJECT, commands_under

LONGEST_S = 60  # ends what hangs; judges no speed
SERVER = os.environ.get("REDIS_SERVER") or shutil.which("redis-server")


class Passwords(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(DEPLOY / "users.acl", self.folder)

    def shell(self, text):
        subprocess.run(["bash", "-euc", text], cwd=self.folder, check=True, timeout=LONGEST_S)

    def start_server(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        running = subprocess.Popen(
            [SERVER, str(DEPLOY / "redis.conf"), "--port", str(self.port), "--bind", "127.0.0.1",
             "--dir", str(self.folder), "--aclfile", str(self.folder / "users.acl"), "--loglevel", "warning"])
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        end = time.monotonic() + LONGEST_S
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port)).close()
            except ConnectionRefusedError:
                self.assertIsNone(running.poll(), f"{SERVER} ended: its words are above")
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)

    def redlock(self, user, prefix, *words):
        config = self.folder / f"{user}.json"
        config.write_text(json.dumps({"key_prefix": prefix, "connect_timeout_ms": 10000,
                                      "node_timeout_ms": 10000, "nodes": [
            {"host": "127.0.0.1", "port": self.port, "username": user,
             "password_file": f"{user}.password"}]}), encoding="utf-8")
        return subprocess.run([os.environ["REDLOCK_TOOL"], words[0], "--config", str(config), *words[1:]],
                              capture_output=True, text=True, timeout=LONGEST_S, check=False)

    def expect_users(self, prefix):
        for user, words, status in (("operator", ("init", "--yes"), 0),
                                    ("program", ("run", "r", "--", "true"), 0),
                                    ("reader", ("inspect", "r"), 0),
                                    ("reader", ("run", "r", "--", "true"), 121),
                                    ("operator", ("doctor",), 1)):  # it warns of a set of one
            got = self.redlock(user, prefix, *words)
            self.assertEqual(got.returncode, status, (user, words, got.stdout, got.stderr))

    def sed_for(self, what):
        text = (PROJECT / "docs" / "production.md").read_text(encoding="utf-8")
        found = [c for c in re.findall(r"`(sed -i '[^']*' users\.acl)`", text) if what in c]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_each_user_gets_one(self):
        self.shell(commands_under("2. Users and passwords"))
        for user in ("program", "reader", "operator"):
            path = self.folder / f"{user}.password"
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            self.assertNotIn(path.read_text().strip(), (self.folder / "users.acl").read_text())
        self.start_server()
        self.expect_users("lock:")

    def test_another_prefix(self):
        self.shell(commands_under("2. Users and passwords") + self.sed_for("jobs:"))
        self.start_server()
        self.expect_users("jobs:")
        self.assertEqual(self.redlock("program", "lock:", "run", "r", "--", "true").returncode, 121)

    def test_no_prefix(self):
        self.shell(commands_under("2. Users and passwords") + self.sed_for("lock:redlock"))
        self.start_server()
        self.expect_users("")

    def test_a_server_without_rights_to_channels(self):
        """The words are gone; that Redis 6.0 takes the file is shown by the tests of the servers."""
        self.shell(self.sed_for("resetchannels"))
        self.assertNotRegex((self.folder / "users.acl").read_text(), r"channels|&")


if __name__ == "__main__":
    unittest.main()
