# What each option of each kind of lock does, on real servers; knows those of the signatures and of the schema alone.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_LIBRARY=FILE PYTHONPATH=DIR options.py [TEST...]"""
import inspect
import json
import os
import pathlib
import threading
import unittest

import redlock_quorum as redlock
from locks import TwoClients, await_value

FAR_S = 30
NEAR_S = 0.3
VALUES = {"ttl": FAR_S, "wait": FAR_S, "max_hold": NEAR_S, "min_hold": FAR_S / 2, "margin": FAR_S - 0.6,
          "watchdog": NEAR_S, "renew": False, "note": "by hand", "permits": 2}
SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "config/redlock.schema.json")
                    .read_text(encoding="utf-8"))


class Options(TwoClients):
    """The function of each option looks at what it does. `how` has it, or is empty where the configuration
    of `self.client` has it."""
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

    def ttl(self, kind, resource, **how):
        lease, release = self.take(self.client, kind, resource, **how)
        self.assertGreater(lease.remaining, FAR_S / 2)
        release()

    def wait(self, kind, resource, wait=None):  # an election waits, but for None
        holder = "writer" if kind == "reader" else kind
        _, release = self.take(self.other, holder, resource)
        said = []

        def acquire():
            try:
                _, release = self.take(self.client, kind, resource, wait=wait)
                said.append("granted")
                release()
            except redlock.Error as error:
                said.append(error)
        waits = threading.Thread(target=acquire)
        waits.start()
        await_value(self, "calls that wait, or have ended",
                    lambda: len(said) or self.client.inspect(resource)["waiting"], 1)
        self.assertEqual(said, [])
        release()
        waits.join()
        self.assertEqual(said, ["granted"])

    def max_hold(self, kind, resource, **how):
        self.assertIn("max_hold", self.loss(kind, resource, **how))

    def min_hold(self, kind, resource, **how):
        _, release = self.take(self.client, kind, resource, ttl=FAR_S, **how)
        release()
        self.assertTrue(self.seen(kind, resource)["kept"])

    def margin(self, kind, resource, **how):
        self.assertIn("expired", self.loss(kind, resource, ttl=FAR_S, renew=False, **how))

    def watchdog(self, kind, resource, **how):
        self.assertIn("stalled", self.loss(kind, resource, **how))

    def renew(self, kind, resource, **how):
        self.assertIn("expired", self.loss(kind, resource, ttl=NEAR_S, **how))
        if not how:  # which what the caller says overrules
            lease, release = self.take(self.client, kind, resource, ttl=NEAR_S, renew=True)
            self.assertFalse(lease.lost.wait(4 * NEAR_S))
            release()

    def note(self, kind, resource, **how):
        _, release = self.take(self.client, kind, resource, **how)
        seen = self.seen(kind, resource)
        self.assertEqual(seen["reader_notes"] if kind == "reader" else seen["note"],
                         ["by hand"] if kind == "reader" else "by hand")
        release()

    def permits(self, kind, resource, **how):
        with self.client.semaphore(resource, 3, **how):
            self.assertEqual(len(self.client.inspect(resource)["slots"]), 2)

    def test_each_option_does_what_it_says(self):
        for kind in self.KINDS:
            known = inspect.signature(getattr(redlock.Client, kind)).parameters.values()
            options = [one.name for one in known if one.kind is one.KEYWORD_ONLY]
            self.assertGreater(len(options), 6)
            for option in options:
                with self.subTest(kind, option=option):
                    getattr(self, option)(kind, f"{kind}-{option}", **{option: VALUES[option]})

    def test_each_default_of_a_configuration_does_what_it_says(self):
        nodes = json.loads(pathlib.Path(os.environ["REDLOCK_CONFIG"]).read_text(encoding="utf-8"))
        defaults = SCHEMA["$defs"]["defaults"]["properties"]
        self.assertGreater(len(defaults), 4)
        for name in defaults:
            option = {"loss_margin_ms": "margin"}.get(name, name.removesuffix("_ms"))
            value = VALUES[option]
            by_file = value if isinstance(value, bool) else round(value * 1000)
            # A margin has to leave something of the ttl that the configuration says.
            said = {**nodes, "defaults": {"ttl_ms": FAR_S * 1000, name: by_file}}
            with redlock.Client(said) as self.client:
                for kind in self.KINDS:
                    with self.subTest(kind, default=name):
                        getattr(self, option)(kind, f"{kind}-by-file-{name}")


if __name__ == "__main__":
    unittest.main()
