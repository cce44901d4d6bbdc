# The examples in the help of the command, each of them run; knows no internals.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_TOOL=FILE examples.py

Each example is typed as it stands in `redlock help COMMAND`, in the order of the commands, in a
folder that has the files which they name. Questions are answered with yes.
"""
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

LONGEST_S = 120  # ends what hangs; judges no speed
TOOL = os.environ["REDLOCK_TOOL"]
SCRIPTS = ("report.sh", "deploy.sh", "collect.sh", "nightly.sh")


def said(*words):
    return subprocess.run([TOOL, "help", *words], check=True, capture_output=True, text=True).stdout


def commands():
    listed = said().split("\nCommands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)


def port_of(node):
    return int((node if isinstance(node, str) else node["port"]).rstrip("/").rsplit(":", 1)[1])


def examples_of(command):
    return re.findall(r"^  (redlock .*)$", said(command).split("\nExample")[1], re.MULTILINE)


class Examples(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="redlock-examples-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "redlock").symlink_to(TOOL)
        shutil.copy(os.environ["REDLOCK_CONFIG"], self.folder / "nodes.json")
        # The last node leaves, by records of their own under another prefix: the other examples need it.
        listed = json.loads((self.folder / "nodes.json").read_text()) | {"key_prefix": "joint:"}
        listed["nodes"] = [{"host": "127.0.0.1", "port": port_of(node)} for node in listed["nodes"]]
        joint = self.folder / "joint.json"
        joint.write_text(json.dumps(listed))
        subprocess.run([TOOL, "init", "--yes", "--config", joint], check=True, capture_output=True)
        listed["nodes"][-1]["change"] = "leaving"
        joint.write_text(json.dumps(listed))
        for name in SCRIPTS:
            script = self.folder / name
            script.write_text("#!/bin/sh\necho ran\n")
            script.chmod(0o755)

    def type(self, call):
        """The exit status and what was printed; what goes on by itself is ended after its first
        output."""
        ours, theirs = pty.openpty()
        os.write(ours, b"yes\n")
        running = subprocess.Popen(
            "exec " + call, shell=True, cwd=self.folder, stdin=theirs, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
            env=os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}"})
        try:
            first = running.stdout.readline()
            if call.startswith("redlock watch"):
                running.send_signal(signal.SIGTERM)
            rest, _ = running.communicate(timeout=LONGEST_S)
        finally:
            running.kill()
            running.wait()
            os.close(ours)
            os.close(theirs)
        return running.returncode, first + rest

    def test_each_does_what_it_says(self):
        found = commands()
        self.assertIn("run", found)
        for command in found:
            calls = examples_of(command)
            self.assertTrue(calls, command)
            for call in calls:
                with self.subTest(call):
                    status, output = self.type(call)
                    self.assertEqual(status, -signal.SIGTERM if command == "watch" else 0, output)
                    if command == "run":
                        self.assertIn("ran", output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
