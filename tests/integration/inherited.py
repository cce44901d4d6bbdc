# The command as parents of all kinds start it, and what is left when it is killed, from outside.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_TOOL=FILE inherited.py [TEST...]

Starts redlock with signals blocked or ignored, streams closed, limits set and the working directory
gone. Redlock does its work, and CMD finds all of that as it would without redlock in front of it.
"""
import contextlib
import itertools
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import time
import unittest

LONGEST_S = 60  # ends what hangs; judges no speed
TOOL = os.environ["REDLOCK_TOOL"]
CATCHABLE = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
# What a process got from its parent, by its own words.
FACTS = ["sh", "-c", "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status; ulimit -a; umask; nice"]


def block(*signals):
    return lambda: signal.pthread_sigmask(signal.SIG_SETMASK, signals)


def ignore(*signals):
    def set_up():
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
    return set_up


def close(*descriptors):
    def set_up():
        for number in descriptors:
            os.close(number)
    return set_up


def limit(what, value):
    return lambda: resource.setrlimit(what, (value, resource.getrlimit(what)[1]))


def start(words, set_up, **more):
    # Python's own SIGPIPE and SIGXFSZ are not passed on.
    return subprocess.Popen(words, preexec_fn=set_up, text=True, start_new_session=True,
                            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                               "stderr": subprocess.PIPE, **more})


def finish(process):
    try:
        out, err = process.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, out, err


def redlock(*words):
    return [TOOL, *words]


def until(condition, what):
    end = time.monotonic() + LONGEST_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not in time: {what}")
        time.sleep(0.005)


def inspect(name):
    said = subprocess.run(redlock("inspect", "--json", name), check=True, capture_output=True)
    return json.loads(said.stdout)


def state_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def is_alive(pid):
    return state_of(pid) not in "ZX"


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def group_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[2])


class Holder:
    """A redlock run that holds the lock while it is in the block."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        words = redlock("run", self.name, "--", "sh", "-c", "echo up; read line")
        self.process = start(words, None, stdin=subprocess.PIPE)
        assert self.process.stdout.readline() == "up\n"
        return self

    def __exit__(self, *_):
        assert finish(self.process)[0] == 1  # at the end of its input


class Inherited(unittest.TestCase):
    def setUp(self):
        self.name = self.id()

    def check_that_it_works(self, set_up):
        seven = redlock("run", self.name, "--", "sh", "-c", "exit 7")
        self.assertEqual(finish(start(seven, set_up))[0], 7)
        plain = finish(start(FACTS, set_up))
        self.assertIn("SigBlk", plain[1])
        self.assertEqual(finish(start(redlock("run", self.name, "--", *FACTS), set_up)), plain)
        nested = redlock("run", self.name, "--", TOOL, "run", self.name, "--", *FACTS)
        self.assertEqual(finish(start(nested, set_up)), plain)
        self.assertFalse(inspect(self.name)["held"])

    def test_blocked_signals(self):
        self.check_that_it_works(block(signal.SIGCHLD))
        self.check_that_it_works(block(*CATCHABLE))

    def test_ignored_signals(self):
        self.check_that_it_works(ignore(signal.SIGCHLD))
        self.check_that_it_works(ignore(*CATCHABLE))

    def test_a_waiter_can_be_ended_where_its_parent_blocked_the_signal(self):
        with Holder(self.name):
            for words in (["run", "--wait", "60s", self.name, "--", "true"],
                          ["acquire", "--wait", "60s", self.name]):
                waiter = start(redlock(*words), block(*CATCHABLE))
                until(lambda: inspect(self.name)["waiting"] == 1, "it waits")
                waiter.terminate()
                self.assertEqual(finish(waiter)[0], 128 + signal.SIGTERM, words)

    def test_what_is_ignored_ends_no_waiter(self):
        with Holder(self.name) as holder:
            waiters = [start(redlock(*words), ignore(signal.SIGHUP))
                       for words in (["run", "--wait", "60s", self.name, "--", "true"],
                                     ["acquire", "--wait", "60s", "--ttl", "4s", self.name])]
            until(lambda: inspect(self.name)["waiting"] == 2, "both wait")
            for waiter in waiters:
                waiter.send_signal(signal.SIGHUP)
            holder.process.stdin.close()
            holder.process.stdin = None
            for waiter in waiters:
                self.assertEqual(finish(waiter)[0], 0)

    def test_limits_and_what_else_is_inherited(self):
        self.check_that_it_works(limit(resource.RLIMIT_NOFILE, 32))
        self.check_that_it_works(limit(resource.RLIMIT_FSIZE, 0))
        self.check_that_it_works(lambda: os.nice(19))
        self.check_that_it_works(lambda: os.umask(0o777))

    def test_a_limit_that_is_too_low_is_named(self):
        words = redlock("run", self.name, "--", "true")
        got = finish(start(words, limit(resource.RLIMIT_NOFILE, 6)))
        self.assertEqual(got, (125, "", "redlock: the system refused what redlock needs: "
                               "Too many open files: raise ulimit -n\n"))

    def test_streams_that_are_closed(self):
        """No connection gets their numbers, and CMD finds them closed."""
        look = ["sh", "-c", "s=; for n in 0 1 2; do [ ! -h /proc/$$/fd/$n ] || s=$s$n; done; "
                            "echo open: $s >\"$0\"; sleep 60"]
        with tempfile.TemporaryDirectory() as folder:
            for count in (1, 2, 3):
                for closed in itertools.combinations(range(3), count):
                    said = os.path.join(folder, "said")
                    pathlib.Path(said).write_text("")
                    words = redlock("run", self.name, "--", *look, said)
                    running = start(words, close(*closed), stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
                    expected = "open: " + "".join(str(n) for n in range(3) if n not in closed)
                    until(lambda: pathlib.Path(said).read_text().endswith("\n"), "CMD has looked")
                    self.assertEqual(pathlib.Path(said).read_text().strip(), expected.strip())
                    for number in range(3):
                        stream = os.readlink(f"/proc/{running.pid}/fd/{number}")
                        self.assertEqual(stream, "/dev/null")
                    running.terminate()
                    self.assertEqual(finish(running)[0], 128 + signal.SIGTERM)

    def test_a_file_that_may_not_grow_ends_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            token = os.path.join(folder, "token")
            got = finish(start(redlock("acquire", "--token-file", token, self.name),
                               limit(resource.RLIMIT_FSIZE, 0)))
            self.assertEqual(got[0], 125)
            self.assertIn("File too large", got[2])
            self.assertFalse(inspect(self.name)["held"])
            with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
                running = start(redlock("run", "--json", self.name, "--", "sh", "-c", "exit 4"),
                                limit(resource.RLIMIT_FSIZE, 0), stderr=log)
                self.assertEqual(finish(running)[0], 4)

    def test_what_cmd_leaves_behind_goes_on(self):
        line = "sleep 60 >/dev/null 2>&1 & echo $!"
        status, out, _ = finish(start(redlock("run", self.name, "--", "sh", "-c", line), None))
        self.assertEqual(status, 0)
        self.assertTrue(is_alive(int(out)))
        os.kill(int(out), signal.SIGKILL)

    def test_a_working_directory_that_is_gone(self):
        folder = tempfile.mkdtemp()

        def leave():
            os.chdir(folder)
            os.rmdir(folder)
        self.assertEqual(finish(start(redlock("run", self.name, "--", "true"), leave)), (0, "", ""))
        os.mkdir(folder)
        words = redlock("--config", "nodes.json", "run", self.name, "--", "true")
        got = finish(start(words, leave))
        self.assertEqual(got[0], 125)
        self.assertIn("nodes.json: can't be read", got[2])


class Killed(unittest.TestCase):
    """What CMD's group comes to when redlock itself is killed."""

    TREE = "sleep 60 & sh -c 'trap : TERM HUP; sleep 60 & wait; sleep 60' & echo up; wait"

    def setUp(self):
        self.name = self.id()
        self.running = start(redlock("run", self.name, "--", "sh", "-c", self.TREE), None)
        self.addCleanup(self.running.stderr.close)
        self.addCleanup(self.running.stdout.close)
        self.assertEqual(self.running.stdout.readline(), "up\n")
        until(lambda: len(children(self.running.pid)) == 2, "CMD and its watcher")
        mine = children(self.running.pid)
        self.cmd = next(pid for pid in mine if
                        pathlib.Path(f"/proc/{pid}/cmdline").read_text().startswith("sh\0"))
        self.watcher = next(pid for pid in mine if pid != self.cmd)
        self.addCleanup(self.end_group)
        until(lambda: len(self.group()) == 5, "all of the group")

    def group(self):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if is_alive(pid) and group_of(pid) == self.cmd:
                    found.append(int(pid))
            except (FileNotFoundError, ProcessLookupError):
                pass
        return found

    def end_group(self):
        for pid in self.group():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def expect_nothing_left(self):
        self.running.wait(LONGEST_S)
        until(lambda: not self.group(), "the whole group is gone")

    def test_redlock_alone(self):
        self.running.kill()
        self.expect_nothing_left()

    def test_redlock_and_its_process_group(self):
        os.killpg(self.running.pid, signal.SIGKILL)
        self.expect_nothing_left()

    def test_while_the_group_is_stopped(self):
        os.killpg(self.cmd, signal.SIGSTOP)
        until(lambda: all(state_of(pid) == "T" for pid in self.group()), "all are stopped")
        self.running.kill()
        self.expect_nothing_left()

    def test_signals_to_the_group_do_not_end_the_watcher(self):
        for number in (signal.SIGUSR1, signal.SIGHUP, signal.SIGTERM):
            os.kill(self.watcher, number)
        self.assertEqual(len(self.group()), 5)
        self.running.kill()
        self.expect_nothing_left()

    def test_with_the_watcher_the_kernel_ends_cmd(self):
        os.kill(self.watcher, signal.SIGKILL)
        self.running.kill()
        self.running.wait(LONGEST_S)
        until(lambda: not is_alive(self.cmd), "CMD is gone")
        self.assertNotEqual(self.group(), [])  # what CMD started is left: documented


if __name__ == "__main__":
    unittest.main()
