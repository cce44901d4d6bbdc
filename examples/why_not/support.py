# Servers and a verdict for the programs of this folder; takes no lock itself.
# SPDX-License-Identifier: MIT
"""Needs redis-server, redis-cli and the command redlock, in the path or named by REDLOCK_TOOL."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 15
HELD_BY_ANOTHER, NO_QUORUM, NOT_HELD = 120, 121, 123  # exit statuses of the command


class Failed(Exception):
    """Nothing was shown: a server does not start, say."""


def redlock(nodes, *words, **how):
    """Runs the command; its status and what it printed."""
    tool = os.environ.get("REDLOCK_TOOL", "redlock")
    done = subprocess.run([tool, words[0], "--config", nodes.config, *words[1:]], text=True,
                          capture_output=True, timeout=PATIENCE_S, **how)
    if done.returncode not in (0, HELD_BY_ANOTHER, NO_QUORUM, NOT_HELD):
        raise Failed(f"redlock {' '.join(words)}: status {done.returncode}: {done.stderr}")
    return done.returncode, done.stdout


def acquire(nodes, ttl, **how):
    """The fence of a lease of "stock", or None where the command says that another holds it."""
    status, printed = redlock(nodes, "acquire", "--json", "--ttl", ttl, "stock", **how)
    return json.loads(printed)["fence"] if status == 0 else None


class Server:
    """A Redis master on a free port of 127.0.0.1, which keeps its data over a restart."""

    def __init__(self, folder):
        for _ in range(5):  # another process may take the port before the server does
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
            self.folder = pathlib.Path(folder, str(self.port))
            if self.start():
                return
        raise Failed("redis-server does not start")

    def start(self):
        """False where it ends instead. It ends with this process, too."""
        self.folder.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", os.environ.get("REDIS_SERVER", "redis-server"),
             "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder,
             "--appendonly", "yes", "--save", ""], stdout=subprocess.DEVNULL)
        until(lambda: self.process.poll() is not None or self.ask("PING") == "PONG",
              "redis-server to answer")
        return self.process.poll() is None

    def ask(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *map(str, words)], text=True,
                              capture_output=True, timeout=PATIENCE_S).stdout.strip()

    def end(self, how=signal.SIGTERM):
        for one in (how, signal.SIGCONT):
            self.process.send_signal(one)
        self.process.wait(PATIENCE_S)

    def restart_empty(self):
        """As where its container was replaced: the name is the same, the disk is not."""
        self.end(signal.SIGKILL)
        shutil.rmtree(self.folder)
        self.start()


class Nodes(list):
    """Independent masters, and a file that names them to the command."""

    def __init__(self, folder, servers):
        super().__init__(servers)
        self.config = str(pathlib.Path(folder, f"nodes-{servers[0].port}.json"))
        uris = [f"redis://127.0.0.1:{one.port}" for one in servers]
        pathlib.Path(self.config).write_text(json.dumps({"nodes": uris}), encoding="utf-8")


class Place:
    """A temporary folder, with servers and processes that end with it."""

    def __init__(self, folder):
        self.folder = folder
        self.servers = []
        self.children = []

    def server(self):
        self.servers.append(Server(self.folder))
        return self.servers[-1]

    def nodes(self):
        """Three, which have agreed that they are one cluster."""
        three = Nodes(self.folder, [self.server() for _ in range(3)])
        until(lambda: redlock(three, "run", "warm-up", "--", "true")[0] == 0, "the nodes to vote")
        return three

    def child(self, work):
        """Runs `work(say)` in a process of its own; returns once it has said its first word.
        `say` writes a word to this process."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            status = 1
            try:
                work(lambda word: os.write(writing, f"{word}\n".encode()))
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        self.children.append(Child(pid, os.fdopen(reading)))
        return self.children[-1]

    def close(self):
        for child in self.children:
            child.kill()
        for server in self.servers:
            server.end(signal.SIGKILL)


class Child:
    def __init__(self, pid, words):
        self.pid = pid
        self.words = words
        self.first = self.next()

    def next(self):
        """The next word that it says; empty once it has ended."""
        return self.words.readline().strip()

    def pause(self):
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)

    def kill(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.words.close()
        self.pid = 0


def until(is_so, what):
    """Returns the seconds it took."""
    begin = time.monotonic()
    while not is_so():
        if time.monotonic() - begin > PATIENCE_S:
            raise Failed(f"waited {PATIENCE_S} s for {what}")
        time.sleep(0.01)
    return time.monotonic() - begin


def after_killed_holder(place, ttl_s):
    """Whether our lock was granted to a process, which was killed then, and how many seconds later
    the next one had it."""
    nodes = place.nodes()

    def holder(say):
        if acquire(nodes, f"{ttl_s}s") is not None:
            say("taken")
            time.sleep(PATIENCE_S)

    child = place.child(holder)
    child.kill()
    seconds = until(lambda: redlock(nodes, "run", "stock", "--", "true")[0] == 0, "the lock")
    return child.first == "taken", seconds


def show(way, wrong, ours):
    """Runs the wrong way, then ours, each in a place of its own. Each returns whether its lock did
    what a lock must, and a sentence. Ends with status 0 if the wrong one failed and ours did not."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            told = []
            for part in (wrong, ours):
                place = Place(folder)
                try:
                    told.append(part(place))
                finally:
                    place.close()
    except (Failed, OSError, subprocess.SubprocessError) as why:
        sys.exit(f"failed: {way}: {why}")
    (wrong_held, went_wrong), (ours_held, did) = told
    print(f"the way: {way}\nwhat went wrong: {went_wrong}\nours: {did}")
    if wrong_held or not ours_held:
        sys.exit("NOT SO: " + ("the wrong way worked" if wrong_held else "ours failed"))
    print("as it should be: the wrong way failed, and ours did not")
