# scripts/nodes on folders that others made or can write to, from outside; starts no server.
# SPDX-License-Identifier: MIT
"""usage: nodes.py [TEST...]

Checks that scripts/nodes refuses such a folder, whatever command it gets, and leaves it as it is.
A redis-server in PATH that only notes that it was called stands in for the real one.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from skipping import skip

NODES = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "nodes"
SOMEBODY_ELSE = 65534
LONGEST_S = 60  # ends what hangs; judges no speed


class FoldersOfOthers(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="redlock-nodes-test-"))
        self.addCleanup(shutil.rmtree, self.work)
        self.folder = self.work / "nodes"
        (self.work / "bin").mkdir()
        server = self.work / "bin" / "redis-server"
        server.write_text(f"#!/bin/sh\necho called >>'{self.work}/called'\nexit 1\n")
        server.chmod(0o755)

    def run_nodes(self, *words):
        environment = {**os.environ, "REDLOCK_NODES_DIR": str(self.folder),
                       "PATH": f"{self.work / 'bin'}:{os.environ['PATH']}"}
        return subprocess.run([NODES, *words], env=environment, capture_output=True, text=True,
                              timeout=LONGEST_S, check=False)

    def was_called(self):
        return (self.work / "called").exists()

    def fill(self, folder):
        """As `up` leaves it: the configuration, and the folder of one master."""
        folder.mkdir(mode=0o700)
        (folder / "nodes.json").write_text('{"nodes": [\n"redis://127.0.0.1:1"\n]}\n')
        (folder / "1").mkdir()
        (folder / "1" / "pid").write_text("1\n")

    def expect_refusal(self, remark):
        before = sorted(str(p) for p in self.work.rglob("*"))
        for words in (["up", "1", "--port", "1"], ["status"], ["down"]):
            with self.subTest(" ".join(words)):
                got = self.run_nodes(*words)
                self.assertEqual(got.returncode, 1, got.stderr)
                self.assertIn(remark, got.stderr)
                self.assertIn("REDLOCK_NODES_DIR", got.stderr)
                self.assertEqual(got.stdout, "")
        self.assertEqual(sorted(str(p) for p in self.work.rglob("*")), before)
        self.assertFalse(self.was_called())

    def test_one_that_belongs_to_another_user(self):
        if os.geteuid() != 0:
            skip(self, "needs root, to give a folder away; run it as root")
        self.fill(self.folder)
        os.chown(self.folder, SOMEBODY_ELSE, SOMEBODY_ELSE)
        self.expect_refusal("is not a folder of yours")

    def test_a_link_to_a_folder(self):
        self.fill(self.work / "elsewhere")
        self.folder.symlink_to(self.work / "elsewhere")
        self.expect_refusal("is not a folder of yours")

    def test_a_link_to_nothing(self):
        self.folder.symlink_to(self.work / "elsewhere")
        self.expect_refusal("is not a folder of yours")

    def test_a_file(self):
        self.folder.write_text("")
        self.expect_refusal("is not a folder of yours")

    def test_one_that_the_group_or_all_can_write_to(self):
        self.fill(self.folder)
        for mode in (0o770, 0o702, 0o1777):
            self.folder.chmod(mode)
            self.expect_refusal("others can write to")

    def test_ones_own_is_taken(self):
        """Else what was refused before may have been refused for another reason."""
        self.fill(self.folder)
        shutil.rmtree(self.folder / "1")
        got = self.run_nodes("up", "1", "--port", "1")
        self.assertIn("redis-server did not start", got.stderr)
        self.assertTrue(self.was_called())
        self.assertEqual(self.run_nodes("down").returncode, 0)
        self.assertFalse(self.folder.exists())

    def test_a_new_one_is_closed_to_others_whatever_the_umask(self):
        previous = os.umask(0)
        self.addCleanup(os.umask, previous)
        self.run_nodes("up", "1", "--port", "1")
        self.assertEqual(self.folder.stat().st_mode & 0o777, 0o700)


if __name__ == "__main__":
    unittest.main(verbosity=2)
