# The library and a client that was written from docs/protocol.md alone, at the same locks.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_LIBRARY=FILE PYTHONPATH=DIR meeting.py [TEST...]"""
import os
import pathlib
import random
import re
import threading
import time
import unittest

import redlock_quorum as redlock
from client import Guest, Plain, Refused

PORTS = [int(port) for port in re.findall(
    r'"port": (\d+)|127\.0\.0\.1:(\d+)', pathlib.Path(os.environ["REDLOCK_CONFIG"]).read_text(encoding="utf-8"))
    for port in port if port]

LONGEST_S = 120  # ends what hangs; judges no speed


class Meeting(unittest.TestCase):
    def setUp(self):
        self.client = redlock.Client.from_environment()
        self.addCleanup(self.client.close)
        with self.client.lock("first"):  # the nodes have records and scripts then
            pass

    def guest(self, ports=PORTS, kind=Guest):
        out = kind(ports)
        self.addCleanup(out.close)
        return out

    def test_each_excludes_the_other(self):
        guest = self.guest()
        with self.client.lock(self.id()) as ours:
            self.assertRaises(Refused, guest.acquire, self.id())
            self.assertTrue(ours.valid)
        theirs = guest.acquire(self.id())
        self.assertGreater(theirs.fence, ours.fence)
        state = self.client.inspect(self.id())
        self.assertEqual((state["held"], state["fence"]), (True, theirs.fence))
        self.assertTrue(state["owner"].endswith("@guest"))
        self.assertIsNone(self.client.lock(self.id()).try_acquire())
        self.assertTrue(theirs.extend(20_000))
        self.assertTrue(theirs.is_valid())
        self.assertTrue(theirs.release())
        with self.client.lock(self.id()) as ours:
            self.assertGreater(ours.fence, theirs.fence)

    def test_a_refused_guest_leaves_nothing(self):
        with self.client.lock(self.id()):
            self.assertRaises(Refused, self.guest().acquire, self.id())
        with self.client.lock(self.id()):
            pass
        self.assertFalse(self.client.inspect(self.id())["held"])

    def test_a_guest_of_another_set_is_refused(self):
        with self.assertRaises(Refused) as caught:
            self.guest(PORTS[:1]).acquire(self.id())
        self.assertIn("another set", str(caught.exception))

    def test_after_clocks_that_went_back_no_fence_is_lower(self):
        guest = self.guest()
        guest.look()
        for node in guest.nodes:
            node.record["highest"] = guest.median() + 2_000_000
        self.assertGreater(guest.next_fence(self.id()), guest.nodes[0].record["highest"] + 5_000_000)
        guest.nodes[0].record["highest"] = guest.median() + 120_000_000
        self.assertRaises(Refused, guest.acquire, self.id())

    def test_a_node_whose_clock_stepped_has_no_vote(self):
        guest = self.guest()
        guest.look()
        self.assertTrue(all(map(guest.has_vote, guest.nodes)))
        guest.nodes[1].record["offset"] += 900_000
        self.assertFalse(guest.has_vote(guest.nodes[1]))
        guest.nodes[2].record["seen"] += 60_000_000
        self.assertFalse(guest.has_vote(guest.nodes[2]))

    def test_a_fence_lives_as_long_as_its_lease(self):
        lease = self.guest().acquire(self.id())
        self.assertTrue(lease.extend(50_000))
        for node in lease.guest.nodes:
            key_ms, fence_ms = (node.direct.ask("PTTL", name) for name in (self.id(), f"{{{self.id()}}}:fence"))
            self.assertGreaterEqual(fence_ms, key_ms)
        lease.release()

    def test_a_plain_client_excludes_and_is_excluded(self):
        plain = self.guest(kind=Plain)
        with self.client.lock(self.id()):
            self.assertIsNone(plain.acquire(self.id()))
        value = plain.acquire(self.id())
        self.assertIsNotNone(value)
        self.assertIsNone(self.client.lock(self.id()).try_acquire())
        self.assertEqual(plain.release(self.id(), value), len(PORTS))
        with self.client.lock(self.id(), wait=10):
            pass

    def test_no_increment_is_lost_between_both(self):
        total, fences = [0], []

        def increment(fence):
            before = total[0]
            time.sleep(0)
            total[0] = before + 1
            fences.append(fence)

        end = time.monotonic() + LONGEST_S

        def as_guest():
            guest, done = self.guest(), 0
            while done < 25 and time.monotonic() < end:
                try:
                    lease = guest.acquire(self.id())
                except Refused:
                    time.sleep(random.uniform(0.001, 0.01))
                    continue
                increment(lease.fence)
                done += lease.release()

        def as_ours():
            for _ in range(25):
                lease = None
                while not lease and time.monotonic() < end:
                    # A queue of ours would never let a guest through that does not wait in it.
                    lease = self.client.lock(self.id(), wait=0).try_acquire()
                    if not lease:
                        time.sleep(random.uniform(0.001, 0.01))
                if lease:
                    increment(lease.fence)
                    lease.release()

        threads = [threading.Thread(target=work) for work in (as_guest, as_ours) * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(total[0], 100, f"increments within {LONGEST_S} s")
        self.assertEqual(fences, sorted(set(fences)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
