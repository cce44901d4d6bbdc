# The programs of one scenario, what they saw of it, and the verdict; knows no fault.
# SPDX-License-Identifier: MIT
import json
import os
import subprocess
import tempfile
import time
from collections import Counter

from cluster import NODES, SIZE
from facts import Failure, NoVerdict, ms, now_ns, wait_for
from programs import TTL_MAX_MS, Client, Worker, longest_gap
from pulse import Pulse, answering_share

WORKERS = 2
QUORUM = SIZE // 2 + 1
HELD_TTL_MS = TTL_MAX_MS
TTL_MAX_NS = TTL_MAX_MS * 1_000_000
SLEPT_NS = 500_000_000  # a holder that stands still for less than this renews in time
SOON_S = 20


def ask_judge(chaos, *words, told=""):
    """What the judges of the chaos run say of histories: their status, output and errors."""
    done = subprocess.run([chaos, *words], capture_output=True, text=True, timeout=60, input=told)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"no judgement: {done.stderr.strip()}")
    return done


def judge_histories(chaos, histories):
    """Exclusion, fences, validities and losses. Returns what was counted."""
    done = ask_judge(chaos, "check", *histories)
    if done.returncode != 0:
        raise Failure(f"{len(done.stderr.splitlines())} violations: {done.stderr.strip()}")
    return json.loads(done.stdout)


def missing_kinds(chaos, histories, since):
    """The kinds of locks that no program had since then as they are meant to be had."""
    return ask_judge(chaos, "missing", "--since", str(since), *histories).stdout.splitlines()


def leftovers(chaos, histories, killed, found):
    """The keys that may not be on a node while all programs but the killed rest."""
    lines = [f"{node} {key} {value}\n" for node, key, value in found]
    options = [word for name in killed for word in ("--killed", name)]
    return ask_judge(chaos, "litter", *options, *histories,
                     told="".join(lines)).stdout.splitlines()


class Scene:
    """Two workers contend, `a` holds a lease that `b` waits for, and `watch` looks which nodes vote."""

    # For how long a key may still be there: one given back, and one left to run out.
    return_seconds = 1.5
    ttl_seconds = TTL_MAX_MS / 1000 + 3

    def __init__(self, cluster, binaries, folder):
        self.cluster, self.binaries = cluster, binaries
        self.folder = tempfile.mkdtemp(dir=folder)
        self.programs = []
        self.pulse = None
        self.told = []
        self.begun_at = self.mended_at = None

    def start(self):
        # Of a scenario before that failed.
        wait_for("nothing is left of what was before", lambda: not self.keys())
        self.pulse = Pulse(self.cluster.ports.values())
        self.watch = self.another_watch("watch", "watched")
        self.wait_for_votes(SIZE)
        self.a = self.another_holder("a", "held")
        self.a.wait_for_lease()
        self.b = self.another_holder("b", "held")
        self.workers = []
        for _ in range(WORKERS):
            self.another_worker()
        for worker in self.workers:
            wait_for(f"{worker.name} is granted something",
                     lambda w=worker: any(line[0] == "G" for line in w.lines()))

    def another_worker(self, **terms):
        self.workers.append(self.add(Worker(self.binaries["chaos"], len(self.workers),
                                            self.cluster.ports.values(), self.folder, **terms)))

    def client(self, role, name, resource, nodes, **terms):
        return self.add(Client(self.binaries["client"], role, name, resource, nodes, self.folder,
                               **terms))

    def published(self):
        return [f"127.0.0.1:{port}" for port in self.cluster.ports.values()]

    def another_watch(self, name, resource):
        return self.client("watch", name, resource, self.published(), margin_ms=0)

    def another_holder(self, name, resource):
        return self.client("hold", name, resource, self.published(), ttl_ms=HELD_TTL_MS)

    def client_in_container(self, name, resource):
        return self.client("hold", name, resource, self.cluster.addresses(), ttl_ms=HELD_TTL_MS,
                           container=self.cluster.run_words(self.folder))

    def add(self, program):
        self.programs.append(program)
        return program

    def tell(self, text):
        self.told.append(text)

    # --- what happens when

    def loss_of(self, holder):
        """The report on the lease that it had when the fault began."""
        def losses():
            return [e for e in holder.events("lost") if e["at"] > self.begun_at]
        return wait_for(f"{holder.name} is notified of its loss", losses)[0]

    def wait_for_loss(self, holder):
        lost = self.loss_of(holder)
        self.tell(f"loss ({lost['why']}) reported {ms(lost['valid_until'] - lost['at'])} ms "
                  "before the validity's end")

    def begin(self):
        """Right before the fault."""
        self.begun_at = now_ns()

    def mended(self):
        """As soon as nothing is wrong any more, as far as the test can do."""
        self.mended_at = now_ns()

    def looks_since(self, at):
        return [e for e in self.watch.events("watch") if e["at"] > at]

    def wait_for_votes(self, count, of=NODES):
        """Until so many of these nodes have taken the key, as a running client sees it."""
        since = now_ns()

        def found():
            return any(votes(look, of) == count for look in self.looks_since(since))
        try:
            wait_for(f"{count} of {list(of)} vote", found)
        except Failure as late:
            raise Failure(f"{late}; {self.what_was_seen(since)}") from late
        if count == SIZE:
            self.expect_soon(since)

    def expect_soon(self, since):
        """That what was waited for did not take long, of the time in which all nodes answered."""
        waited = now_ns() - since
        fair = waited * answering_share(self.pulse.beats, SIZE, since, now_ns()) / 1e9
        self.expect(fair <= SOON_S, f"not all vote although all answer, for {fair:.0f} s; "
                    f"{self.what_was_seen(since)}")

    def wait_for_word(self, n, word):
        """Until a running client says this of a node."""
        since = now_ns()
        wait_for(f"master{n} is seen: {word}",
                 lambda: any(word in says(look, n) for look in self.looks_since(since)))

    def wait_for_grants(self, count=5):
        """Until a free resource was to be had so often, and longer than a lease lasts unrenewed."""
        since = now_ns() + HELD_TTL_MS * 1_000_000
        wait_for(f"{count} grants under the fault",
                 lambda: sum(look["granted"] for look in self.looks_since(since)) >= count)

    def wait_for_every_kind(self):
        """Until the workers had locks of all kinds, and those beside each other that may be."""
        since = now_ns()

        def missing():
            return missing_kinds(self.binaries["chaos"], [w.history for w in self.workers], since)
        try:
            wait_for("all kinds of locks", lambda: not missing())
        except Failure as late:
            raise Failure(f"{late}: there was not {', nor '.join(missing())}") from late

    def wait_until_all_vote(self):
        self.wait_for_votes(SIZE)
        first = next(look for look in self.looks_since(self.mended_at)
                     if votes(look, NODES) == SIZE)
        self.tell(f"all five vote {self.since_mended(first)} ms after the fault")

    def expect_idle_machine(self, lost):
        """Nobody can renew a lease while too few nodes are given the time to answer anybody, nor
        while it is not let run itself."""
        for event in lost:
            begin = event["valid_until"] - HELD_TTL_MS * 1_000_000
            slept = min(event["slept"][1], event["at"]) - max(event["slept"][0], begin)
            if slept > SLEPT_NS:
                raise NoVerdict("the machine was too busy: a lease was lost, whose holder did not "
                                f"run for {ms(slept)} ms of its ttl")
            share = answering_share(self.pulse.beats, QUORUM, begin, event["at"])
            if share < 0.8:
                raise NoVerdict("the machine was too busy: a lease was lost, and a quorum "
                                f"answered a plain SET in time in {share:.0%} of its ttl only")

    def expect_quarantine(self, watch, n):
        """That since it forgot it has no vote before its quarantine is over."""
        def first_words():
            since = max(self.begun_at, self.cluster.remembers_since(n))
            seen = [(e["at"], says(e, n)) for e in watch.events("watch") if e["at"] > since]
            return [(at, word) for at, word in seen if word == "held" or "quarantine" in word]
        if watch is not self.watch:
            wait_for(f"{watch.name} asks master{n}", first_words)
        at, word = first_words()[0]
        # On a busy machine it may be over before anybody looks.
        self.expect("quarantine" in word or at >= self.cluster.remembers_since(n) + TTL_MAX_NS,
                    f"master{n} forgot, yet {watch.name} saw no quarantine")

    def was_seen(self, n, word, since=None):
        """Whether a running client said this of a node since then, or since the fault began."""
        return any(word in says(look, n) for look in self.looks_since(since or self.begun_at))

    def what_was_seen(self, since):
        """How often a running client said what of each node."""
        looks = self.looks_since(since)
        seen = {n: Counter(says(look, n) for look in looks) for n in NODES}
        return f"in {len(looks)} looks: " + "; ".join(
            f"master{n} " + ", ".join(f"{word} {count}" for word, count in words.most_common())
            for n, words in seen.items())

    def since_begin(self, event):
        return ms(event["at"] - self.begun_at)

    def since_mended(self, event):
        return ms(event["at"] - self.mended_at)

    def tell_seen(self, n, word):
        first = next(e for e in self.looks_since(self.begun_at) if word in says(e, n))
        self.tell(f"seen after {self.since_begin(first)} ms")

    # --- verdicts

    def expect(self, is_so, claim):
        if not is_so:
            raise Failure(claim)

    def expect_kept(self):
        gap = longest_gap(self.watch.events(), self.begun_at, now_ns())
        lost = self.a.events("lost")
        self.expect_idle_machine(lost)
        self.expect(not lost and self.a.holds(),
                    f"the held lease was lost {[(e['why'], self.since_begin(e)) for e in lost]}, "
                    f"the longest time without a grant was {ms(gap)} ms")
        self.tell(f"lease kept, a free lock was out of reach for {ms(gap)} ms at most")

    def held_again(self):
        """Somebody has the lease that was lost."""
        def grants():
            return [e["at"] for holder in (self.a, self.b) for e in holder.events("granted")
                    if e["at"] > self.mended_at]
        wait_for("somebody has the lease again", grants)
        self.tell(f"held again after {ms(min(grants()) - self.mended_at)} ms")

    def finish(self):
        """All rest: nothing of them may be left. Then all end, and their histories are judged."""
        self.pulse.stop()
        holders = [p for p in self.programs if isinstance(p, Client)]
        for holder in holders:
            holder.end()
        for worker in self.workers:
            worker.rest()
        wait_for("the workers come to rest", lambda: all(w.is_quiet() for w in self.workers))
        self.expect_nothing_left()
        for worker in self.workers:
            worker.end()
        counts = self.judge()
        self.tell(f"{counts['grants']} grants, {counts['readers']} of them readers', "
                  f"{counts['slots']} of slots, {counts['several']} of several resources, "
                  f"{counts['kept']} for a least time")

    def histories(self):
        return [p.history for p in self.programs if os.path.exists(p.history)]

    def judge(self):
        return judge_histories(self.binaries["chaos"], self.histories())

    def keys(self):
        """Of all nodes: node, key and value of each."""
        return [(f"master{n}", key, value) for n in NODES
                for key, value in self.cluster.keys(n)]

    def expect_nothing_left(self):
        """Of programs that live, but for what runs out, at once; of the dead after their ttl."""
        killed = [p.name for p in self.programs if p.is_killed]

        def litter():
            found = self.keys()
            return found and leftovers(self.binaries["chaos"], self.histories(), killed, found)
        wait_until(lambda: not litter(), self.return_seconds)
        left = litter()
        self.expect(not left, f"litter: {left}")
        wait_until(lambda: not self.keys(), self.ttl_seconds)
        left = self.keys()
        self.expect(not left, f"left after the ttl: {left}")

    def destroy(self):
        if self.pulse:
            self.pulse.stop()
        for program in self.programs:
            program.destroy()


def wait_until(fact, seconds):
    """Until the answer holds, or so long; the caller looks again, and says what is wrong.

    Where it takes long to look the programs are slow, too: that time does not count.
    """
    limit = time.monotonic() + seconds
    while True:
        begun = time.monotonic()
        if fact() or begun > limit:
            return
        limit += max(time.monotonic() - begun - 0.1, 0)
        time.sleep(0.01)


def says(look, n):
    return look["nodes"][n - 1] if len(look["nodes"]) == SIZE else ""


def votes(look, of):
    return sum(says(look, n) == "held" for n in of)
