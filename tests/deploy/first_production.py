# What docs/production.md says, done on this machine: three servers with its files, over TLS; knows no systemd.
# SPDX-License-Identifier: MIT
"""usage: REDIS_SERVER=FILE REDLOCK_TOOL=FILE first_production.py [TEST...]"""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from support import DEPLOY, blocks_under, commands_under
import skipping

LONGEST_S = 60  # ends what hangs; judges no speed
SERVER = os.environ.get("REDIS_SERVER") or shutil.which("redis-server")
NODES = ("lock-1", "lock-2", "lock-3")


def of_page(heading, language="bash"):
    return blocks_under(heading, language)


class FirstProduction(unittest.TestCase):
    def setUp(self):
        if shutil.which("openssl") is None:
            skipping.skip(self, "openssl is not installed; scripts/install-deps installs it")
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("redis.conf", "users.acl"):
            shutil.copy(DEPLOY / name, self.folder)
        self.ports = {}

    def shell(self, text):
        subprocess.run(["bash", "-euc", text], cwd=self.folder, check=True, capture_output=True, timeout=LONGEST_S)

    def words(self, command, config, *rest):
        return [os.environ["REDLOCK_TOOL"], command, "--config", str(self.folder / config), *rest]

    def redlock(self, command, config, *rest):
        return subprocess.run(self.words(command, config, *rest), capture_output=True, text=True,
                              timeout=LONGEST_S, check=False)

    def write_configurations(self):
        """As step 4 says; the names of the machines lead to this one."""
        (text,) = of_page("4. The configuration of programs", "json")
        for node in NODES:
            with socket.create_server(("127.0.0.1", 0)) as free:
                self.ports[node] = free.getsockname()[1]
            text = text.replace(f'"host": "{node}.example.net"',
                                f'"host": "127.0.0.1", "port": {self.ports[node]}')
            line = next(line for line in text.splitlines() if f'"{node}"' in line)
            text = text.replace(line, line.replace('"tls": {', f'"tls": {{"server_name": "{node}.example.net", '))
        (self.folder / "config.json").write_text(text.replace(
            "{", '{"connect_timeout_ms": 10000, "node_timeout_ms": 10000, ', 1), encoding="utf-8")
        (commands,) = of_page("4. The configuration of programs")
        self.shell(commands)

    def start_servers(self):
        """As redis-lock@.service with tls.conf does, each with an /etc/redlock of its own."""
        line = [line for line in (DEPLOY / "systemd" / "tls.conf").read_text(encoding="utf-8").splitlines()
                if line.startswith("ExecStart=/")][0]
        for node, port in self.ports.items():
            etc = self.folder / node
            etc.mkdir()
            for name in ("users.acl", "ca.pem"):
                shutil.copy(self.folder / name, etc)
            for kind in ("pem", "key"):
                shutil.copy(self.folder / f"{node}.{kind}", etc / f"node.{kind}")
            (etc / "redis.conf").write_text((self.folder / "redis.conf").read_text(encoding="utf-8").replace(
                "/etc/redlock", str(etc)), encoding="utf-8")
            (etc / "redis-lock" / str(port)).mkdir(parents=True)  # StateDirectory
            words = line.replace("/etc/redlock", str(etc)).replace("%S", str(etc)).replace("%i", str(port)).split()
            words = words[1:words.index("--supervised")]
            running = subprocess.Popen([SERVER, *words, "--bind", "127.0.0.1", "--loglevel", "warning"])
            self.addCleanup(running.wait)
            self.addCleanup(running.kill)

    def until(self, condition):
        end = time.monotonic() + LONGEST_S
        while not (got := condition()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        return got

    def doctor_is_green(self, config):
        got = self.redlock("doctor", config)
        return got.stdout if got.returncode == 0 else ""

    def test_from_nothing_to_a_first_job(self):
        self.shell(commands_under("2. Users and passwords"))
        (certificates,) = of_page("3. Certificates")
        self.shell(certificates)
        for node in NODES:
            self.shell(f"openssl verify -CAfile ca.pem {node}.pem")
        self.write_configurations()
        got = self.redlock("doctor", "operator.json")
        self.assertEqual(got.returncode, 2)
        self.assertIn("lock-1: unreachable", got.stdout)
        self.assertNotIn(": configuration:", got.stdout)

        self.start_servers()
        self.until(lambda: "unreachable" not in self.redlock("doctor", "operator.json").stdout)
        self.until(lambda: self.redlock("init", "operator.json", "--yes").returncode == 0)
        said = self.until(lambda: self.doctor_is_green("operator.json"))
        self.assertIn("3 nodes are healthy, and all of them vote", said)
        self.until(lambda: self.doctor_is_green("config.json"))

        first = subprocess.Popen(self.words("run", "config.json", "first-job", "--", "sh", "-c", "echo; read line"),
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(first.kill)
        first.stdout.readline()
        self.assertEqual(self.redlock("run", "config.json", "first-job", "--", "true").returncode, 120)
        self.assertIn("is held by", self.redlock("inspect", "config.json", "first-job").stdout)
        first.communicate(b"\n", timeout=LONGEST_S)
        self.assertEqual(first.returncode, 0)
        self.assertEqual(self.redlock("run", "config.json", "first-job", "--", "true").returncode, 0)


if __name__ == "__main__":
    unittest.main()
