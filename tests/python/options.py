# What each option of each kind of lock does, on real servers; knows no option but those of the signatures.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_LIBRARY=FILE PYTHONPATH=DIR options.py [TEST...]"""
import inspect
import threading
import unittest

import redlock_quorum as redlock
from locks import TwoClients

FAR_S = 30
NEAR_S = 0.3


class Options(TwoClients):
    KINDS = {"lock": (), "reader": (), "writer": (), "semaphore": (1,), "election": ()}

    def take(self, of, kind, resource, **options):
        """A lease, and what gives it back."""
        one = getattr(of, kind)(resource, *self.KINDS[kind], **options)
        lease = one.campaign() if kind == "election" else one.acquire()
        return lease, one.resign if kind == "election" else lease.release

    def loss(self, kind, resource, **options):
        """Why the lease is lost, long before its ttl is over where that is long."""
        lease, release = self.take(self.client, kind, resource, **options)
        self.assertTrue(lease.lost.wait(FAR_S / 2))
        with self.assertRaises(redlock.LeaseLost) as caught:
            release()
            lease.release()
        return str(caught.exception)

    def seen(self, kind, resource):
        """What the nodes say of it, or of its only slot."""
        state = self.client.inspect(resource)
        return state["slots"][0] if kind == "semaphore" else state

    def ttl(self, kind, resource):
        lease, release = self.take(self.client, kind, resource, ttl=FAR_S)
        self.assertGreater(lease.remaining, FAR_S / 2)
        release()

    def wait(self, kind, resource):
        holder = "writer" if kind == "reader" else kind
        _, release = self.take(self.other, holder, resource)
        granted = threading.Event()

        def acquire():
            _, release = self.take(self.client, kind, resource, wait=FAR_S)
            granted.set()
            release()
        waits = threading.Thread(target=acquire)
        waits.start()
        while self.client.inspect(resource)["waiting"] == 0:
            self.assertTrue(waits.is_alive())
        self.assertFalse(granted.is_set())
        release()
        waits.join()
        self.assertTrue(granted.is_set())

    def max_hold(self, kind, resource):
        self.assertIn("max_hold", self.loss(kind, resource, max_hold=NEAR_S))

    def min_hold(self, kind, resource):
        _, release = self.take(self.client, kind, resource, ttl=FAR_S, min_hold=FAR_S / 2)
        release()
        self.assertTrue(self.seen(kind, resource)["kept"])

    def margin(self, kind, resource):
        self.assertIn("expired", self.loss(kind, resource, ttl=FAR_S, margin=FAR_S - 0.6, renew=False))

    def watchdog(self, kind, resource):
        self.assertIn("stalled", self.loss(kind, resource, watchdog=NEAR_S))

    def renew(self, kind, resource):
        self.assertIn("expired", self.loss(kind, resource, ttl=NEAR_S, renew=False))

    def note(self, kind, resource):
        _, release = self.take(self.client, kind, resource, note="by hand")
        seen = self.seen(kind, resource)
        self.assertEqual(seen["reader_notes"] if kind == "reader" else seen["note"],
                         ["by hand"] if kind == "reader" else "by hand")
        release()

    def permits(self, kind, resource):
        with self.client.semaphore(resource, 3, permits=2):
            self.assertEqual(len(self.client.inspect(resource)["slots"]), 2)

    def test_each_option_does_what_it_says(self):
        for kind in self.KINDS:
            known = inspect.signature(getattr(redlock.Client, kind)).parameters.values()
            options = [one.name for one in known if one.kind is one.KEYWORD_ONLY]
            self.assertGreater(len(options), 6)
            for option in options:
                with self.subTest(kind, option=option):
                    getattr(self, option)(kind, f"{kind}-{option}")


if __name__ == "__main__":
    unittest.main()
