# deploy/docker-compose.yml brought up with an image of the server that is installed here; knows no fault.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_TOOL=FILE compose.py [TEST...]

The file's own image comes from a registry, which a test can't rely on. Where no Docker engine answers the
test says that it is skipped.
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import time
import unittest

from support import DEPLOY, commands_under
import cluster
import image
import skipping

LONGEST_S = 120  # ends what hangs; judges no speed
NODES = ("lock-1", "lock-2", "lock-3")


class Compose(unittest.TestCase):
    def setUp(self):
        why = cluster.why_no_engine()
        if why:
            skipping.skip(self, why)
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.project = f"redlock-deploy-{os.getpid()}"
        for name in ("docker-compose.yml", "redis.conf", "users.acl"):
            shutil.copy(DEPLOY / name, self.folder)
        subprocess.run(["bash", "-euc", commands_under("2. Users and passwords")], cwd=self.folder, check=True,
                       timeout=LONGEST_S)
        image.build(self.project, {"/usr/bin/redis-server": shutil.which("redis-server")}, self.folder / "image")
        self.addCleanup(cluster.docker, "image", "rm", "--force", self.project, check=False)
        self.env = {**os.environ, "REDLOCK_REDIS_IMAGE": self.project}
        self.addCleanup(self.compose, "down", "--volumes", "--timeout", "0")
        self.up_on_free_ports()
        self.config = self.folder / "config.json"
        self.config.write_text(json.dumps({
            "key_prefix": "lock:", "connect_timeout_ms": 10000, "node_timeout_ms": 10000,
            "nodes": [{"name": name, "host": "127.0.0.1", "port": port, "username": "operator",
                       "password_file": "operator.password"}
                      for name, port in zip(NODES, self.ports)]}), encoding="utf-8")

    def compose(self, *words):
        return subprocess.run([*cluster.compose_words(), "--project-name", self.project, *words],
                              cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=LONGEST_S,
                              check=False)

    # Below the range from which the system takes ports for outgoing connections.
    def up_on_free_ports(self):
        for _ in range(5):
            first = random.randrange(10000, 32000)
            self.ports = range(first, first + len(NODES))
            if not all(map(cluster.is_free, self.ports)):
                continue
            self.env.update({f"REDLOCK_PORT_{i + 1}": str(p) for i, p in enumerate(self.ports)})
            done = self.compose("-f", "docker-compose.yml", "up", "-d")
            if done.returncode == 0:
                return
            self.compose("down", "--volumes", "--timeout", "0")
        self.fail(f"docker-compose up: {done.stderr}")

    def redlock(self, *words):
        return subprocess.run([os.environ["REDLOCK_TOOL"], words[0], "--config", str(self.config), *words[1:]],
                              capture_output=True, text=True, timeout=LONGEST_S, check=False)

    def until(self, condition, what):
        end = time.monotonic() + LONGEST_S
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)

    def is_healthy(self):
        return self.redlock("doctor").returncode == 0

    def test_three_nodes_come_up_and_keep_what_they_answered(self):
        self.until(lambda: self.redlock("init", "--yes").returncode == 0, "the nodes take it")
        self.assertEqual(self.redlock("run", "r", "--", "true").returncode, 0)
        self.until(self.is_healthy, self.redlock("doctor").stdout)
        # Containers that are made again have the data of the earlier ones: they vote at once.
        held = subprocess.Popen([os.environ["REDLOCK_TOOL"], "run", "--config", str(self.config), "--ttl", "30s",
                                 "held", "--", "sh", "-c", "read line"], stdin=subprocess.PIPE)
        self.addCleanup(held.kill)
        self.until(lambda: "is held by" in self.redlock("inspect", "held").stdout, "the lock is held")
        done = self.compose("up", "-d", "--force-recreate")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.until(self.is_healthy, self.redlock("doctor").stdout)
        self.assertIn("is held by", self.redlock("inspect", "held").stdout)
        self.assertIsNone(held.poll())
        held.communicate(b"\n", timeout=LONGEST_S)
        self.assertEqual(held.returncode, 0)


if __name__ == "__main__":
    unittest.main()
