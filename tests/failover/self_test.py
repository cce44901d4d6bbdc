# Plants what the verdict of a scenario has to find: a judge that cannot condemn proves nothing.
# SPDX-License-Identifier: MIT
import contextlib
import io
import os
import tempfile

import attempts
from change import Change
from facts import Failure, NoVerdict, now_ns
from cluster import NODES, Cluster
from programs import Client, Loop, Worker, longest_gap
from pulse import answering_share
from scene import Scene, missing_kinds

SECOND = 1_000_000_000
OWNER = "owner{}@{}"


class Masters:
    """In place of the containers: what is on them."""

    def __init__(self, keys):
        self.found = keys

    def keys(self, n):
        return list(self.found.get(n, {}).items())

    def remembers_since(self, _):
        return 10 * SECOND


class NoPulse:
    def __init__(self, beats=()):
        self.beats = beats

    def stop(self):
        pass


class Dead:
    """In place of a process, which has ended."""

    def end(self):
        pass

    def rest(self):
        pass

    def is_quiet(self):
        return True


class Engine(Cluster):
    """In place of the engine: pauses nodes. With a refusal it pauses only the first one at the first
    attempt, and raises the refusal."""

    def __init__(self, refusal):
        self.refusal, self.paused = refusal, []

    def state(self, n):
        return "paused" if n in self.paused else "running"

    def each(self, verb, nodes):
        self.paused.append(nodes[0])
        if self.refusal:
            said, self.refusal = self.refusal, ""
            raise Failure(f"docker {verb}: {said}")
        self.paused.extend(nodes[1:])


def write_history(folder, name, lines):
    """Of these lines: (what, section, fence, at, valid until, text), and when the acquire began."""
    path = os.path.join(folder, f"{name}.history")
    with open(path, "w", encoding="utf-8") as file:
        for what, section, fence, at, until, text, *asked in lines:
            owner = OWNER.format(section, name)
            kept = at + 1000 * SECOND if text == "kept" else 0
            since = asked[0] if asked else at
            file.write(f"{what} {section} 0 r X {owner} {fence} {at} {until} {kept} {since} "
                       f"{text}\n")
    return path


class Story(Dead, Worker):
    """A worker that wrote these lines."""

    def __init__(self, name, folder, lines):
        self.name, self.is_killed = name, False
        self.history = write_history(folder, name, lines)


class Holder(Dead, Client):
    """A holder that wrote these lines, and printed these events."""

    def __init__(self, folder, lines=(), events=()):
        self.name, self.is_killed, self.told = "h", False, events
        self.history = write_history(folder, "h", lines)

    def events(self, kind=None):
        return [e for e in self.told if kind in (None, e["event"])]


def section(number, fence, begin, end, text="released"):
    of_grant = text if text == "kept" else "-"
    return [("G", number, fence, begin, end + 10, of_grant),
            ("E", number, fence, end, end + 10, text)]


def told(at, valid_until, text="expired"):
    """A holder hears of a loss."""
    return ("L", 1, 0, at, valid_until, text)


def idle(begin, end):
    """A program did not run."""
    return ("I", 0, 0, end, 0, "-", begin)


def verdict(chaos, one=(), other=(), holder=(), keys=None, killed=False):
    """What `finish()` of a scenario says; empty where nothing is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(Masters(keys or {}), {"chaos": chaos}, folder)
        scene.pulse = NoPulse()
        scene.return_seconds = scene.ttl_seconds = 0.1
        scene.workers = [Story("w0", folder, one), Story("w1", folder, other)]
        scene.workers[0].is_killed = killed
        scene.programs = [*scene.workers, Holder(folder, holder)]
        try:
            scene.finish()
        except Failure as seen:
            return str(seen)
        return ""


class Tally:
    passed = failed = 0

    def expect(self, what, good):
        print("ok     " if good else "NOT OK ", what)
        self.passed += bool(good)
        self.failed += not good


def run(chaos):
    t = Tally()
    first = section(1, 10, 100, 200)
    t.expect("nothing where leases follow each other",
             verdict(chaos, first, section(2, 11, 200, 300)) == "")
    t.expect("a planted overlap",
             "overlap" in verdict(chaos, first, section(2, 11, 199, 300)))
    t.expect("a planted fence inversion",
             "fences" in verdict(chaos, first, section(2, 9, 250, 300)))
    t.expect("another holder beside one that was killed inside",
             "overlap" in verdict(chaos, first[:1], section(2, 11, 205, 300)))
    losses(t, chaos)
    leftovers(t, chaos)
    kinds(t, chaos)
    waits(t)
    pauses(t)
    counts(t)
    changes(t, chaos)
    watch = [{"event": "watch", "at": at, "granted": granted}
             for at, granted in ((0, True), (10, True), (20, False), (70, True), (80, True))]
    t.expect("the longest time without a grant", longest_gap(watch, 15, 75) == 60)
    beats = [[(at, at > 3) for at in range(12)], [(at, at < 9) for at in range(12)], []]
    t.expect("how often enough nodes were given the time to answer",
             [answering_share(beats, count, 0, 11) for count in (1, 2, 3)] == [1, 5 / 12, 0])
    print(f"{t.passed} passed, {t.failed} failed, 0 skipped")
    return 0 if t.failed == 0 else 1


def losses(t, chaos):
    late = "too late"
    t.expect("nothing where a loss is reported in time",
             verdict(chaos, holder=[told(100, 100)]) == "")
    t.expect("a planted loss that is reported late",
             late in verdict(chaos, holder=[told(101, 100)]))
    t.expect("a planted lease that is trusted when it is lost",
             "is trusted" in verdict(chaos, holder=[told(99, 100, "trusted")]))
    t.expect("nothing where a holder hears of its loss when it runs again",
             verdict(chaos, holder=[idle(SECOND, 3 * SECOND),
                                    told(3 * SECOND + 1, 2 * SECOND)]) == "")
    t.expect("a holder that runs again and hears of its loss late",
             late in verdict(chaos, holder=[idle(SECOND, 3 * SECOND),
                                            told(4 * SECOND, 2 * SECOND)]))
    t.expect("a holder that ran when its validity ended has no excuse",
             late in verdict(chaos, holder=[idle(SECOND, 3 * SECOND),
                                            told(5 * SECOND, 4 * SECOND)]))


def leftovers(t, chaos):
    def planted(value, lines=(), killed=False):
        return verdict(chaos, one=lines, keys={3: {"r": value}}, killed=killed)
    detached = section(1, 10, now_ns() - 200, now_ns() - 100, "detached")
    t.expect("nothing where nothing is left", verdict(chaos, keys={n: {} for n in NODES}) == "")
    t.expect("a planted leftover key", "litter" in planted(OWNER.format(7, "w0")))
    t.expect("a detached one that never runs out",
             "left after the ttl" in planted(OWNER.format(1, "w0"), detached))
    t.expect("one of a killed program that never runs out",
             "left after the ttl" in planted(OWNER.format(7, "w0"), killed=True))
    t.expect("a line of waiters that never ends", "left after the ttl" in planted("a queue"))
    kept = section(1, 10, now_ns() - 200, now_ns() - 100, "kept")
    t.expect("one that is kept for its least time and never runs out",
             "left after the ttl" in planted(OWNER.format(1, "w0"), kept))


def said_of_a_scene(judge, events=(), beats=()):
    """What is said of a scene that began at 5 s, in which the watch saw this."""
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(Masters({}), {}, folder)
        scene.begun_at, scene.pulse = 5 * SECOND, NoPulse(beats)
        scene.watch = Holder(folder, events=[
            {"event": "watch", "at": at, "nodes": [word] * len(NODES)} for at, word in events])
        try:
            judge(scene)
        except Failure as seen:
            return str(seen)
        return ""


def waits(t):
    def quarantine(*events):
        return said_of_a_scene(lambda s: s.expect_quarantine(s.watch, 1), events)
    voted = (6 * SECOND, "held")  # before it forgot, which was at 10 s
    t.expect("nothing where a quarantine is seen",
             quarantine(voted, (11 * SECOND, "quarantine"), (12 * SECOND, "held")) == "")
    t.expect("nothing where nobody looked before it was over",
             quarantine(voted, (13 * SECOND, "held")) == "")
    t.expect("a vote before a quarantine is over",
             "no quarantine" in quarantine(voted, (13 * SECOND - 1, "held")))

    def soon(are_good, since_s):
        now = now_ns()
        beats = [[(now - ago * SECOND // 10, are_good) for ago in range(400, 0, -1)]
                 for _ in NODES]
        return said_of_a_scene(lambda s: s.expect_soon(now - since_s * SECOND), beats=beats)
    t.expect("nothing where all vote soon", soon(True, 15) == "")
    t.expect("nothing where they could not, for no node answered", soon(False, 30) == "")
    t.expect("votes that come late although all nodes answer", "all answer" in soon(True, 30))

    def busy(slept, answers=True):
        beats = [[(at * SECOND // 10, answers) for at in range(200)] for _ in NODES]
        end = 10 * SECOND
        lost = [{"at": end, "valid_until": end, "slept": [end - slept, end]}]
        try:
            return said_of_a_scene(lambda s: s.expect_idle_machine(lost), beats=beats)
        except NoVerdict as seen:
            return str(seen)
    t.expect("no excuse where all could run", busy(SECOND // 4) == "")
    t.expect("an excuse where the holder was not let run", "did not run" in busy(SECOND))
    t.expect("an excuse where no node answered", "a quorum answered" in busy(0, answers=False))


def pauses(t):
    def paused(refusal):
        engine = Engine(refusal)
        try:
            engine.pause(2, 3)
        except Failure as seen:
            return str(seen)
        return engine.paused
    t.expect("all paused", paused("") == [2, 3])
    t.expect("all paused where one could not be frozen at first",
             paused("OCI runtime pause failed: unable to freeze: unknown") == [2, 3])
    t.expect("a pause that is refused", "no right" in paused("no right"))


class Restorable:
    """In place of the cluster: comes up, and can be made as it was, so many times."""

    def __init__(self, times):
        self.times = times + 1

    def up(self):
        self.restore()

    def down(self):
        pass

    def restore(self):
        self.times -= 1
        if self.times < 0:
            raise Failure("a master does not answer")


class Empty:
    """In place of a scene: nobody is in it, and its judge says this."""
    verdict = ""

    def __init__(self, *_):
        self.told = []

    def start(self):
        pass

    def finish(self):
        pass

    def destroy(self):
        pass

    def judge(self):
        if self.verdict:
            raise Failure(self.verdict)


def counts(t):
    def counted(*scenes, restored=9, verdict=""):
        """(passed, skipped) of scenarios of which each attempt ends so: None where all is well."""
        endings = [list(of_one) for of_one in scenes]

        def play(number):
            ending = endings[number].pop(0)
            if ending:
                raise ending
        Empty.verdict, attempts.Scene = verdict, Empty
        with contextlib.redirect_stdout(io.StringIO()):
            return attempts.run([(str(n), lambda _, n=n: play(n)) for n in range(len(scenes))],
                                Restorable(restored), {}, "")
    busy, broken = NoVerdict("busy"), Failure("wrong")
    t.expect("all count that are well", counted([None], [None]) == (2, 0))
    t.expect("one that fails, and the next is tried", counted([broken], [None]) == (1, 0))
    t.expect("an error of the test itself, and the next is tried",
             counted([KeyError("x")], [None]) == (1, 0))
    t.expect("well at the second attempt", counted([busy, None], [None]) == (2, 0))
    t.expect("skipped where the machine is too busy twice", counted([busy, busy], [None]) == (1, 1))
    t.expect("a failure at the second attempt", counted([busy, broken], [None]) == (1, 0))
    t.expect("two holders at once where the machine was too busy",
             counted([busy], [None], verdict="overlap") == (1, 0))
    t.expect("what could not be tried has failed", counted([None], [None], restored=1) == (1, 0))
    t.expect("so has what could not be tried after one that failed",
             counted([broken], [None], restored=1) == (0, 0))
    t.expect("and what could not be tried again",
             counted([busy, None], [busy, busy], restored=3) == (1, 0))


class Ran(Loop):
    """A loop whose runs ended with these."""

    def __init__(self, *statuses):
        self.name = "loop"
        self.runs = [("joint.json", status, "") for status in statuses]


class Under:
    """In place of a command under a lease, of which these events were printed."""

    def __init__(self, *kinds, holds=True, slept=0):
        self.kinds, self.holds, self.longest_sleep = kinds, lambda: holds, lambda: slept

    def events(self):
        return [{"kind": kind} for kind in self.kinds]


def said_of_a_change(judge, looks=(), answers=True):
    """Of one in which the watch has these looks: (s, whether granted, the votes)."""
    with tempfile.TemporaryDirectory() as folder:
        scene = Change((1, 2, 3), (1, 2, 4), Masters({}), {}, folder)
        scene.committed_at = 0
        scene.pulse = NoPulse([[(at * SECOND, answers) for at in range(30)] for _ in NODES])
        scene.watch = Holder(folder, events=[
            {"event": "watch", "at": at * SECOND, "granted": granted, "nodes": nodes}
            for at, granted, nodes in looks])
        scene.watch.nodes = scene.members["new"]
        try:
            judge(scene)
        except (Failure, NoVerdict) as seen:
            return str(seen)
        return ""


def changes(t, chaos):
    def kept_out(until, cost=0, answers=True):
        def judge(scene):
            scene.restart_cost = cost * SECOND
            scene.expect_available(5 * SECOND, 20 * SECOND)
        looks = [(at, at < 6 or at >= until, []) for at in range(25)]
        return said_of_a_change(judge, looks, answers)
    t.expect("nothing where the change keeps nobody out", kept_out(until=7) == "")
    t.expect("a change that keeps programs out", "out of reach" in kept_out(until=16))
    t.expect("nothing where a restart costs as much", kept_out(until=16, cost=11) == "")
    t.expect("an excuse where no node answered", "too busy" in kept_out(until=16, answers=False))

    def holding(holder, answers=True):
        def judge(scene):
            scene.holder = holder
            scene.expect_held_through()
        return said_of_a_change(judge, answers=answers)
    t.expect("nothing where the holder keeps its lease", holding(Under("node_up")) == "")
    t.expect("a holder that was notified of a loss", "lost its" in holding(Under("lost")))
    t.expect("an excuse where its machine did not let it run",
             "did not run" in holding(Under("lost", slept=SECOND)))
    t.expect("an excuse where no node answered it", "plain SET" in holding(Under("lost"), False))
    t.expect("a holder that runs no more", "lost its" in holding(Under(holds=False)))

    def overlooked(*events):
        return said_of_a_change(lambda s: s.expect_never_granted(Holder(s.folder, events=events)))
    t.expect("nothing where the overlooked is refused", overlooked({"event": "refused"}) == "")
    t.expect("an overlooked program that is granted a lock",
             "old list was granted" in overlooked({"event": "refused"}, {"event": "granted"}))

    def followed(word):
        return said_of_a_change(
            lambda s: s.wait_for_held(s.watch, (1, 2, 4), 0, seconds=0),
            [(at, True, ["held", word, "held"]) for at in (1, 2)])
    t.expect("nothing where all follow", followed("held") == "")
    t.expect("a node that does not follow", "(1, 2, 4) vote" in followed("other set"))

    def runs(*statuses):
        def judge(scene):
            scene.programs = [Ran(*statuses)]
            scene.judge_runs()
        return said_of_a_change(judge)
    t.expect("nothing where all runs are well", runs(0, 0) == "")
    t.expect("a run that got no lock", "1 of 2 runs" in runs(0, 121))
    inside = [(what, 1, 10, at, at + 1, "-") for what, at in (("G", 100), ("S", 200), ("E", 300))]
    t.expect("nothing where another follows what ran under a lease",
             verdict(chaos, inside, section(2, 11, 300, 400)) == "")
    t.expect("another holder beside what runs under a lease",
             "overlap" in verdict(chaos, inside, section(2, 11, 250, 400)))


def kinds(t, chaos):
    def missing(leases, since=0):
        """Of leases (part, begin, end, kept until), each of a program of its own."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for part, begin, end, kept in leases:
                paths.append(os.path.join(folder, f"w{len(paths)}.history"))
                with open(paths[-1], "w", encoding="utf-8") as file:
                    file.writelines(f"{what} 1 0 r {part} o 1 {at} {end + 1} {kept} {at} -\n"
                                    for what, at in (("G", begin), ("E", end)))
            return missing_kinds(chaos, paths, since)
    readers, late_reader = [("R", 10, 20, 0), ("R", 15, 30, 0)], ("R", 20, 30, 0)
    slots, late_slot = [("K0/2", 10, 20, 0), ("K1/2", 15, 30, 0)], ("K1/2", 20, 30, 0)
    keeper = ("X", 40, 50, 90)
    t.expect("nothing missing where all kinds were had", missing([*readers, *slots, keeper]) == [])
    t.expect("all missing where they were had before",
             len(missing([*readers, *slots, keeper], since=100)) == 4)
    t.expect("readers that never met",
             missing([readers[0], late_reader, *slots, keeper]) == ["two readers together"])
    t.expect("slots that never all were held",
             missing([*readers, slots[0], late_slot, keeper]) == ["all slots at once"])
    t.expect("no lease that was kept",
             missing([*readers, *slots, ("X", 40, 50, 0)]) == ["one for a least time"])
