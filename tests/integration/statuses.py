# Each exit status that docs/command.md names, provoked; knows no message of the command.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_TOOL=FILE statuses.py [TEST...]

REDLOCK_CONFIG names three nodes. A status that the page names and no method here, or the other way
round, is a failure.
"""
import pathlib
import re
import subprocess
import unittest

from on_nodes import CONFIG, LONGEST_S, OnNodes, TOOL, running

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "command.md"


def statuses_of_page():
    """Of each command that has such a list: what stands before the meanings."""
    out = {}
    for part in PAGE.read_text(encoding="utf-8").split("\n## redlock ")[1:]:
        name = part.split("\n")[0]
        if one := re.search(r"^Exit status: (\d+)", part, re.M):
            out[name] = {one[1]}
        if some := re.search(r"^Exit status:\n\n((?:[- ].*\n)+)", part, re.M):
            out[name] = set(re.findall(r"^- `?(\d+(?:\+n)?|CMD's own)\b", some[1], re.M))
    return out


def options_of_page():
    """(command, each way to write an option of it)."""
    for part in PAGE.read_text(encoding="utf-8").split("\n## redlock ")[1:]:
        for option in re.findall(r"^- `([^`]*)`", part, re.M):
            if spellings := re.findall(r"(?<!\S)--?[a-zA-Z][\w-]*", option):
                yield part.split("\n")[0], spellings


def is_used(command, spellings, tests):
    """In a call of that command; tests of run often leave its name to a helper."""
    option = "|".join(map(re.escape, spellings))
    calls = [rf'"{command}"[^;]{{0,300}}?"(?:{option})["= ]', rf'\b{command} [^"\n]*(?:{option})[" =]']
    if command == "run":
        calls.append(rf'[" ](?:{option})[" =]')
    return any(re.search(call, tests) for call in calls)


def method_of(command, status):
    words = {"128+n": "of_a_signal", "CMD's own": "of_cmd"}
    return f"test_{command}_{words.get(status, status)}"


class Statuses(OnNodes):
    def test_the_page_and_this_file(self):
        named = {method_of(command, s) for command, all_of in statuses_of_page().items() for s in all_of}
        here = {m for m in dir(self) if re.search(r"test_[a-z]+_(\d+|of_a_signal|of_cmd)$", m)}
        self.assertGreater(len(named), 40)
        self.assertEqual(named, here)

    def test_each_option_is_used_by_a_test(self):
        tests = "".join(path.read_text(encoding="utf-8") for path in PAGE.parents[1].glob("tests/integration/*.*"))
        # outputs.py gives --json to each command.
        unused = [one for one in options_of_page() if one[1] != ["--json"] and not is_used(*one, tests)]
        self.assertEqual(unused, [])

    # --- run

    def test_run_of_cmd(self):
        self.expect(7, "run", self.resource, "--", "sh", "-c", "exit 7")

    def test_run_of_a_signal(self):
        self.expect(137, "run", self.resource, "--", "sh", "-c", "kill -9 $$")
        self.token()
        self.signalled("run", "--verbose", "--wait", "forever", self.resource, "--", "true", until="waiting")

    def test_run_120(self):
        self.token()
        self.expect(120, "run", self.resource, "--", "true")
        self.expect(9, "run", "--conflict-exit-code", "9", self.resource, "--", "true")

    def test_run_121(self):
        self.dead("run", self.resource, "--", "true")

    def test_run_122(self):
        with running("run", self.resource, "--", "sh", "-c", "echo begun >&2; cat", until="begun") as process:
            self.expect(0, "release", "--force", "--yes", self.resource)
            process.stdin.close()
            self.assertEqual(process.wait(LONGEST_S), 122)

    def test_run_124(self):
        self.expect(124, "run", "--watchdog", "1s", self.resource, "--", "sleep", "60")

    def test_run_125(self):
        self.expect(125, "run", "--ttl", "0s", self.resource, "--", "true")

    def test_run_126(self):
        self.expect(126, "run", self.resource, "--", self.folder)

    def test_run_127(self):
        self.expect(127, "run", self.resource, "--", self.folder + "/none")

    # --- acquire, extend, release

    def test_acquire_0(self):
        self.token()

    def test_acquire_120(self):
        self.token()
        self.expect(120, "acquire", self.resource)
        self.expect(9, "acquire", "--conflict-exit-code", "9", self.resource)

    def test_acquire_121(self):
        self.dead("acquire", self.resource)

    def test_acquire_of_a_signal(self):
        self.token()
        with subprocess.Popen([TOOL, "acquire", "--wait", "forever", self.resource]) as process:
            # It has no word for that it waits: its place in the queue shows it.
            self.until('"waiting":1', process, "inspect", "--json", self.resource)
            process.terminate()
            self.assertEqual(process.wait(LONGEST_S), 143)

    def test_acquire_125(self):
        self.expect(125, "acquire", "--ttl", "0s", self.resource)

    def test_extend_0(self):
        self.expect(0, "extend", stdin=self.token())

    def test_extend_121(self):
        self.dead("extend", stdin=self.token())

    def test_extend_123(self):
        token = self.token()
        self.expect(0, "release", stdin=token)
        self.expect(123, "extend", stdin=token)

    def test_extend_125(self):
        self.expect(125, "extend", "--ttl", "0s", stdin=self.token())

    def test_release_0(self):
        self.expect(0, "release", stdin=self.token())

    def test_release_121(self):
        self.dead("release", stdin=self.token())

    def test_release_123(self):
        self.expect(123, "release", stdin="none")

    def test_release_125(self):
        self.expect(125, "release", "--force", "--yes")

    # --- looking

    def test_inspect_0(self):
        self.expect(0, "inspect", self.resource)

    def test_inspect_121(self):
        self.dead("inspect", self.resource)

    def test_inspect_125(self):
        self.expect(125, "inspect", "")

    def test_last_0(self):
        self.expect(0, "run", "--record", "1m", self.resource, "--", "true")
        self.expect(0, "last", self.resource)

    def test_last_121(self):
        self.dead("last", self.resource)

    def test_last_125(self):
        self.expect(125, "last", "")

    def test_list_0(self):
        self.expect(0, "list")

    def test_list_121(self):
        self.dead("list")

    def test_list_125(self):
        self.expect(125, "list", "a", "b")

    def test_watch_125(self):
        self.expect(125, "watch", "")

    def test_doctor_0(self):
        self.expect(0, "run", self.resource, "--", "true")
        self.expect(0, "doctor")

    def test_doctor_1(self):
        one = self.list_of((0, None))
        self.expect(0, "run", "--config", one, "r", "--", "true")
        self.expect(1, "doctor", "--config", one)

    def test_doctor_2(self):
        self.expect(2, "doctor", "--node", f"127.0.0.1:{self.nobody}")

    def test_doctor_125(self):
        self.expect(125, "doctor", "--ready", "nobody")

    # --- init and commit

    def test_init_0(self):
        self.expect(0, "init", "--yes", "--config", self.list_of((0, None), (1, None)))

    def test_init_121(self):
        self.dead("init", "--yes")

    def test_init_125(self):
        self.expect(125, "init", "--config", CONFIG, stdin="")

    def test_commit_0(self):
        _, joint = self.changing(2)
        self.expect(0, "commit", "--yes", "--config", joint)

    def test_commit_1(self):
        _, joint = self.changing(2, None)
        self.expect(1, "commit", "--yes", "--config", joint)

    def test_commit_120(self):
        old, joint = self.changing(2)
        with running("run", "--config", old, "--ttl", "2s", "r", "--", "sh", "-c", "echo begun >&2; cat",
                     until="begun"):
            self.expect(120, "commit", "--yes", "--wait", "1s", "--config", joint)
            self.expect(1, "commit", "--yes", "--despite-old-programs", "--config", joint)

    def test_commit_121(self):
        old, joint = self.changing(None, others="leaving")
        self.expect(121, "commit", "--yes", "--config", joint)
        self.expect(0, "run", "--config", old, "r", "--", "true")

    def test_commit_125(self):
        self.expect(125, "commit", "--yes")

    # --- bench

    def test_bench_0(self):
        self.expect(0, "bench", "--yes", "--each", "100ms", "--workers", "2")

    def test_bench_121(self):
        self.dead("bench", "--yes", "--each", "100ms")

    def test_bench_of_a_signal(self):
        with subprocess.Popen([TOOL, "bench", "--yes", "--each", "1m"]) as process:
            self.until("redlock-bench:", process, "list")
            process.terminate()
            self.assertEqual(process.wait(LONGEST_S), 143)

    def test_bench_125(self):
        self.expect(125, "bench", "--yes", "--each", "0s")


if __name__ == "__main__":
    unittest.main()
