# A scene in which the list of nodes changes, by the steps of docs/changes.md; knows no fault.
# SPDX-License-Identifier: MIT
import itertools
import json
import os
import subprocess

from cluster import NODES
from facts import PATIENCE_S, NoVerdict, ms, now_ns, wait_for
from programs import CONNECT_TIMEOUT_MS, TTL_MAX_MS, Client, Command, Loop, Worker, longest_gap
from pulse import Pulse, answering_share
from scene import QUORUM, SLEPT_NS, Scene

LISTS = ("old", "joint", "new")
# In the order in which they are given a list.
ROLES = ("watch", "worker 0", "worker 1", "loop 0", "loop 1", "waiting")


class Change(Scene):
    """Programs of one list are restarted with the next one, while `holder` keeps a lease."""

    def __init__(self, old, new, *basics):
        super().__init__(*basics)
        self.members = {"old": old, "joint": tuple(sorted({*old, *new})), "new": new}
        self.numbers = itertools.count()
        self.running = {}
        self.watch = self.fresh = self.holder = None
        self.restart_cost = 0
        self.joint_at = self.committed_at = None

    def start(self):
        self.forget_all()
        self.cluster.remove(*self.joining())
        self.pulse = Pulse(self.cluster.ports.values())
        for name in LISTS:
            self.write_list(name)
        done = self.redlock("init", "--yes", "--config", self.file("old"))
        self.expect(done.returncode == 0, f"init: {done.stderr}")
        self.give_to_all("old")
        self.wait_for_all_of("old")

    def forget_all(self):
        """The next scenario's programs have another list, and none of these is left."""
        for n in NODES:
            self.cluster.ask(n, "FLUSHALL")

    # --- the lists

    def joining(self):
        return [n for n in self.members["new"] if n not in self.members["old"]]

    def leaving(self):
        return [n for n in self.members["old"] if n not in self.members["new"]]

    def file(self, name):
        return os.path.join(self.folder, f"{name}.json")

    def write_list(self, name):
        nodes = []
        for n in self.members[name]:
            node = {"name": f"lock-{n}", "host": "127.0.0.1", "port": self.cluster.ports[n]}
            if name == "joint" and n in self.joining():
                node["change"] = "joining"
            if name == "joint" and n in self.leaving():
                node["change"] = "leaving"
            nodes.append(node)
        with open(self.file(name), "w", encoding="utf-8") as file:
            json.dump({"ttl_max_ms": TTL_MAX_MS, "connect_timeout_ms": CONNECT_TIMEOUT_MS,
                       "nodes": nodes}, file)

    # --- the programs

    def redlock(self, *words):
        return subprocess.run([self.binaries["redlock"], *words], capture_output=True, text=True,
                              timeout=PATIENCE_S, stdin=subprocess.DEVNULL)

    def give_to_all(self, name, but=()):
        """One after the other."""
        for role in ROLES:
            if role not in but:
                self.give(role, name)

    def give(self, role, name):
        """Ends a program and starts it with this list, as soon as it is there again."""
        if role.startswith("loop"):
            if role not in self.running:
                self.running[role] = self.add(Loop(
                    self.binaries["redlock"], self.binaries["client"], role.replace(" ", ""),
                    "job", self.folder))
            self.running[role].give(self.file(name))
            return
        if role in self.running:
            self.running[role].end()
        begun = now_ns()
        self.running[role] = self.started(role, name)
        self.workers = [p for p in self.running.values() if isinstance(p, Worker)]
        if role == "watch":
            self.watch = self.running[role]
            if name == "joint":
                self.joint_at = begun

    def started(self, role, name):
        if role.startswith("worker"):
            return self.add(Worker(self.binaries["chaos"], next(self.numbers), [self.file(name)],
                                   self.folder))
        if role == "waiting":
            return self.client("hold", f"waiting-{name}", "held", [self.file(name)])
        watch = self.client("watch", f"{role}-{name}", f"looked-at-{name}", [self.file(name)],
                            margin_ms=0)
        watch.nodes = self.members[name]
        wait_for(f"{watch.name} is answered", lambda: watch.events("watch"))
        return watch

    def hold(self):
        self.running["waiting"].end()
        self.holder = self.add(Command(self.binaries["redlock"], self.binaries["client"], "holder",
                                       "held", self.file("joint"), self.folder))
        wait_for("the holder has its lease", self.holder.holds)
        self.running["waiting"] = self.client("hold", "waiting-behind", "held",
                                              [self.file("joint")])

    # --- the steps

    def learn_what_a_restart_costs(self, n):
        """The longest time without a grant while one node is restarted."""
        self.begin()
        self.cluster.stop(n)
        self.cluster.start(n)
        self.wait_for_all_of("old")
        self.restart_cost = longest_gap(self.watch.events(), self.begun_at, now_ns())
        self.tell(f"a free lock was out of reach for {ms(self.restart_cost)} ms at most while a "
                  "node was restarted")

    def start_new_servers(self):
        self.cluster.create(*self.joining())
        for n in self.joining():
            wait_for(f"master{n} answers", lambda n=n: self.cluster.answers(n))

    def wait_for_new_nodes(self):
        self.expect_doctor_says("joining")
        voted = self.wait_for_held(self.watch, self.joining(), self.joint_at)
        self.tell(f"new nodes voted {ms(voted['at'] - self.joint_at)} ms after the first program "
                  "had the joint list")

    def expect_doctor_says(self, state):
        said = self.redlock("doctor", "--json", "--config", self.file("joint")).stdout
        self.expect(f'"state":"{state}"' in said, f"doctor does not say {state}: {said}")

    def expect_commit(self, status):
        begun = now_ns()
        done = self.redlock("commit", "--yes", "--json", "--config", self.file("joint"))
        ended = now_ns()
        self.expect(done.returncode == status,
                    f"commit ended with {done.returncode}, not {status}: {done.stderr.strip()}")
        if status == 120:
            self.expect("waiting-old" in done.stdout, "commit does not name the program that has "
                        f"the old list: {done.stdout}")
            return
        self.begun_at, self.committed_at = begun, ended
        self.tell(f"the commit took {ms(ended - begun)} ms")
        self.fresh = self.started("fresh", "new")

    def expect_available(self, begin, end):
        """Programs with the joint list are not kept out for longer than by the restart of a node,
        or than a program may take to connect to one that was restarted."""
        gap = longest_gap(self.watch.events(), begin, end)
        cost = max(self.restart_cost, CONNECT_TIMEOUT_MS * 1_000_000)
        if gap > cost and answering_share(self.pulse.beats, QUORUM, begin, end) < 0.8:
            raise NoVerdict("the machine was too busy: a quorum did not answer a plain SET in time")
        self.expect(gap <= cost, f"a free lock was out of reach for {ms(gap)} ms, and for "
                    f"{ms(self.restart_cost)} ms while a node was restarted; "
                    f"{self.what_was_seen(begin)}")

    def expect_overlooked_refused(self):
        """A program that still has the old list, and asks for what the holder has."""
        overlooked = self.client("hold", "overlooked", "held", [self.file("old")])
        overlooked.wait_for_refusal()
        overlooked.end()
        self.expect_never_granted(overlooked)

    def expect_never_granted(self, overlooked):
        self.expect(not overlooked.events("granted"),
                    "a program with the old list was granted a lock after the commit")

    def wait_until_new_list_counts(self):
        wait_for("a program with the new list alone is granted a lock",
                 lambda: [e for e in self.fresh.events("watch") if e["granted"]])
        first = next(e for e in self.fresh.events("watch") if e["granted"])
        self.tell(f"a program with the new list alone was granted a lock "
                  f"{ms(first['at'] - self.committed_at)} ms after the commit")
        longest = longest_acquire(self.watch.events("watch"), self.begun_at, self.committed_at)
        self.tell(f"the longest acquire beside it took {ms(longest)} ms")
        self.wait_for_a_grant()  # by the joint list: a time without one is known at its end
        self.expect_available(self.begun_at, now_ns())

    def expect_held_through(self):
        """The lease under the joint list outlives the change."""
        lost = [e for e in self.holder.events() if e["kind"] == "lost"]
        if lost and self.holder.longest_sleep() > SLEPT_NS:
            raise NoVerdict("the machine was too busy: a lease was lost, whose holder did not run")
        if lost and answering_share(self.pulse.beats, QUORUM, self.committed_at, now_ns()) < 0.8:
            raise NoVerdict("the machine was too busy: a lease was lost, and a quorum did not "
                            "answer a plain SET in time")
        self.expect(not lost and self.holder.holds(), f"the holder lost its lease: {lost}")

    def let_go(self):
        self.holder.end()
        self.running["waiting"].wait_for_lease()

    def switch_off(self):
        self.cluster.stop(*self.leaving())

    # --- what is seen

    def says(self, watch, look, n):
        nodes = look["nodes"]
        return nodes[watch.nodes.index(n)] if len(nodes) == len(watch.nodes) else ""

    def wait_for_held(self, watch, nodes, since, seconds=PATIENCE_S):
        """The first look in which all of these nodes have a vote."""
        def found():
            return [e for e in watch.events("watch") if e["at"] > since
                    and all(self.says(watch, e, n) == "held" for n in nodes)]
        return wait_for(f"masters {nodes} vote; {self.last_look(watch)}", found, seconds)[0]

    def wait_for_all_of(self, name, seconds=PATIENCE_S):
        return self.wait_for_held(self.watch, self.members[name], now_ns(), seconds)

    def wait_for_a_grant(self):
        since = now_ns()
        wait_for("a free lock is granted", lambda: [
            e for e in self.watch.events("watch") if e["granted"] and e["asked_at"] > since])

    def last_look(self, watch):
        return f"{watch.name} saw {watch.events('watch')[-1:]}"

    def what_was_seen(self, since):
        refusals = [e for e in self.looks_since(since) if not e["granted"]]
        return f"{len(refusals)} refusals since, the last ones {refusals[-3:]}"

    # --- the verdict

    def keys(self):
        return [(f"master{n}", key, value) for n in self.members["new"]
                for key, value in self.cluster.keys(n)]

    def judge_runs(self):
        for loop in [p for p in self.programs if isinstance(p, Loop)]:
            wrong = [one for one in loop.runs if one[1] != 0]
            self.expect(not wrong, f"{loop.name}: {len(wrong)} of {len(loop.runs)} runs went "
                        f"wrong: {wrong[:3]}")
            self.tell(f"{loop.name} ran {len(loop.runs)} times")

    def finish(self):
        for loop in [p for p in self.programs if isinstance(p, Loop)]:
            loop.end()
        self.judge_runs()
        super().finish()
        self.cluster.start(*self.leaving())
        self.cluster.wait_until_healthy()
        self.forget_all()


def longest_acquire(looks, begin, end):
    """Of those that were under way between two instants."""
    return max((e["at"] - e["asked_at"] for e in looks
                if e["at"] >= begin and e["asked_at"] <= end), default=0)
