# Nodes of an ordinary user on hosts of a batch system, each a network namespace, and jobs on others; no scheduler.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_TOOL=FILE REDIS_SERVER=FILE batch.py [TEST...]"""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import blocks_under
import skipping

LONGEST_S = 60  # ends what hangs; judges no speed
NOBODY = "65534"


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False)


class Host:
    """A network namespace with an address of its own, at the bridge in the namespace `switch`."""

    def __init__(self, switch, number):
        self.name, self.address = f"{switch}-{number}", f"10.213.7.{number}"
        port = f"port{number}"
        steps = [("netns", "add", self.name),
                 ("-n", self.name, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", switch),
                 ("-n", switch, "link", "set", port, "master", "bridge", "up"),
                 ("-n", self.name, "address", "add", f"{self.address}/24", "dev", "eth0"),
                 ("-n", self.name, "link", "set", "eth0", "up"),
                 ("-n", self.name, "link", "set", "lo", "up")]
        failed = next((done.stderr for done in (ip(*words) for words in steps) if done.returncode), None)
        if failed:
            self.close()
            raise OSError(failed)

    def start(self, command, **how):
        """As an ordinary user, in a session of its own, as a step of a job is."""
        line = ["ip", "netns", "exec", self.name, "setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups",
                "sh", "-euc", command]
        return subprocess.Popen(line, start_new_session=True, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, **how)

    def close(self):
        ip("netns", "delete", self.name)


class Batch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # In a namespace of its own no rule of the machine's firewall is in its way.
        switch = f"redlock-{os.getpid()}"
        if not shutil.which("ip") or ip("netns", "add", switch).returncode != 0:
            why = "no network namespaces can be made here; root with iproute2 may"
            skipping.say_skipped(why)
            raise unittest.SkipTest(why)
        cls.addClassCleanup(ip, "netns", "delete", switch)
        ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", switch, "link", "set", "bridge", "up")
        cls.hosts = []
        for number in range(1, 6):
            cls.hosts.append(Host(switch, number))
            cls.addClassCleanup(cls.hosts[-1].close)
        cls.folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "bin").mkdir()
        for name, variable in (("redlock", "REDLOCK_TOOL"), ("redis-server", "REDIS_SERVER")):
            shutil.copy(os.environ[variable], cls.folder / "bin" / name)
        serves, file, cls.works = blocks_under("Batch jobs on shared files", "text", "deploys-and-migrations")
        cls.environment = {"PATH": f"{cls.folder / 'bin'}:{os.environ['PATH']}", "HOME": str(cls.folder)}
        (cls.folder / ".config/redlock").mkdir(parents=True)
        (cls.folder / ".config/redlock/password").write_text("of-a-test", encoding="utf-8")
        (cls.folder / ".config/redlock/password").chmod(0o600)
        for name, host in zip(("svc1", "svc2", "svc3"), cls.hosts):
            file = file.replace(name, host.address)
        (cls.folder / ".config/redlock/config.json").write_text(file, encoding="utf-8")
        for host in cls.hosts[:3]:
            (cls.folder / host.address).mkdir()
        for path in (cls.folder, *cls.folder.rglob("*")):
            os.chown(path, int(NOBODY), int(NOBODY))
        for host in cls.hosts[:3]:
            data = str(cls.folder / host.address)
            node = host.start(serves, cwd=cls.folder, env=dict(cls.environment, HOST=host.address, DATA=data))
            cls.addClassCleanup(cls.end, node, signal.SIGTERM)
        # Until the nodes serve.
        first = cls.hosts[3].start("exec redlock run --wait 60s first -- true", cwd=cls.folder, env=cls.environment)
        out, _ = first.communicate(timeout=LONGEST_S)
        assert first.returncode == 0, out

    @staticmethod
    def end(process, with_signal):
        if process.poll() is None:
            os.killpg(process.pid, with_signal)
        process.communicate(timeout=LONGEST_S)

    def job(self, host, command, waits="--wait 10m"):
        line = self.works.replace("srun ", "exec ").replace("--wait 10m", waits).replace("./merge", f"sh -euc '{command}'")
        job = self.hosts[host].start(line, cwd=self.folder, env=self.environment)
        self.addCleanup(self.end, job, signal.SIGKILL)
        return job

    def said(self, job):
        out, _ = job.communicate(timeout=LONGEST_S)
        return job.returncode, out

    def await_file(self, name):
        end = time.monotonic() + LONGEST_S
        while not (self.folder / name).exists():
            self.assertLess(time.monotonic(), end, f"no job has made {name}")
            time.sleep(0.01)

    def test_1_jobs_on_two_hosts_change_a_shared_file_one_at_a_time(self):
        (self.folder / "count").write_text("0")
        (self.folder / "count").chmod(0o666)
        add = "n=$(cat count); sleep 0.02; echo $((n + 1)) >count"
        jobs = [self.job(host, add) for host in (3, 4, 3, 4, 3, 4)]
        for job in jobs:
            self.assertEqual(self.said(job), (0, ""))
        self.assertEqual((self.folder / "count").read_text(), "6\n")

    def test_2_a_job_at_its_time_limit_gives_the_lock_back(self):
        job = self.job(3, "touch works; sleep 1000")
        self.await_file("works")
        os.killpg(job.pid, signal.SIGTERM)
        self.assertEqual(self.said(job)[0], 128 + signal.SIGTERM)
        self.assertEqual(self.said(self.job(4, "true", waits="")), (0, ""))

    def test_3_the_lock_of_a_host_that_died_goes_with_its_ttl(self):
        job = self.job(3, "touch dies; sleep 1000")
        self.await_file("dies")
        os.killpg(job.pid, signal.SIGKILL)
        self.assertEqual(self.said(self.job(4, "true")), (0, ""))


if __name__ == "__main__":
    unittest.main()
