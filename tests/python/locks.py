# The Python package on real servers: each kind of lock, errors, losses.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_LIBRARY=FILE PYTHONPATH=DIR locks.py [TEST...]"""
import gc
import json
import math
import os
import pathlib
import threading
import time
import unittest
from datetime import timedelta

import redlock_quorum as redlock

LONGEST_S = 60  # ends what hangs; judges no speed


def soon(is_so):
    """Whether it becomes so."""
    end = time.monotonic() + LONGEST_S
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


class Locks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = redlock.Client.from_environment()
        cls.other = redlock.Client.from_file(os.environ["REDLOCK_CONFIG"])

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.other.close()

    def is_held(self, resource=None):
        return self.client.inspect(resource or self.id())["held"]

    def test_a_section_holds_the_lock(self):
        with self.client.lock(self.id(), ttl=10, note="here") as first:
            self.assertTrue(first and first.valid)
            self.assertEqual(self.client.inspect(self.id())["note"], "here")
            self.assertGreater(first.remaining, 5)
            self.assertIn(self.id(), repr(first))
        self.assertFalse(first.valid)
        self.assertEqual(first.remaining, 0)
        self.assertFalse(self.is_held())
        with self.other.lock(self.id()) as second:
            self.assertGreater(second.fence, first.fence)

    def test_contention_names_the_nodes(self):
        with self.client.lock(self.id()):
            with self.assertRaises(redlock.Contended) as caught:
                self.other.lock(self.id(), wait=0).acquire()
            self.assertIsNone(self.other.lock(self.id()).try_acquire())
            with self.assertRaises(redlock.Error):
                self.other.lock(self.id(), wait=timedelta(milliseconds=20)).acquire()
        votes = caught.exception.votes
        self.assertEqual(len(votes), 3)
        self.assertGreaterEqual([vote.answer for vote in votes].count("held"), 2)
        self.assertTrue(all(vote.node in str(caught.exception) for vote in votes))

    def test_durations_have_bounds(self):
        for wrong in (0, -1, math.nan, math.inf, timedelta(0)):
            with self.assertRaises(redlock.InvalidArgument):
                self.client.lock("r", ttl=wrong)
        with self.assertRaises(ValueError):
            self.client.lock("r", wait=-1)
        with self.assertRaises(redlock.InvalidArgument) as caught:
            self.client.lock("r", ttl=61).acquire()
        self.assertIn("60000", str(caught.exception))
        with self.client.lock(self.id(), ttl=timedelta(seconds=20), wait=math.inf) as lease:
            self.assertGreater(lease.remaining, 15)

    def test_arguments_are_refused_by_name(self):
        for wrong in (lambda: self.client.lock("nul\0").acquire(),
                      lambda: self.client.lock("r" * 513).acquire(),
                      lambda: self.client.semaphore("r", 0),
                      lambda: self.client.semaphore("r", 1 << 16),
                      lambda: self.client.semaphore("r", 1001).acquire(),
                      lambda: self.client.lock("r", note="\n").acquire(),
                      lambda: self.client.rate_limiter("r", 0, 1),
                      lambda: self.client.adopt("nonsense")):
            self.assertRaises(redlock.InvalidArgument, wrong)
        with self.assertRaises(TypeError):
            self.client.lock("r", tll=1)

    def test_several_at_once(self):
        with self.client.lock(self.id() + "a", self.id() + "b") as lease:
            self.assertTrue(self.is_held(self.id() + "b"))
            self.assertEqual(len(lease.resources), 2)
            self.assertEqual(sorted(self.client.list(self.id())),
                             [self.id() + "a", self.id() + "b"])
        self.assertFalse(self.is_held(self.id() + "b"))

    def test_a_lock_knows_its_thread(self):
        lock = self.client.lock(self.id(), wait=LONGEST_S)
        with lock:
            with self.assertRaises(redlock.WouldDeadlock):
                lock.__enter__()
        total = []

        def work():
            for _ in range(20):
                with lock:
                    total.append(len(total))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(total, list(range(160)))

    def test_an_rlock_nests(self):
        lock = self.client.rlock(self.id())
        with lock as outer:
            with lock as inner:
                self.assertIs(outer, inner)
            self.assertTrue(self.is_held())
            refused = []
            thread = threading.Thread(target=lambda: refused.append(self.catch(lock.acquire)))
            thread.start()
            thread.join()
            self.assertIsInstance(refused[0], redlock.Contended)
        self.assertFalse(self.is_held())
        self.assertRaises(redlock.NotHeld, lock.release)

    def catch(self, call):
        try:
            return call()
        except redlock.Error as error:
            return error

    def test_a_semaphore_has_slots(self):
        semaphore = self.client.semaphore(self.id(), 2)
        with semaphore as a, semaphore as b:
            self.assertEqual({a.slot, b.slot}, {0, 1})
            self.assertRaises(redlock.Contended, semaphore.acquire)
        with semaphore:
            pass

    def test_readers_share_and_a_writer_does_not(self):
        with self.client.reader(self.id()), self.other.reader(self.id()):
            self.assertIsNone(self.other.writer(self.id()).try_acquire())
        with self.other.writer(self.id()):
            self.assertIsNone(self.client.reader(self.id()).try_acquire())

    def test_a_limit_is_per_period(self):
        limiter = self.client.rate_limiter(self.id(), 2, 20)
        self.assertTrue(limiter.try_acquire())
        limiter.acquire(wait=1)
        self.assertFalse(limiter.try_acquire())
        with self.assertRaises(redlock.Contended) as caught:
            limiter.acquire()
        self.assertGreater(caught.exception.retry_after, 0)
        self.assertLess(caught.exception.retry_after, 22)

    def test_one_leads(self):
        mine = self.client.election(self.id(), note="in office")
        theirs = self.other.election(self.id(), wait=0)
        self.assertIsNone(theirs.leader())
        self.assertRaises(redlock.NotHeld, mine.resign)
        mine.campaign()
        self.assertRaises(redlock.WouldDeadlock, mine.campaign)
        self.assertRaises(redlock.Contended, theirs.campaign)
        leader = theirs.leader()
        self.assertEqual((leader.fence, leader.note), (mine.fence, "in office"))
        self.assertTrue(mine.held and not mine.lost.is_set())
        self.assertTrue(leader.name.endswith(f":{os.getpid()}"))
        mine.resign()
        with theirs as term:
            self.assertEqual(term.fence, theirs.fence)
        self.assertFalse(theirs.held)

    def test_a_loss_is_an_event_and_an_error(self):
        with self.assertRaises(redlock.LeaseLost) as caught:
            with self.client.lock(self.id(), ttl=0.3, renew=False) as lease:
                self.assertFalse(lease.lost.wait(0))
                self.assertTrue(lease.lost.wait())
                self.assertTrue(lease.lost.is_set())
                self.assertFalse(lease)
        self.assertIn("expired", str(caught.exception))
        self.assertTrue(lease.lost.is_set())

    def test_an_exception_of_the_section_passes(self):
        with self.assertRaises(KeyError):
            with self.client.lock(self.id(), ttl=0.2, renew=False) as lease:
                lease.lost.wait()
                raise KeyError
        with self.assertRaises(KeyError):
            with self.client.lock(self.id()):
                raise KeyError
        self.assertFalse(self.is_held())

    def test_a_release_ends_the_wait_for_a_loss(self):
        lease = self.client.lock(self.id()).acquire()
        said = []
        thread = threading.Thread(target=lambda: said.append(lease.lost.wait()))
        thread.start()
        self.assertTrue(soon(lambda: lease._waiters == 1))
        lease.release()
        thread.join()
        self.assertEqual(said, [False])
        self.assertRaises(redlock.NotHeld, lease.release)
        self.assertFalse(lease.lost.is_set())

    def test_a_token_moves_a_lease(self):
        lease = self.client.lock(self.id(), ttl=20).acquire()
        token = lease.token
        lease.detach()
        self.assertEqual(lease.token, "")
        adopted = self.other.adopt(token, renew=False)
        adopted.extend(30)
        self.assertGreater(adopted.remaining, 20)
        adopted.release()
        self.assertRaises(redlock.NotHeld, self.other.adopt, token)

    def test_a_dropped_lease_is_released(self):
        self.client.lock(self.id()).acquire()
        gc.collect()
        self.assertTrue(soon(lambda: not self.is_held()))

    def test_a_watchdog_needs_signs_of_life(self):
        lease = self.client.lock(self.id(), watchdog=0.3).acquire()
        lease.touch()
        self.assertTrue(lease.lost.wait())
        with self.assertRaises(redlock.LeaseLost) as caught:
            lease.release()
        self.assertIn("stalled", str(caught.exception))

    def test_a_configuration_is_wrong_for_all_reasons(self):
        with self.assertRaises(redlock.ConfigError) as caught:
            redlock.Client({"nodes": ["127.0.0.1"], "ttl_max": 1, "drift_min_ms": -1})
        self.assertEqual({issue.where for issue in caught.exception.issues
                          if issue.severity == "error"}, {"/ttl_max", "/drift_min_ms"})
        self.assertRaises(redlock.SystemRefused, redlock.Client.from_file, "/no/such/file")
        text = pathlib.Path(os.environ["REDLOCK_CONFIG"]).read_text(encoding="utf-8")
        with redlock.Client(text) as client, client.lock(self.id()):
            pass
        self.assertRaises(redlock.ClientClosed, client.lock(self.id()).acquire)

    def test_nodes_and_counters_are_shown(self):
        with self.client.lock(self.id()):
            self.assertTrue(all(node["votes"] for node in self.client.probe()))
        self.assertGreater(self.client.stats()["granted"], 0)
        self.assertIn("redlock_", self.client.open_metrics())
        json.dumps(self.client.stats())


if __name__ == "__main__":
    unittest.main(verbosity=2)
