# What each command prints with --json, against config/output.schema.json; knows no value of its own.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_TOOL=FILE outputs.py [TEST...]

REDLOCK_CONFIG names three nodes. A member that is printed and not in the schema is a failure, and so is
one of the schema that nothing here makes a command print.
"""
import json
import pathlib
import re
import subprocess
import unittest

from on_nodes import LONGEST_S, OnNodes, TOOL, running
from skipping import skip

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "config" / "output.schema.json")
                    .read_text(encoding="utf-8"))


def is_object(part):
    return isinstance(part, dict) and "properties" in part


def parts_of(schema):
    """It, and all that is within it."""
    yield schema
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from parts_of(part)


class Outputs(OnNodes):
    def setUp(self):
        super().setUp()
        if jsonschema is None:
            skip(self, "needs python3-jsonschema; scripts/install-deps installs it")
        self.seen = set()  # members, by the place of their description in memory
        for part in parts_of(SCHEMA):
            if is_object(part):
                part["additionalProperties"] = False

    def validator(self, schema):
        return jsonschema.Draft202012Validator({**schema, "$defs": SCHEMA["$defs"]})

    def note(self, schema, value):
        """Which members of the schema the value has, which is valid by it."""
        if "$ref" in schema:
            return self.note(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], value)
        for one in schema.get("oneOf", ()):
            if self.validator(one).is_valid(value):
                self.note(one, value)
        if isinstance(value, list):
            for item in value:
                self.note(schema["items"], item)
        elif is_object(schema):
            for name, of in value.items():
                self.seen.add(id(schema["properties"][name]))
                self.note(schema["properties"][name], of)
        return None

    def judge(self, name, text):
        """Each line, as $defs/name has it."""
        self.assertTrue(text.strip(), name)
        for line in text.splitlines():
            value = json.loads(line)
            errors = [f"{e.json_path}: {e.message}" for e in
                      self.validator(SCHEMA["$defs"][name]).iter_errors(value)]
            self.assertEqual(errors, [], (name, line))
            self.note(SCHEMA["$defs"][name], value)

    def prints(self, name, *words, status=0, stdin=None):
        text = self.expect(status, *words, "--json", stdin=stdin)
        self.judge(name, text)
        return text

    def runs(self, *words, status=0, until=None, then=lambda: None):
        """`redlock run`, whose lines stand on standard error; `then` is called once one has `until`."""
        with subprocess.Popen([TOOL, "run", "--json", *words], stderr=subprocess.PIPE, text=True) as process:
            try:
                text = ""
                for line in process.stderr:
                    text += line
                    if until and re.search(until, line):
                        until = None
                        then()
                self.assertEqual(process.wait(LONGEST_S), status, text)
            finally:
                process.kill()
        self.assertIsNone(until, text)
        self.judge("run", text)

    # --- what is printed, one case for each kind

    def resource_states(self):
        name = self.resource
        self.prints("inspect", "inspect", name)
        with running("run", "--note", "by hand", name, "--", "sh", "-c", "echo begun >&2; cat", until="begun"):
            self.prints("inspect", "inspect", name)
            self.prints("list", "list", name)
            with running("run", "--verbose", "--wait", "forever", name, "--", "true", until="waiting"):
                self.prints("inspect", "inspect", name)
        for note in ("one", "two"):
            self.expect(0, "acquire", "--shared", "--note", note, f"{name}-shared")
        self.prints("inspect", "inspect", f"{name}-shared")
        for note in ("one", "two"):
            self.expect(0, "acquire", "--slots", "3", "--note", note, f"{name}-slots")
        self.prints("inspect", "inspect", f"{name}-slots")
        self.prints("inspect", "inspect", name, "--node", f"127.0.0.1:{self.nobody}", status=121)

    def leases(self):
        name = self.resource + "-lease"
        token = json.loads(self.prints("acquire", "acquire", name))["token"]
        self.prints("extend", "extend", stdin=token)
        self.prints("release", "release", stdin=token)
        self.prints("acquire", "acquire", "--slots", "4", "--permits", "2", f"{name}-slots")
        self.expect(0, "acquire", name)
        self.prints("revocation", "release", "--force", "--yes", name)

    def watching(self):
        def lines(name):
            with subprocess.Popen([TOOL, "watch", "--json", name], stdout=subprocess.PIPE, text=True) as process:
                try:
                    self.judge("watch", process.stdout.readline())
                finally:
                    process.kill()
        lines(f"{self.resource}-free")
        for note in ("one", "two"):
            self.expect(0, "acquire", "--shared", "--note", note, f"{self.resource}-watched")
        lines(f"{self.resource}-watched")
        self.expect(0, "acquire", "--note", "by hand", f"{self.resource}-alone")
        lines(f"{self.resource}-alone")

    def running_commands(self):
        name = self.resource + "-run"
        self.runs(name, "--", "true")
        for inner in ([name], [name, f"{name}-2"]):
            self.runs("--verbose", name, f"{name}-2", "--", TOOL, "run", "--json", *inner, "--", "true")
        self.runs("--slots", "4", "--permits", "2", f"{name}-slots", "--", "true")
        token = self.expect(0, "acquire", "--note", "by hand", f"{name}-held")
        self.runs("--wait", "forever", f"{name}-free", f"{name}-held", "--", "true", until='"kind":"waiting"',
                  then=lambda: self.expect(0, "release", stdin=token))
        shared = self.expect(0, "acquire", "--shared", f"{name}-shared")
        self.runs("--wait", "forever", f"{name}-shared", "--", "true", until='"kind":"waiting"',
                  then=lambda: self.expect(0, "release", stdin=shared))
        slot = self.expect(0, "acquire", "--slots", "1", f"{name}-slot")
        self.runs("--wait", "forever", "--slots", "1", f"{name}-slot", "--", "true", until='"kind":"waiting"',
                  then=lambda: self.expect(0, "release", stdin=slot))
        self.expect(0, "acquire", f"{name}-kept")
        self.runs("--verbose", f"{name}-free", f"{name}-kept", "--", "true", status=120)
        self.runs("--verbose", "--wait", "2s", "--node", f"127.0.0.1:{self.nobody}", name, "--", "true", status=121)
        self.expect(0, "run", "--record", "1m", name, "--", "true")
        self.prints("last", "last", name)

    def lists_of_nodes(self):
        self.prints("doctor", "doctor")
        self.prefix = "one:"
        one = self.list_of((0, None))
        self.expect(0, "run", "--config", one, "r", "--", "true")
        self.prints("doctor", "doctor", "--config", one, status=1)
        self.prints("doctor", "doctor", "--node", f"127.0.0.1:{self.nobody}", status=2)
        self.prefix = "declared:"
        self.prints("init", "init", "--yes", "--config", self.list_of((0, None), (1, None)))
        self.prefix = "changing:"
        _, joint = self.changing(2)
        self.prints("inspect", "inspect", "--config", joint, "r")
        self.prints("commit", "commit", "--yes", "--config", joint)

    def test_each_member_is_printed(self):
        self.resource_states()
        self.leases()
        self.watching()
        self.running_commands()
        self.lists_of_nodes()
        self.prints("bench", "bench", "--yes", "--each", "100ms", "--workers", "2")
        self.prints("version", "--version")
        never = [f"{where}/{name}" for where, of in SCHEMA["$defs"].items() for part in parts_of(of) if is_object(part)
                 for name, member in part["properties"].items() if id(member) not in self.seen]
        self.assertEqual(never, [])

    def test_a_member_that_the_schema_does_not_have_is_found(self):
        with self.assertRaises(AssertionError):
            self.judge("version", '{"version": "1", "other": 1}')


if __name__ == "__main__":
    unittest.main()
