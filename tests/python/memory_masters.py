# The Python package on the test kit's masters: losses and refusals in virtual time.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_LIBRARY=FILE PYTHONPATH=DIR memory_masters.py [TEST...]; FILE has kit/masters.h, too."""
import concurrent.futures
import contextlib
import ctypes
import gc
import threading
import time
import unittest
import unittest.mock

import redlock_quorum as redlock
from redlock_quorum import _native
from locks import LONGEST_S

KIT = _native.library.loaded
KIT.redlock_masters_new.restype = ctypes.c_void_p
KIT.redlock_masters_configuration.restype = ctypes.c_void_p
KIT.redlock_masters_holding.restype = ctypes.c_size_t
for name, more in (("new", [ctypes.c_size_t]), ("free", [ctypes.c_void_p]),
                   ("configuration", [ctypes.c_void_p]),
                   ("advance", [ctypes.c_void_p, ctypes.c_int64]),
                   ("shut_down", [ctypes.c_void_p, ctypes.c_size_t]),
                   ("hang", [ctypes.c_void_p, ctypes.c_size_t]), ("resume", [ctypes.c_void_p, ctypes.c_size_t]),
                   ("occupy", [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64]),
                   ("holding", [ctypes.c_void_p, ctypes.c_char_p])):
    getattr(KIT, f"redlock_masters_{name}").argtypes = more


class MemoryMasters(unittest.TestCase):
    def setUp(self):
        self.masters = KIT.redlock_masters_new(3)
        text = ctypes.c_void_p(KIT.redlock_masters_configuration(self.masters))
        self.client = redlock.Client(_native.text_of(text))

    def tearDown(self):
        # A release that a node did not answer is waited for, in virtual time.
        crew = concurrent.futures.ThreadPoolExecutor(1)
        closes = crew.submit(self.client.close)
        crew.shutdown(wait=False)
        self.pass_time(lambda: not closes.done(), lambda: "the client does not close")
        closes.result()
        self.client = None
        gc.collect()  # errors have frames, which have the client: it goes before the masters
        KIT.redlock_masters_free(self.masters)

    def advance(self, seconds):
        KIT.redlock_masters_advance(self.masters, int(seconds * 1000))

    def pass_time(self, goes_on, seen):
        end = time.monotonic() + LONGEST_S
        while goes_on():
            self.assertLess(time.monotonic(), end, seen())
            self.advance(0.01)

    def holding(self):
        return KIT.redlock_masters_holding(self.masters, self.id().encode())

    def test_a_lease_is_renewed_for_hours(self):
        with self.client.lock(self.id()) as lease:
            self.advance(3 * 3600)
            self.assertTrue(lease.valid)
            self.assertEqual(self.holding(), 3)
        self.assertEqual(self.holding(), 0)

    def test_a_lease_that_others_take_is_lost(self):
        with self.assertRaises(redlock.LeaseLost) as caught:
            with self.client.lock(self.id()) as lease:
                KIT.redlock_masters_occupy(self.masters, self.id().encode(), 60_000)
                self.advance(10)
                self.assertTrue(lease.lost.wait(0))
        self.assertIn("taken", str(caught.exception))
        self.assertEqual(self.holding(), 3)  # the other's keys

    def test_a_lease_that_was_taken_keeps_no_lock_of_its_client_waiting(self):
        lease = self.client.lock(self.id(), ttl=60).acquire()
        KIT.redlock_masters_occupy(self.masters, self.id().encode(), 25_000)
        self.advance(26)
        self.assertTrue(lease.lost.is_set())
        again = self.client.lock(self.id()).acquire(blocking=False)
        self.assertIsNotNone(again)
        again.release()
        del lease, again

    def test_an_outage_is_no_change_of_leaders(self):
        def resign():
            with contextlib.suppress(redlock.Error):  # a lost term is a change, too
                leads.resign()

        def looked():
            return f"{looks.call_count} looks, which saw {seen}"

        leads = self.client.election(self.id())
        leads.campaign()
        observed = self.client.election(self.id()).observe(every=0.001)
        self.assertIsNotNone(next(observed))
        seen = []
        with unittest.mock.patch.object(redlock.Client, "inspect", wraps=self.client.inspect) as looks:
            for node in (0, 2):
                KIT.redlock_masters_hang(self.masters, node)
            observes = threading.Thread(target=lambda: seen.append(next(observed, "over")))
            observes.start()
            self.pass_time(lambda: looks.call_count < 3 and observes.is_alive(), looked)
            self.assertEqual(seen, [])
            for node in (0, 2):
                KIT.redlock_masters_resume(self.masters, node)
            resigns = threading.Thread(target=resign)
            resigns.start()
            self.pass_time(lambda: resigns.is_alive() or observes.is_alive(), looked)
        self.assertEqual(seen, [None])

    def test_too_few_nodes_are_named(self):
        for node in (0, 2):
            KIT.redlock_masters_shut_down(self.masters, node)
        said = []

        def acquire():
            try:
                self.client.lock(self.id()).acquire()
            except redlock.NoQuorum as error:
                said.append(error)

        thread = threading.Thread(target=acquire)
        thread.start()
        self.pass_time(thread.is_alive, lambda: f"neither a lease nor a refusal: {self.client.stats()}")
        self.assertEqual([vote.answer for vote in said[0].votes if vote.node != "node-1"],
                         ["unreachable"] * 2)
        self.assertIn("node-2", str(said[0]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
