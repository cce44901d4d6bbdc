# The programs that contend, as processes and in a container, and what they wrote; knows no node.
# SPDX-License-Identifier: MIT
import ctypes
import json
import os
import signal
import subprocess

from facts import PATIENCE_S, Failure, wait_for

TTL_MAX_MS = 3000
# For a whole handshake, which on a busy machine takes far longer than the default of half a second:
# then no try would ever succeed, and no node vote.
CONNECT_TIMEOUT_MS = 2500


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


# A worker hears nothing before it can listen: what it is told until then waits.
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

    def __init__(self, binary, number, ports, folder, contenders=4):
        name = f"w{number}"
        history = os.path.join(folder, f"{name}.history")
        super().__init__(name, [binary, "worker", name, history, str(number),
                                str(contenders), "1", str(TTL_MAX_MS),
                                str(CONNECT_TIMEOUT_MS), *map(str, ports)], folder, become_worker)

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


def longest_gap(events, begin, end):
    """The longest time, between two instants, in which a free resource was not to be had."""
    grants = [e["at"] for e in events if e["event"] == "watch" and e["granted"]]
    return max((later - earlier for earlier, later in zip(grants, grants[1:])
                if later >= begin and earlier <= end), default=0)
