# What befalls the masters and the programs, scenario by scenario; knows no container's name.
# SPDX-License-Identifier: MIT
from functools import partial

from change import Change
from cluster import NODES, SIZE
from facts import now_ns

ALL = []
# The names of those that run at each change: one of each kind that only containers can show.
SOME = []


def scenario(name, some=False, stage=None):
    def note(body):
        if stage:
            body.stage = stage
        ALL.append((name, body))
        if some:
            SOME.append(name)
        return body
    return note


def survive_without(s, gone):
    """The other nodes go on, the held lease with them."""
    s.wait_for_votes(0, of=gone)
    s.wait_for_grants()


def back(s):
    s.mended()
    s.wait_until_all_vote()
    s.expect_kept()


@scenario("a minority killed")
def minority_killed(s):
    s.begin()
    s.cluster.kill(1, 2)
    survive_without(s, (1, 2))
    s.cluster.start(1, 2)
    back(s)


@scenario("a minority stopped")
def minority_stopped(s):
    s.begin()
    s.cluster.stop(4, 5)
    survive_without(s, (4, 5))
    s.cluster.start(4, 5)
    back(s)


@scenario("a minority paused")
def minority_paused(s):
    s.begin()
    s.cluster.pause(2, 3)
    survive_without(s, (2, 3))
    s.cluster.unpause(2, 3)
    back(s)


@scenario("a minority restarted with its data")
def restarted_with_data(s):
    s.begin()
    s.cluster.kill(1, 5)
    s.cluster.start(1, 5)
    back(s)
    for n in (1, 5):
        s.expect(not s.was_seen(n, "quarantine"), f"master{n} kept its data, yet is in quarantine")


@scenario("a minority restarted without its data")
def restarted_empty(s):
    s.begin()
    s.cluster.remove(3, 4)
    survive_without(s, (3, 4))
    s.cluster.create(3, 4)
    back(s)
    for n in (3, 4):
        s.expect_quarantine(s.watch, n)


@scenario("a minority removed and recreated")
def recreated(s):
    s.begin()
    s.cluster.remove(1, 2, keep_data=True)
    survive_without(s, (1, 2))
    s.cluster.create(1, 2)
    back(s)  # after a quarantine, where they were away for longer than one


@scenario("two failures at once, of two kinds")
def two_at_once(s):
    s.begin()
    s.cluster.kill(5)
    s.cluster.pause(2)
    survive_without(s, (2, 5))
    s.cluster.start(5)
    s.cluster.unpause(2)
    back(s)


@scenario("one failure after the other")
def one_after_the_other(s):
    s.begin()
    s.cluster.remove(3)
    survive_without(s, (3,))
    s.cluster.create(3)
    s.cluster.pause(4)  # while the third is in quarantine, unless the machine is busy
    survive_without(s, (4,))
    s.wait_for_votes(1, of=(3, 4))
    s.cluster.unpause(4)
    s.cluster.kill(1)
    survive_without(s, (1,))
    s.cluster.start(1)
    back(s)
    s.expect_quarantine(s.watch, 3)


@scenario("readers and slots beside holders, a minority restarted, another cut off", some=True)
def every_kind(s):
    s.another_worker(contenders=16)
    s.begin()
    s.cluster.kill(1, 5)
    s.wait_for_every_kind()
    s.cluster.start(1, 5)
    s.mended()
    s.wait_until_all_vote()
    cut_off(s, (2, 3))
    s.wait_for_every_kind()
    s.cluster.reconnect(2, 3)
    back(s)


@scenario("rolling restart under a held lease")
def rolling(s):
    s.begin()
    for n in NODES:
        s.cluster.stop(n)
        s.wait_for_votes(0, of=(n,))
        s.cluster.start(n)
        s.mended()
        s.wait_for_votes(SIZE)
    s.wait_until_all_vote()
    s.expect_kept()


@scenario("rolling replacement, each without its data, under a held lease", some=True)
def rolling_empty(s):
    s.begin()
    for n in NODES:
        s.cluster.remove(n)
        s.cluster.create(n)
        s.mended()
        s.wait_for_votes(SIZE)
    s.wait_until_all_vote()
    s.expect_kept()


@scenario("a majority killed and back", some=True)
def majority_killed(s):
    s.begin()
    s.cluster.kill(1, 2, 3)
    s.wait_for_loss(s.a)
    s.mended()
    s.cluster.start(1, 2, 3)
    s.wait_until_all_vote()
    s.held_again()


@scenario("a majority paused and back")
def majority_paused(s):
    s.begin()
    s.cluster.pause(3, 4, 5)
    s.wait_for_loss(s.a)
    s.mended()
    s.cluster.unpause(3, 4, 5)
    s.wait_until_all_vote()
    s.held_again()


def cut_off(s, nodes):
    for n in nodes:
        s.cluster.disconnect(s.cluster.container(n))


@scenario("the network of one cut")
def one_cut_off(s):
    s.begin()
    cut_off(s, (4,))
    survive_without(s, (4,))
    s.cluster.reconnect(4)
    back(s)


@scenario("the network of two cut", some=True)
def two_cut_off(s):
    s.begin()
    cut_off(s, (1, 3))
    survive_without(s, (1, 3))
    s.cluster.reconnect(1, 3)
    back(s)


@scenario("the network of all cut")
def all_cut_off(s):
    s.begin()
    cut_off(s, NODES)
    s.wait_for_loss(s.a)
    s.mended()
    s.cluster.reconnect(*NODES)
    s.wait_until_all_vote()
    s.held_again()


@scenario("the network of a client cut", some=True)
def client_cut_off(s):
    inside = s.client_in_container("c", "inside")
    inside.wait_for_lease()
    outside = s.another_holder("d", "inside")
    outside.wait_for_refusal()
    s.begin()
    s.cluster.disconnect(s.cluster.client_container)
    s.wait_for_loss(inside)
    outside.wait_for_lease()
    s.tell(f"another holder {s.since_begin(outside.events('granted')[-1])} ms after the cut")
    s.wait_for_grants()
    s.cluster.reconnect_client()
    s.mended()
    outside.end()
    inside.wait_for_lease()
    s.tell(f"held again {s.since_mended(inside.events('granted')[-1])} ms after its end")
    s.expect_kept()


AHEAD_MS = 10_000
SHIFTED = """
services:
  master{n}:
    environment:
      LD_PRELOAD: /clock/shifted_clock.so
      REDLOCK_CLOCK_SHIFT: /clock/shift
    volumes: ["{folder}:/clock:ro"]
"""


def shift_from_start(s, n, **shift):
    s.cluster.shift_clock(**shift)
    s.cluster.recreate_with(n, SHIFTED.format(n=n, folder=s.cluster.clock_folder))


def set_back(s):
    """A key of the time before has that much longer to live."""
    s.cluster.shift_clock(offset_ms=0)
    s.ttl_seconds += AHEAD_MS / 1000


# The allowance: a quarter of ttl_max between the clocks, one percent of the ttl in their rates.
@scenario("a clock that is off within the allowance")
def clock_within(s):
    s.begin()
    shift_from_start(s, 3, offset_ms=300, rate_ppm=3000)  # within it for minutes
    s.mended()
    s.wait_until_all_vote()
    # Before, it may have answered so late that its clock could be read no better than this.
    known_at = now_ns()
    s.wait_for_grants()
    s.expect(not s.was_seen(3, "clock", known_at), "a clock within the allowance was refused")
    s.expect_kept()


@scenario("a clock that is off beyond the allowance", some=True)
def clock_beyond(s):
    s.begin()
    shift_from_start(s, 3, offset_ms=AHEAD_MS)
    s.wait_for_word(3, "clock")
    survive_without(s, (3,))
    set_back(s)
    back(s)


@scenario("a clock that jumps")
def clock_jumps(s):
    shift_from_start(s, 2)
    s.wait_for_votes(SIZE)
    s.begin()
    s.cluster.shift_clock(offset_ms=AHEAD_MS)
    s.wait_for_word(2, "clock")
    s.tell_seen(2, "clock")
    survive_without(s, (2,))
    set_back(s)
    back(s)


@scenario("memory full on a minority")
def memory_full(s):
    s.begin()
    for n in (1, 4):
        s.cluster.ask(n, "CONFIG", "SET", "maxmemory", "1")
    survive_without(s, (1, 4))
    for n in (1, 4):
        s.cluster.ask(n, "CONFIG", "SET", "maxmemory", "0")
    back(s)


TINY_DISK = """
services:
  master{n}:
    volumes: ["tiny:/data"]
volumes:
  tiny:
    driver: local
    driver_opts: {{type: tmpfs, device: tmpfs, o: "size=1m"}}
"""


# A server that has to write before it answers, and cannot, ends.
@scenario("the disk of one full", some=True)
def disk_full(s):
    s.cluster.recreate_with(4, TINY_DISK.format(n=4))
    s.wait_for_votes(SIZE)
    s.begin()
    s.cluster.fill_disk(4)
    survive_without(s, (4,))
    s.cluster.start(4)  # its memory file system is new, and empty
    back(s)
    s.expect_quarantine(s.watch, 4)


@scenario("a master turned replica of nobody")
def replica(s):
    s.begin()
    s.cluster.ask(5, "REPLICAOF", "127.0.0.1", "1")
    s.wait_for_word(5, "not a master")
    survive_without(s, (5,))
    s.cluster.ask(5, "REPLICAOF", "NO", "ONE")
    back(s)


@scenario("a master turned replica of another and back")
def replica_of_another(s):
    s.begin()
    s.cluster.copy(2, to=5)
    survive_without(s, (5,))
    s.cluster.ask(5, "REPLICAOF", "NO", "ONE")
    newcomer = s.another_watch("newcomer", "looked-at")
    s.expect_quarantine(newcomer, 5)
    back(s)
    s.expect_quarantine(s.watch, 5)


@scenario("a container without processor time", some=True)
def slowed(s):
    s.begin()
    s.cluster.limit_cpus(1, 0.01)
    s.wait_for_votes(0, of=(1,))
    s.wait_for_grants()
    s.cluster.limit_cpus(1, 1)
    back(s)


@scenario("the client process killed")
def client_killed(s):
    s.begin()
    s.workers[0].kill()
    s.mended()
    s.a.kill()
    s.held_again()


@scenario("the client process paused")
def client_paused(s):
    s.begin()
    s.workers[0].pause()
    s.a.pause()
    s.b.wait_for_lease()
    s.tell(f"another holder {s.since_begin(s.b.events('granted')[-1])} ms after the pause began")
    s.mended()
    s.workers[0].resume()
    s.a.resume()
    s.tell(f"loss reported {s.since_mended(s.loss_of(s.a))} ms after its end")
    s.expect_idle_machine(s.b.events("lost"))
    s.expect(s.b.holds(), "the holder that slept took the lease from its new holder")


def joint_list_everywhere(s):
    """The first step of docs/changes.md; a commit that comes too early is refused."""
    s.start_new_servers()
    s.give_to_all("joint", but=("waiting",))
    s.expect_commit(120)
    s.give("waiting", "joint")
    s.wait_for_new_nodes()
    s.hold()


def new_list_everywhere(s):
    """The third one, as soon as it may be taken."""
    s.wait_until_new_list_counts()
    s.give_to_all("new")
    s.expect_held_through()
    s.let_go()


@scenario("the list changes: three nodes become five",
          stage=partial(Change, (1, 2, 3), (1, 2, 3, 4, 5)))
def three_become_five(s):
    s.learn_what_a_restart_costs(1)
    joint_list_everywhere(s)
    s.expect_commit(0)
    s.expect_overlooked_refused()
    new_list_everywhere(s)
    s.wait_for_all_of("new")


@scenario("the list changes: one of three is replaced, another away", some=True,
          stage=partial(Change, (1, 2, 3), (1, 2, 4)))
def one_replaced(s):
    s.learn_what_a_restart_costs(1)
    joint_list_everywhere(s)
    s.cluster.stop(2)
    s.expect_commit(1)
    s.expect_overlooked_refused()
    new_list_everywhere(s)
    s.switch_off()
    s.cluster.start(2)
    s.wait_for_all_of("new")
    s.cluster.kill(1)  # so that nothing is granted without the one that was away
    s.wait_for_a_grant()
    s.cluster.start(1)
    s.wait_for_all_of("new")
