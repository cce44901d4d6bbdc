# Has redlock and another program meet at one lock on real masters; knows neither from inside.
# SPDX-License-Identifier: MIT
"""usage: meet.py TOOL CLIENT recipe | TOOL CLIENT redsync MODULE FOLDER

TOOL is the redlock command and CLIENT the program of client.cpp. The other program is the shell
script `recipe`, or the one on redsync that is built in FOLDER from the Go module MODULE.
REDLOCK_CONFIG names the masters. Exit status: 0 all is well, 1 something is not, 77 there is no Go, or
its modules are out of reach.
"""
import contextlib
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

from parties import HERE, PATIENCE_S, Run, Told

SUPPORT = HERE.parent / "support"
sys.path.append(str(SUPPORT))
from redis_direct import Direct

LONG_MS = 30_000
SHORT_MS = 2_000  # redsync gives each node a twentieth of it
AT_ONCE = 4  # scenes: most of the time each waits for a lease to run out
CONTEST_S = 3
SECTION_US = 1_000
SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def build_redsync(module, folder):
    """The program; a test that is skipped where Go or the modules are out of reach."""
    program = os.path.join(folder, "redsync_told")
    built = subprocess.run([SUPPORT / "go-build", module, "./told", program],
                           stdout=subprocess.PIPE, text=True)
    if built.returncode == SKIPPED:
        skip(built.stdout.strip())
    built.check_returncode()
    return program


def eventually(done, what):
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.01)


class Meeting:
    """One way in which redlock takes a lock of its own, and the programs that meet there."""

    def __init__(self, tool, client, other, folder, fencing, prefix, resource):
        with open(os.environ["REDLOCK_CONFIG"], encoding="utf-8") as file:
            nodes = json.load(file)["nodes"]
        self.ports = [str(urllib.parse.urlsplit(node).port) for node in nodes]
        self.resource, self.fencing = resource, fencing
        self.key = prefix + resource
        self.title = f"{'fenced' if fencing else 'plain'}, key {self.key}"
        self.said = io.StringIO()
        self.counter = pathlib.Path(folder, "counter")
        self.config = os.path.join(folder, "config.json")
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump({"nodes": nodes, "fencing": fencing, "key_prefix": prefix,
                       "node_timeout_ms": 3000, "connect_timeout_ms": 6000}, file)
        self.tool = tool
        self.programs = {
            "client": lambda: Told(client, self.config, resource),
            "run": lambda: Run(tool, self.config, resource),
            "other": lambda: Told(other, self.key, *self.ports),
        }

    @contextlib.contextmanager
    def parties(self, *names):
        """Started, and ended whatever happens."""
        started = []
        try:
            for name in names:
                started.append(self.programs[name]())
            yield started
            for party in started:
                party.end()
        except BaseException:
            for party in started:
                with contextlib.suppress(Exception):
                    party.kill()
            raise

    def say(self, text):
        print(text, file=self.said)

    def ask(self, port, *words):
        with Direct(port, PATIENCE_S) as node:
            return node.ask(*words)

    def values(self):
        return [self.ask(port, "GET", self.key) or "" for port in self.ports]

    def by_quorum(self, good, values):
        """Whether it is true of a quorum: somebody else's key may last a little longer on one."""
        return sum(map(good, values)) > len(self.ports) // 2

    def is_ours(self):
        return self.by_quorum(lambda value: "@" in value, self.values())

    def keys(self):
        """All but those that outlive the leases on purpose."""
        found = [key for port in self.ports for key in self.ask(port, "KEYS", "*")]
        return [key for key in found
                if not key.endswith("redlock:node") and not key.endswith(":fence")]

    def litter(self):
        """Those of this lock."""
        return [key for key in self.keys() if self.key in (key, key[1:].split("}", 1)[0])]

    def inspect(self):
        done = subprocess.run([self.tool, "inspect", "--json", "--config", self.config,
                               self.resource],
                              stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)


def yes(answer):
    assert answer.startswith("yes"), answer
    return int((answer.split() + ["0"])[1])


def no(answer):
    assert answer.startswith("no"), answer


def await_birth(meeting):
    """Until the first client there has declared all nodes new: until then some refuse, or say so."""
    with meeting.parties("client") as (us,):
        eventually(lambda: us.take(LONG_MS, LONG_MS).startswith("yes"), "no node is open")
        eventually(lambda: all(node["state"] != "quarantine"
                               for node in meeting.inspect()["nodes"]),
                   "a node stays in quarantine")
        us.release()


def theirs_is_seen(meeting, ours):
    with meeting.parties(ours, "other") as (us, them):
        yes(them.take(LONG_MS))
        seen = meeting.inspect()
        assert seen["held"] and seen["owner"], seen
        assert [node["state"] for node in seen["nodes"]] == ["held"] * len(meeting.ports), seen
        assert 0 < seen["valid_ms"] <= LONG_MS, seen
        no(us.take(LONG_MS))
        yes(them.check())
        yes(them.release())
        assert not meeting.inspect()["held"]
        yes(us.take(LONG_MS))
        yes(us.release())


def ours_is_seen(meeting, ours):
    with meeting.parties(ours, "other") as (us, them):
        fence = yes(us.take(LONG_MS))
        assert meeting.is_ours(), meeting.values()
        no(them.take(LONG_MS))
        no(them.check())
        no(them.release())
        yes(us.check())
        assert meeting.inspect()["held"]
        yes(us.release())
        yes(them.take(LONG_MS))
        yes(them.release())
        higher = yes(us.take(LONG_MS))
        assert (0 < fence < higher) if meeting.fencing else fence == higher == 0, (fence, higher)
        yes(us.release())


def theirs_is_given_back_early(meeting, ours):
    with meeting.parties(ours, "other") as (us, them):
        yes(them.take(2 * LONG_MS))
        taking = threading.Timer(0.2, lambda: yes(them.release()))
        taking.start()
        yes(us.take(LONG_MS, LONG_MS))
        taking.join()
        yes(us.release())


def theirs_runs_out(meeting, ours):
    with meeting.parties(ours, "other") as (us, them):
        yes(them.take(SHORT_MS, LONG_MS))
        yes(us.take(LONG_MS, LONG_MS))
        no(them.check())
        no(them.release())
        yes(us.check())
        assert meeting.is_ours(), meeting.values()
        yes(us.release())


def ours_dies(meeting, ours):
    with meeting.parties("other") as (them,), contextlib.suppress(BrokenPipeError):
        with meeting.parties(ours) as (us,):
            yes(us.take(2 * SHORT_MS, LONG_MS))  # a stall may make us renew it late
            no(them.take(LONG_MS))
            us.kill()
            yes(them.take(LONG_MS, LONG_MS))
            yes(them.release())


def ours_sleeps_too_long(meeting, ours):
    with meeting.parties(ours, "other") as (us, them):
        yes(us.take(SHORT_MS, LONG_MS))
        us.pause()
        yes(them.take(2 * LONG_MS, LONG_MS))
        us.go_on()
        eventually(lambda: us.check().startswith("no"), "a lease that others took is held")
        no(us.release())
        yes(them.check())
        left = [meeting.ask(port, "PTTL", meeting.key) for port in meeting.ports]
        assert meeting.by_quorum(lambda ms: LONG_MS < ms <= 2 * LONG_MS, left), left
        yes(them.release())


def contend(meeting, party, turns, stop, wrong):
    """Adds one again and again, and not atomically."""
    try:
        while not stop.is_set():
            yes(party.take(LONG_MS, LONG_MS))
            value = int(meeting.counter.read_text(encoding="utf-8") or 0)
            time.sleep(0.003)
            meeting.counter.write_text(str(value + 1), encoding="utf-8")
            turns.append(value)
            yes(party.release())
            time.sleep(random.uniform(0, 0.02))
    except Exception:
        wrong.append(traceback.format_exc())
        stop.set()


def no_increment_is_lost(meeting):
    meeting.counter.write_text("0", encoding="utf-8")
    names = ("client", "run", "other")
    stop = threading.Event()
    wrong = []
    with meeting.parties(*names) as parties:
        turns = [[] for _ in parties]
        threads = [threading.Thread(target=contend, args=(meeting, party, turn, stop, wrong))
                   for party, turn in zip(parties, turns)]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        while not stop.wait(0.05):
            if time.monotonic() - begun > 1.5 and min(map(len, turns)) >= 3:
                break
            if time.monotonic() - begun > PATIENCE_S:
                wrong.append("somebody gets no turn")
                break
        stop.set()
        for thread in threads:
            thread.join()
    counts = dict(zip(names, map(len, turns)))
    meeting.say(f"  {counts}")
    assert not wrong, "\n".join(wrong)
    assert int(meeting.counter.read_text(encoding="utf-8")) == sum(counts.values()), counts


def turns_of_each_side(meeting, ours, others):
    """How many each side had in some seconds in which all of them wanted the lock."""
    with meeting.parties(*["client"] * ours, *["other"] * others) as parties:
        for party in parties:  # all connections are there before it counts
            yes(party.take(LONG_MS, LONG_MS))
            yes(party.release())
        begin = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 100_000_000
        for party in parties:
            party.say(f"contend {begin} {begin + CONTEST_S * 10**9} {SECTION_US}")
        turns = [yes(party.answer()) for party in parties]
    meeting.say(f"  {turns[:ours]} and {turns[ours:]}")
    return sum(turns[:ours]), sum(turns[ours:])


def each_side_has_its_share(meeting):
    """A quarter of the turns, beside programs that try every 3 ms. What else the machine does may
    favour some of them for a while, so there are several tries."""
    tries = []
    for _ in range(5):
        tries.append(turns_of_each_side(meeting, 3, 2))
        if 4 * min(tries[-1]) >= sum(tries[-1]):
            return
    raise AssertionError(f"ours and theirs: {tries}")


SCENES = (theirs_is_seen, ours_is_seen, theirs_is_given_back_early, theirs_runs_out, ours_dies,
          ours_sleeps_too_long)


def play(meeting, scene, *arguments):
    """Whether it went well, and left nothing."""
    meeting.say(f"{meeting.title}: {' '.join((scene.__name__, *arguments))}")
    try:
        scene(meeting, *arguments)
        eventually(lambda: not meeting.litter(), "something is left")
        return True
    except Exception:
        meeting.say(f"WRONG: {traceback.format_exc()}")
        for port in meeting.ports:
            meeting.ask(port, "DEL", meeting.key)
        return False
    finally:
        print(meeting.said.getvalue(), end="", flush=True)


def nothing_is_left(meeting):
    """Of any lock."""
    eventually(lambda: not meeting.keys(), "something is left of another scene")


def scenes():
    """Each scene with what it is given."""
    for scene in SCENES:
        for ours in ("client", "run"):
            yield scene, ours
    yield (no_increment_is_lost,)


def main():
    tool, client, name, *rest = sys.argv[1:]
    other = build_redsync(*rest) if name == "redsync" else str(HERE / "recipe")
    with tempfile.TemporaryDirectory() as folder:
        def meet(fencing, prefix, scene, *arguments):
            """A meeting at a lock that no other one is about."""
            own = tempfile.mkdtemp(dir=folder)
            resource = "-".join(("fenced" if fencing else "plain", scene.__name__, *arguments))
            return play(Meeting(tool, client, other, own, fencing, prefix, resource), scene,
                        *arguments)

        ways = [(fencing, prefix) for fencing in (False, True) for prefix in ("", "app:")]
        good = [meet(*way, await_birth) for way in ways]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            played = [threads.submit(meet, *way, *scene) for scene in scenes() for way in ways]
            good += [one.result() for one in played]
        # By themselves: what else this machine does would decide.
        if name == "redsync":
            good += [meet(True, prefix, each_side_has_its_share) for prefix in ("", "app:")]
        good.append(meet(False, "", nothing_is_left))
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
