# The programs that contend, as processes and in a container, and what they wrote; knows no node.
# SPDX-License-Identifier: MIT
import ctypes
import json
import os
import signal
import subprocess
import threading

from facts import PATIENCE_S, Failure, now_ns, wait_for

TTL_MAX_MS = int(os.environ.get("REDLOCK_FAILOVER_TTL_MAX_MS", "3000"))
# For a whole handshake, which on a busy machine takes far longer than the default of half a second:
# then no try would ever succeed, and no node vote.
CONNECT_TIMEOUT_MS = 2500


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


# A worker can't listen at once: signals that come before it does wait.
def become_worker():
    die_with_parent()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM})


class Program:
    def __init__(self, name, words, folder, prepare):
        self.name = name
        self.history = os.path.join(folder, f"{name}.history")
        self.out = os.path.join(folder, f"{name}.out")
        self.errors = os.path.join(folder, f"{name}.errors")
        self.is_killed = False
        with open(self.out, "wb") as out, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(words, stdout=out, stderr=errors, preexec_fn=prepare,
                                            stdin=subprocess.DEVNULL)

    def kill(self):
        """SIGKILL. What it held ends by itself."""
        self.is_killed = True
        self.process.kill()
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        if self.is_killed or self.process.poll() == 0:
            return
        self.process.terminate()
        try:
            status = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired as late:
            raise Failure(f"{self.name} did not end within {PATIENCE_S} s") from late
        if status != 0:
            with open(self.errors, encoding="utf-8") as file:
                raise Failure(f"{self.name} ended with status {status}: {file.read().strip()}")

    def destroy(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def lines(self):
        """Of its history, as words."""
        try:
            with open(self.history, encoding="utf-8") as file:
                # What comes after the last end of a line is being written.
                return [line.split(" ", 11) for line in file.read().split("\n")[:-1]]
        except FileNotFoundError:
            return []


class Worker(Program):
    """Contends for a handful of resources in every way the client offers."""

    def __init__(self, binary, number, nodes, folder, contenders=4):
        """`nodes`: their ports, or a list's file alone."""
        name = f"w{number}"
        history = os.path.join(folder, f"{name}.history")
        super().__init__(name, [binary, "worker", name, history, str(number),
                                str(contenders), "1", str(TTL_MAX_MS),
                                str(CONNECT_TIMEOUT_MS), *map(str, nodes)], folder, become_worker)

    def rest(self):
        if not self.is_killed:
            self.process.send_signal(signal.SIGUSR1)

    def is_quiet(self):
        if self.process.poll() is not None and not self.is_killed:
            raise Failure(f"{self.name} ended by itself, status {self.process.returncode}")
        return self.is_killed or any(line[0] == "Q" for line in self.lines())


class Client(Program):
    """Holds one lease, or watches the votes, and tells of it."""

    def __init__(self, binary, role, name, resource, nodes, folder, ttl_ms=1000, margin_ms=200,
                 container=None):
        history = os.path.join(folder, f"{name}.history")
        words = [role, name, resource, str(ttl_ms), str(margin_ms), str(TTL_MAX_MS),
                 str(CONNECT_TIMEOUT_MS), history, *nodes]
        self.margin_ms = margin_ms
        self.events_read = []
        self.offset = 0
        super().__init__(name, [*(container or [binary]), *words], folder, die_with_parent)

    def events(self, kind=None):
        with open(self.out, encoding="utf-8") as file:
            file.seek(self.offset)
            while True:
                line = file.readline()
                if not line.endswith("\n"):
                    break
                self.offset = file.tell()
                self.events_read.append(json.loads(line))
        return [e for e in self.events_read if kind in (None, e["event"])]

    def holds(self):
        told = [e["event"] for e in self.events() if e["event"] != "refused"]
        return bool(told) and told[-1] == "granted"

    def wait_for_lease(self):
        return wait_for(f"{self.name} has the lease", self.holds)

    def wait_for_refusal(self):
        wait_for(f"{self.name} is refused", lambda: self.events("refused"))


class Command(Program):
    """One `redlock run` of a command that runs until a signal ends it."""

    FOREVER_MS = 3_600_000
    TTL_MS = 3000  # so that it has to renew while the list changes

    def __init__(self, redlock, inside, name, resource, list_file, folder):
        history = os.path.join(folder, f"{name}.history")
        super().__init__(name, [redlock, "run", "--config", list_file, "--ttl", f"{self.TTL_MS}ms",
                                "--wait", f"{PATIENCE_S}s", "--json", resource, "--",
                                inside, "inside", name, history, "1", str(self.FOREVER_MS)],
                         folder, die_with_parent)

    def events(self):
        with open(self.errors, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.startswith("{")]

    def longest_sleep(self):
        """The longest time in ns in which its command did not run, which writes every 20 ms."""
        times = [int(line[7]) for line in self.lines()]
        return max((later - earlier for earlier, later in zip(times, times[1:])), default=0)

    def holds(self):
        """Whether its command wrote within the last second that it runs."""
        lines = self.lines()
        return (self.process.poll() is None and bool(lines) and lines[-1][0] in "GS"
                and int(lines[-1][7]) > now_ns() - 1_000_000_000)


class Loop:
    """Runs `redlock run` again and again, each time with the list that it was given last."""

    def __init__(self, redlock, inside, name, resource, folder):
        self.name, self.is_killed = name, False
        self.history = os.path.join(folder, f"{name}.history")
        self.words = [redlock, "run", "--wait", "30s"]
        self.command = [resource, "--", inside, "inside", name, self.history]
        self.list_file = self.process = self.thread = None
        self.is_over = threading.Event()
        self.runs = []  # of each: the list, the status, the standard error

    def give(self, list_file):
        """Returns when a run with this list is over."""
        self.list_file = list_file
        if not self.thread:
            self.thread = threading.Thread(target=self.work, daemon=True)
            self.thread.start()
        wait_for(f"{self.name} ran with {os.path.basename(list_file)}",
                 lambda: any(one[0] == list_file for one in self.runs))

    def work(self):
        while not self.is_over.is_set():
            list_file, section = self.list_file, str(len(self.runs) + 1)
            self.process = subprocess.Popen(
                [*self.words, "--config", list_file, *self.command, section, "20"], text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                preexec_fn=die_with_parent)
            said = self.process.communicate()[1]
            self.runs.append((list_file, self.process.returncode, said.strip()))

    def end(self):
        self.is_over.set()
        if self.thread:
            self.thread.join(PATIENCE_S)

    def destroy(self):
        self.is_over.set()
        if self.thread and self.thread.is_alive():
            self.process.terminate()
            self.thread.join(PATIENCE_S)


def longest_gap(events, begin, end):
    """The longest time, between two instants, in which a free resource was not to be had."""
    grants = [e["at"] for e in events if e["event"] == "watch" and e["granted"]]
    return max((later - earlier for earlier, later in zip(grants, grants[1:])
                if later >= begin and earlier <= end), default=0)
