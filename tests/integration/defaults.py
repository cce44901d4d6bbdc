# Each default of a lock in a configuration file, and what it does to the command; knows no option of its own.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_TOOL=FILE defaults.py [TEST...]

REDLOCK_CONFIG names three nodes. A default of the schema that has no method here is a failure.
"""
import json
import pathlib
import unittest

from on_nodes import CONFIG, LONGEST_S, OnNodes, running

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "config/redlock.schema.json"
VALUES = {"ttl_ms": 30_000, "wait_ms": 30_000, "renew": False, "max_hold_ms": 300, "loss_margin_ms": 6000}


class Defaults(OnNodes):
    def ttl_ms(self, name, file):
        token = self.expect(0, "acquire", "--config", file, name)
        self.assertGreater(json.loads(self.expect(0, "inspect", "--json", name))["valid_ms"], 15_000)
        self.expect(0, "release", stdin=token)

    def wait_ms(self, name, file):
        token = self.expect(0, "acquire", name)
        with running("run", "--config", file, "--verbose", name, "--", "true", until="waiting") as waits:
            self.expect(0, "release", stdin=token)
            self.assertEqual(waits.wait(LONGEST_S), 0)

    def renew(self, name, file):
        self.expect(122, "run", "--config", file, "--ttl", "300ms", name, "--", "sleep", "20")

    def max_hold_ms(self, name, file):
        self.expect(122, "run", "--config", file, name, "--", "sleep", "20")

    def loss_margin_ms(self, name, file):
        self.expect(0, "run", "--ttl", "8s", name, "--", "true")
        self.expect(125, "run", "--config", file, "--ttl", "8s", name, "--", "true")  # of which it leaves too little

    def test_each_default_does_what_it_says(self):
        known = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]["defaults"]["properties"]
        self.assertGreater(len(known), 4)
        nodes = json.loads(pathlib.Path(CONFIG).read_text(encoding="utf-8"))
        for name in known:
            file = pathlib.Path(self.folder) / f"{name}.json"
            file.write_text(json.dumps({**nodes, "defaults": {name: VALUES[name]}}), encoding="utf-8")
            with self.subTest(name):
                getattr(self, name)(f"{self.resource}-{name}", str(file))


if __name__ == "__main__":
    unittest.main()
