# What befalls the masters and the programs, scenario by scenario; knows no container's name.
# SPDX-License-Identifier: MIT

ALL = []


def scenario(name):
    def note(body):
        ALL.append((name, body))
        return body
    return note


def survive_without(s, gone):
    """The other nodes go on, the held lease with them."""
    s.wait_for_votes(0, 5, of=gone)
    s.wait_for_grants(10)


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
        s.expect(s.was_seen(n, "quarantine"), f"master{n} forgot, yet was in no quarantine")


@scenario("majority gone and back")
def majority_gone(s):
    s.begin()
    s.cluster.kill(1, 2, 3)
    s.expect_told_in_time(s.a.wait_for_loss(10))
    s.mended()
    s.cluster.start(1, 2, 3)
    s.wait_until_all_vote()
    s.held_again()


@scenario("the client process killed")
def client_killed(s):
    s.begin()
    s.workers[0].kill()
    s.a.kill()
    s.mended()
    s.held_again()
