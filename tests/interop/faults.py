# Does the same harm to redlock and to redsync on real masters, and sets what each did side by side.
# SPDX-License-Identifier: MIT
"""usage: faults.py CLIENT MODULE FOLDER

CLIENT is the program of client.cpp; the one on redsync is built in FOLDER from the Go module MODULE.
Prints a table. Exit status: 0 redlock kept its promises, 1 it did not; redsync only stands beside it,
and its columns are missing where there is no Go, or its modules are out of reach.
"""
import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from meet import LONG_MS, build_redsync, eventually
from parties import Told
from redis_direct import Direct, ErrorReply

NODES = 5
TTL_MS = 5_000
TURNS = 7
RESOURCE = "faults"
SECOND_HOLDER = "a second holder"


def free_port():
    """Above those that the system gives away, and of no other test: free after a restart, too."""
    while True:
        port = random.randrange(63200, 65500)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return str(port)


class Master:
    """One server without any file: what restarts has forgotten all."""

    def __init__(self, folder):
        self.port = free_port()
        self.folder = folder
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", "",
             "--appendonly", "no", "--dir", self.folder, "--logfile", "log-" + self.port])
        eventually(lambda: self.ask("PING") == "PONG", f"the server at {self.port} does not answer")

    def ask(self, *words):
        with contextlib.suppress(OSError, ErrorReply), Direct(self.port) as node:
            return node.ask(*words)
        return ""

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.kill()
        self.start()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)


class Scene:
    """Masters of its own, and programs that lock there."""

    def __init__(self, folder, program):
        self.masters = [Master(folder) for _ in range(NODES)]
        self.program = program
        self.started = []

    def join(self):
        ports = [master.port for master in self.masters]
        self.started.append(self.program(ports))
        return self.started[-1]

    def end(self):
        for one in self.started:
            one.kill()
        for master in self.masters:
            master.kill()


def timed(what):
    began = time.monotonic()
    answer = what()
    return answer, 1e3 * (time.monotonic() - began)


def at_home(scene):
    """One that has had the lock before, so that it knows the masters."""
    one = scene.join()
    assert one.take(TTL_MS, LONG_MS).startswith("yes")
    one.release()
    return one


def turns(harm, scene):
    """The middle of some takes after the harm, and whether all were granted."""
    us = at_home(scene)
    harm(scene.masters)
    taken = []
    for _ in range(TURNS):
        answer, took = timed(lambda: us.take(TTL_MS))
        if not answer.startswith("yes"):
            return f"refused after {took:.0f} ms", False
        taken.append(took)
        us.release()
    return f"{statistics.median(taken):.1f} ms, the longest {max(taken):.0f} ms", True


def second_holder(harm, scene):
    """Whether another program gets the lock while the first relies on it."""
    us = at_home(scene)
    harm(scene.masters, lambda: us.take(4 * TTL_MS, LONG_MS))
    others = scene.join().take(TTL_MS).startswith("yes")
    return (SECOND_HOLDER if others else "refused"), not others


def nothing(_):
    pass


def dead(count):
    return lambda masters: [master.kill() for master in masters[:count]]


def hung(count):
    return lambda masters: [master.freeze() for master in masters[:count]]


def forgotten_vote(masters, take):
    """The three that voted are two and one that forgot; the other two come back."""
    for master in masters[3:]:
        master.kill()
    assert take().startswith("yes")
    for master in masters[3:]:
        master.start()
    masters[2].restart()


def flushed(masters, take):
    assert take().startswith("yes")
    for master in masters[:3]:
        master.ask("FLUSHALL")


# What redlock has to show: whether every take is granted, or nobody is let in beside the holder.
ROWS = (
    ("nothing", turns, nothing, True),
    ("one of five dead", turns, dead(1), True),
    ("two of five dead", turns, dead(2), True),
    ("one of five hung", turns, hung(1), True),
    ("two of five hung", turns, hung(2), True),
    ("three of five dead", turns, dead(3), False),
    ("three of five hung", turns, hung(3), False),
    ("under a holder, a node that voted restarts empty, two that had not come back",
     second_holder, forgotten_vote, True),
    ("under a holder, three of five are flushed", second_holder, flushed, True),
)


def tried(program, folder, row):
    """What it did, and whether that is what redlock has to show."""
    _, kind, harm, wanted = row
    scene = Scene(folder, program)
    try:
        said, good = kind(harm, scene)
        return said, good == wanted
    except AssertionError:
        return "no lock while all was well", False
    finally:
        scene.end()


def tried_fairly(tries, folder, row):
    """What is wrong counts in all of the tries: with the default time-outs, which the table is
    about, a moment's stall of this machine is a refusal. It never is a second holder."""
    for program in tries:
        result = tried(program, folder, row)
        if result[1] or result[0] == SECOND_HOLDER:
            break
        print(f"{row[0]}: {result[0]}", file=sys.stderr, flush=True)
    return result


def redlock_at(client, folder, **settings):
    def start(ports):
        config = pathlib.Path(folder, "config.json")
        nodes = ["redis://127.0.0.1:" + port for port in ports]
        config.write_text(json.dumps({"nodes": nodes, **settings}), encoding="utf-8")
        return Told(client, config, RESOURCE)
    return start


def main():
    client, module, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        # The last try is for a machine that is busy all the time.
        programs = {"redlock": [redlock_at(client, folder)] * 2 +
                               [redlock_at(client, folder, node_timeout_ms=2000)]}
        os.makedirs(build, exist_ok=True)
        with contextlib.suppress(SystemExit):
            told = build_redsync(module, build)
            programs["redsync"] = [lambda ports: Told(told, RESOURCE, *ports)]
            programs["redsync, fail-fast"] = [lambda ports: Told(told, "--fail-fast", RESOURCE, *ports)]
        print("| fault | " + " | ".join(programs) + " |\n|" + "---|" * (1 + len(programs)))
        broken = []
        for row in ROWS:
            results = {name: tried_fairly(tries, folder, row) for name, tries in programs.items()}
            print(f"| {row[0]} | " + " | ".join(said for said, _ in results.values()) + " |",
                  flush=True)
            if not results["redlock"][1]:
                broken.append(row[0])
    for name in broken:
        print("WRONG:", name)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
