# The systemd units in deploy/, by systemd's own tools, which need no systemd that runs; starts no service.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_TOOL=FILE units.py [TEST...]"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

from support import DEPLOY
import skipping

UNITS = DEPLOY / "systemd"
LONGEST_S = 60  # ends what hangs; judges no speed


def analyze(*words):
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, timeout=LONGEST_S,
                          check=False)


def settings_of(unit):
    """Each setting's values, in order."""
    found = {}
    for line in (UNITS / unit).read_text(encoding="utf-8").splitlines():
        if line and line[0] not in "#[":
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


class Units(unittest.TestCase):
    def setUp(self):
        if shutil.which("systemd-analyze") is None:
            skipping.skip(self, "systemd-analyze is not installed; scripts/install-deps all installs it")
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.lay_root()

    def lay_root(self):
        """A machine as docs/production.md has it, as far as systemd looks."""
        units = self.root / "etc/systemd/system"
        units.mkdir(parents=True)
        for unit in UNITS.glob("*@.*"):
            shutil.copy(unit, units)
        for program in ("usr/bin/redis-server", "usr/bin/redlock", "etc/redlock/jobs/nightly-report"):
            path = self.root / program
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("#!/bin/sh\n", encoding="utf-8")
            path.chmod(0o755)
        for name in ("network-online", "multi-user", "timers", "sysinit", "basic", "shutdown", "sockets",
                     "paths", "time-set", "time-sync"):
            (units / f"{name}.target").write_text("[Unit]\nDescription=known\n", encoding="utf-8")

    def verify(self, *instances):
        return analyze("verify", "--man=no", f"--root={self.root}",
                       *(str(self.root / "etc/systemd/system" / i) for i in instances))

    def test_systemd_finds_no_fault(self):
        instances = {re.sub(r"@", "@nightly-report", u.name) for u in UNITS.glob("*@.*")}
        self.assertEqual(len(instances), 3)
        got = self.verify(*sorted(instances))
        self.assertEqual((got.returncode, got.stdout + got.stderr), (0, ""))

    def test_the_unit_with_tls(self):
        extra = self.root / "etc/systemd/system/redis-lock@.service.d"
        extra.mkdir()
        shutil.copy(UNITS / "tls.conf", extra)
        got = self.verify("redis-lock@6379.service")
        self.assertEqual((got.returncode, got.stdout + got.stderr), (0, ""))
        plain, (nothing, tls) = (settings_of(u)["ExecStart"] for u in ("redis-lock@.service", "tls.conf"))
        self.assertEqual((nothing, tls.replace("--port 0 --tls-port", "--port")), ("", plain[0]))

    def test_it_finds_one_that_is_there(self):
        path = self.root / "etc/systemd/system/redis-lock@.service"
        path.write_text(path.read_text(encoding="utf-8").replace("Restart=", "Restrat="), encoding="utf-8")
        got = self.verify("redis-lock@6379.service")
        self.assertIn("'Restrat'", got.stdout + got.stderr)

    def test_a_node_is_in_a_sandbox(self):
        got = analyze("security", "--offline=yes", "--threshold=30", str(UNITS / "redis-lock@.service"))
        self.assertEqual(got.returncode, 0, got.stdout[-500:])
        exposure = float(re.search(r"Overall exposure level.*: ([\d.]+)", got.stdout)[1])
        self.assertLessEqual(exposure, 3.0)

    def test_what_the_timer_relies_on(self):
        timer, service = settings_of("redlock-run@.timer"), settings_of("redlock-run@.service")
        self.assertEqual(timer["AccuracySec"], ["1s"])
        self.assertEqual(timer["RandomizedDelaySec"], ["0"])
        self.assertEqual(service["KillMode"], ["mixed"])
        self.assertEqual(service["SuccessExitStatus"], ["120"])
        calendar = analyze("calendar", timer["OnCalendar"][0])
        self.assertEqual(calendar.returncode, 0, calendar.stderr)


class Started(unittest.TestCase):
    """What the units start is what redlock and the server understand."""

    def test_the_job_is_run_under_its_lock(self):
        line = settings_of("redlock-run@.service")["ExecStart"][0]
        (variable,) = settings_of("redlock-run@.service")["Environment"]
        name, _, value = variable.partition("=")
        words = line.replace("${" + name + "}", value).replace("%i", "nightly-report").split()
        self.assertEqual(words[0], "redlock")
        words[0] = os.environ["REDLOCK_TOOL"]
        words[-1] = "/bin/true"
        # No node answers: that is another status than one of wrong usage.
        got = subprocess.run([*words[:2], "--node", "127.0.0.1:1", *words[2:]], capture_output=True, text=True,
                             timeout=LONGEST_S, check=False)
        self.assertEqual(got.returncode, 121, got.stderr)

    def test_a_server_starts_and_says_so(self):
        server = os.environ.get("REDIS_SERVER") or shutil.which("redis-server")
        with tempfile.TemporaryDirectory() as folder, \
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
            heard.bind(os.path.join(folder, "notify"))
            heard.settimeout(LONGEST_S)
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = str(free.getsockname()[1])
            os.makedirs(os.path.join(folder, "redis-lock", port))  # StateDirectory
            line = settings_of("redis-lock@.service")["ExecStart"][0].replace("%i", port)
            words = line.replace("%S", folder).replace("/etc/redlock", str(DEPLOY)).split()
            with subprocess.Popen([server, *words[1:], "--aclfile", str(DEPLOY / "users.acl"),
                                   "--bind", "127.0.0.1"], stdout=subprocess.DEVNULL,
                                  env={**os.environ, "NOTIFY_SOCKET": heard.getsockname()}) as running:
                try:
                    said = ""
                    while "READY=1" not in said:
                        said = heard.recv(4096).decode()
                    with socket.create_connection(("127.0.0.1", int(port)), LONGEST_S) as asking:
                        asking.sendall(b"PING\r\n")
                        self.assertIn(b"-NOAUTH", asking.recv(100))  # default is off
                    running.terminate()
                    self.assertEqual(running.wait(LONGEST_S), 0)
                finally:
                    running.kill()


if __name__ == "__main__":
    unittest.main()
