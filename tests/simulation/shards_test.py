#!/usr/bin/env python3
# Shows what mutants.py --shard, --compile and a wider excuse do; builds no product.
# SPDX-License-Identifier: MIT
"""usage: shards_test.py PROJECT BUILD [TEST...]"""
import contextlib
import io
import json
import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

import mutants

PROJECT, BUILD = map(pathlib.Path, sys.argv[1:3])
LISTED = json.loads((PROJECT / "tests/simulation/mutants.json").read_text(encoding="utf-8"))
NAMES = [mutant["name"] for mutant in LISTED]


def options(*more):
    with unittest.mock.patch.object(sys, "argv", ["mutants.py", str(PROJECT), str(BUILD), *more]):
        return mutants.arguments()


def part(shard, *more, of=None):
    return [m["name"] for m in mutants.are_chosen(of or LISTED, options("--shard", shard, *more))]


class Shards(unittest.TestCase):
    def test_the_parts_are_all_bugs_each_once(self):
        for parts in (1, 2, 5, 7):
            shares = [part(f"{i}/{parts}") for i in range(1, parts + 1)]
            self.assertEqual(sorted(sum(shares, [])), sorted(NAMES))
            self.assertLessEqual(max(map(len, shares)) - min(map(len, shares)), 1)
            for share in shares:
                self.assertEqual(share, [name for name in NAMES if name in share])

    def test_a_part_stays_where_the_list_has_another_order(self):
        self.assertEqual(set(part("2/5", of=LISTED[::-1])), set(part("2/5")))

    def test_a_part_of_those_that_are_named(self):
        named = [name for name in NAMES if "token" in name]
        self.assertGreater(len(named), 2)
        self.assertEqual(sorted(part("1/2", "--only", "token") + part("2/2", "--only", "token")), sorted(named))

    def test_what_is_no_part_is_refused(self):
        for wrong in ("0/5", "6/5", "1", "/", "a/b", "-1/5", "1/0"):
            with self.subTest(wrong), contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertRaises(SystemExit, options, f"--shard={wrong}")
                self.assertIn("is no part", said.getvalue())

    def test_the_log_has_a_line_for_each_bug(self):
        verdicts = {"NOT CAUGHT by 5 seeds": False, "seed 7, exclusion": True}
        # The clean program is built, and each bug; what finds it is said here.
        with unittest.mock.patch.multiple(
                mutants, build=lambda *_: BUILD / "program", run_test=lambda *_: 0,
                judged=unittest.mock.Mock(side_effect=[*verdicts.items(), mutants.BuildFailed("why\nthere")])), \
                unittest.mock.patch.object(sys, "argv", ["mutants.py", str(PROJECT), str(BUILD), "--shard", "1/70",
                                                         "--sample", "3", "--clean", "clean"]), \
                contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(mutants.main(), 2)
        lines = [line.split("\t") for line in (BUILD / "shard-1-of-70.log").read_text().splitlines()]
        self.assertEqual([verdict for _, verdict, _ in lines], [*verdicts, "DOES NOT BUILD"])
        self.assertTrue(all(name in part("1/70") and re.fullmatch(r"\d+", seconds) for name, _, seconds in lines))
        self.assertTrue(said.getvalue().endswith("1 of 3 caught\n"))


class Compiling(unittest.TestCase):
    def wrong(self, *swaps, file="a.cpp", text="int one() { return 1; }\nint two() { return 2; }\n"):
        """The names of those that do not compile, and how many groups they were in."""
        with tempfile.TemporaryDirectory() as folder:
            project = pathlib.Path(folder)
            (project / file).write_text(text, encoding="utf-8")
            listed = [{"name": str(i), "file": file, "swap": [swap]} for i, swap in enumerate(swaps)]
            groups = mutants.together(listed, project)
            found = [each for group in groups for each in mutants.what_is_wrong(*group, project)]
            return [name for name, _ in found], len(groups)

    def test_bugs_of_a_file_are_compiled_together(self):
        self.assertEqual(self.wrong(["1;", "3;"], ["2;", "4;"]), ([], 1))

    def test_one_that_does_not_compile_is_named_alone(self):
        self.assertEqual(self.wrong(["1;", "3;"], ["2;", "no;"]), (["1"], 1))

    def test_a_script_that_is_no_lua_is_named(self):
        self.assertEqual(self.wrong(["1", "2"], ["if x then", "if x do"], file="a.lua", text="if x then y = 1 end\n"),
                         (["1"], 1))

    def test_bugs_of_one_line_are_compiled_apart(self):
        self.assertEqual(self.wrong(["1;", "3;"], ["1;", "4;"], ["return 1", "return no"]), (["2"], 3))


class Excuses(unittest.TestCase):
    def test_a_bug_that_a_wider_excuse_does_not_hide_is_not_caught(self):
        mutant = {"name": "a", "file": "a.cpp", "swap": [],
                  "hidden_by": [{"world": "c.txt", "file": "b.hpp", "swap": []}]}

        @contextlib.contextmanager
        def built_with(of, *_):
            yield [edit["file"] for edit in mutants.edits(of)]

        # The status of the world with the bug, and with the excuse beside it.
        for alone, both, is_caught in ((1, 0, True), (1, 1, False), (0, 0, False)):
            def simulate(program, _, *words, alone=alone, both=both):
                self.assertEqual(words, ("--world", "worlds/c.txt"))
                return unittest.mock.Mock(returncode={"a.cpp": alone, "a.cpp b.hpp": both}[" ".join(program)])

            with unittest.mock.patch.multiple(mutants, built_with=built_with, simulate=simulate,
                                              judge=lambda *_: ("seed 7, available", True)):
                self.assertEqual(mutants.judged(BUILD, "clean", mutant, None, "worlds")[1], is_caught)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
