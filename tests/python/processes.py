# Processes in Python: signals, forks, the interpreter's end, and a counter that programs in C++ share.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_TOOL=FILE REDLOCK_LIBRARY=FILE PYTHONPATH=DIR processes.py [TEST...]"""
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import redlock_quorum as redlock
from redlock_quorum import _locks
from locks import LONGEST_S, await_value

TOOL = os.environ["REDLOCK_TOOL"]


def python(program, *words, **how):
    begin = "import sys\nimport redlock_quorum as redlock\n"
    return subprocess.Popen([sys.executable, "-c", begin + program, *words],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)


class Processes(unittest.TestCase):
    def setUp(self):
        self.client = redlock.Client.from_environment()
        self.addCleanup(self.client.close)

    def state(self):
        return self.client.inspect(self.id())

    def await_waiting(self, programs):
        await_value(self, "programs that wait", lambda: self.state()["waiting"], programs)

    def end_of(self, process):
        with process:
            try:
                out, err = process.communicate(timeout=LONGEST_S)
                return process.returncode, out, err
            finally:
                process.kill()

    def test_an_interrupt_ends_a_wait_at_once(self):
        with self.client.lock(self.id()):
            # Whose parents ignore it, as shells let commands in the background do, ignores it, too.
            waits = python("import signal\n"
                           "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                           "redlock.Client.from_environment().lock(sys.argv[1], wait=1000).acquire()",
                           self.id())
            self.await_waiting(1)
            waits.send_signal(signal.SIGINT)
            status, _, said = self.end_of(waits)
            self.assertEqual(status, -signal.SIGINT)
            self.assertIn("KeyboardInterrupt", said)
            self.await_waiting(0)
        self.assertFalse(self.state()["held"])

    def test_a_handler_that_returns_lets_the_wait_go_on(self):
        program = """
import signal
signal.signal(signal.SIGUSR1, lambda *_: print("handled", flush=True))
with redlock.Client.from_environment().lock(sys.argv[1], wait=1000) as lease:
    print("held", flush=True)
"""
        lease = self.client.lock(self.id()).acquire()
        waits = python(program, self.id())
        self.await_waiting(1)
        waits.send_signal(signal.SIGUSR1)
        self.assertEqual(waits.stdout.readline(), "handled\n")  # during the wait
        self.await_waiting(1)
        lease.release()
        self.assertEqual(self.end_of(waits)[:2], (0, "held\n"))

    def test_a_handler_costs_no_place_in_line(self):
        program = """
import signal
signal.signal(signal.SIGUSR1, lambda *_: print("handled", flush=True))
with redlock.Client.from_environment().lock(sys.argv[1], wait=1000) as lease:
    print(lease.fence, flush=True)
"""
        lease = self.client.lock(self.id()).acquire()
        first = python(program, self.id())
        self.await_waiting(1)
        second = python(program, self.id())
        self.await_waiting(2)
        first.send_signal(signal.SIGUSR1)
        self.assertEqual(first.stdout.readline(), "handled\n")
        self.await_waiting(2)
        lease.release()
        fences = [int(self.end_of(one)[1]) for one in (first, second)]
        self.assertLess(*fences)

    def test_handlers_do_not_starve_a_wait(self):
        program = """
import signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
lock = redlock.Client.from_environment().lock(sys.argv[1], wait=1000)
for turn in range(20):
    with lock as lease:
        pass
signal.setitimer(signal.ITIMER_REAL, 0)
print(turn)
"""
        waits = python(program, self.id())
        lock = self.client.lock(self.id(), wait=LONGEST_S)
        end = time.monotonic() + 2 * LONGEST_S
        while waits.poll() is None:
            with lock:
                time.sleep(0.02)
            if time.monotonic() > end:
                waits.kill()
                self.fail(f"20 turns beside this program are not over after {2 * LONGEST_S} s: {self.end_of(waits)}")
        self.assertEqual(self.end_of(waits)[:2], (0, "19\n"))

    def test_signals_reach_the_descriptor_that_had_them_before(self):
        program = """
import os, signal
reads, writes = os.pipe()
os.set_blocking(writes, False)
signal.set_wakeup_fd(writes)
signal.signal(signal.SIGUSR1, lambda *_: None)
try:
    redlock.Client.from_environment().lock(sys.argv[1], wait=3).acquire()
except redlock.Contended:
    print(os.read(reads, 1)[0], signal.set_wakeup_fd(-1) == writes)
"""
        with self.client.lock(self.id()):
            waits = python(program, self.id())
            self.await_waiting(1)
            waits.send_signal(signal.SIGUSR1)
            self.assertEqual(self.end_of(waits)[:2], (0, f"{int(signal.SIGUSR1)} True\n"))

    def test_the_end_of_the_interpreter_releases(self):
        for end in ("", "sys.exit(0)", "raise SystemExit"):
            ended = python("client = redlock.Client.from_environment()\n"
                           "lease = client.lock(sys.argv[1], ttl=30).acquire()\n" + end, self.id())
            self.assertEqual(self.end_of(ended)[0], 0)
            self.assertFalse(self.state()["held"])

    def test_the_end_of_the_interpreter_releases_what_a_thread_has(self):
        program = """
import threading
has_it = threading.Event()
def work():
    client = redlock.Client.from_environment()
    lease = client.lock(sys.argv[1], ttl=30).acquire()
    has_it.set()
    threading.Event().wait()
threading.Thread(target=work, daemon=True).start()
has_it.wait()
"""
        self.assertEqual(self.end_of(python(program, self.id()))[0], 0)
        self.assertFalse(self.state()["held"])

    def test_the_end_of_a_child_of_multiprocessing_releases(self):
        def work():
            global kept  # until the end, as by a worker of a pool
            kept = redlock.Client.from_environment()
            kept = kept, kept.lock(self.id(), ttl=30).acquire()

        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        child.join()
        self.assertEqual(child.exitcode, 0)
        self.assertFalse(self.state()["held"])

    def test_a_waiting_thread_does_not_keep_the_interpreter(self):
        program = """
import threading
client = redlock.Client.from_environment()
threading.Thread(target=client.lock(sys.argv[1], wait=1000).acquire, daemon=True).start()
while client.stats()["waiting"] == 0:
    pass
"""
        with self.client.lock(self.id()):
            self.assertEqual(self.end_of(python(program, self.id()))[0], 0)
            self.await_waiting(0)

    def test_a_child_leaves_the_lease_to_its_parent(self):
        lease = self.client.lock(self.id()).acquire()
        child = os.fork()
        if child == 0:
            said = []
            for call in (self.client.lock("r").acquire, lambda: lease.extend(5), lease.release,
                         lambda: self.client.inspect("r")):
                try:
                    call()
                except redlock.ForkedError:
                    said.append(True)
            with redlock.Client.from_environment() as own, own.lock(self.id() + "'s child"):
                said.append(not lease.valid)
            os._exit(0 if said == [True] * 5 else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertTrue(lease.valid)
        self.assertFalse(lease.lost.is_set())
        self.assertTrue(self.state()["held"])
        lease.release()

    def test_a_child_looks_at_a_lease_that_a_thread_is_inside_of(self):
        lease = self.client.lock(self.id()).acquire()
        is_inside, may_leave = threading.Event(), threading.Event()

        def be_inside():  # a thread that the child lacks
            with lease._gate, lease._long:
                is_inside.set()
                may_leave.wait()

        inside = threading.Thread(target=be_inside)
        inside.start()
        is_inside.wait()
        try:
            child = os.fork()
            if child == 0:
                said = [lease.valid, lease.remaining, lease.token, lease.lost.is_set(),
                        lease.lost.wait()]
                lease.touch()
                lease.detach()
                try:
                    lease.extend(5)
                except redlock.ForkedError:
                    said.append("refused")
                del lease
                os._exit(0 if said == [False, 0, "", True, True, "refused"] else 1)
            end = time.monotonic() + LONGEST_S
            while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
                time.sleep(0.01)
            if ended[0] == 0:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            self.assertEqual(ended, (child, 0))
        finally:
            may_leave.set()
            inside.join()
        lease.release()

    def test_a_section_in_a_child_is_an_error(self):
        def work():
            try:
                lock.__exit__(None, None, None)
            except redlock.ForkedError:
                sys.exit(7)

        lock = self.client.lock(self.id())
        with lock as lease:
            child = multiprocessing.get_context("fork").Process(target=work)
            child.start()
            child.join()
            self.assertEqual(child.exitcode, 7)
            self.assertTrue(lease.valid)

    def test_24_processes_share_one_counter(self):
        program = """
with redlock.Client.from_environment() as client:
    lock = client.lock(sys.argv[1], wait=1000)
    for _ in range(int(sys.argv[3])):
        with lock:
            with open(sys.argv[2]) as file:
                n = int(file.read())
            with open(sys.argv[2], "w") as file:
                file.write(str(n + 1))
"""
        by_shell = ('i=0; while [ $i -lt "$4" ]; do i=$((i+1)); "$1" run --wait 1000s "$2" -- '
                    'sh -c \'n=$(cat "$0"); echo $((n+1)) >"$0"\' "$3" || exit; done')
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "counter")
            file.write_text("0", encoding="ascii")
            # A sanitizer's runtime, which slows all of it, is preloaded for the interpreter; the command has its own.
            each, by_each = (10, 3) if "LD_PRELOAD" in os.environ else (40, 10)
            running = [python(program, self.id(), str(file), str(each)) for _ in range(12)]
            alone = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
            running += [subprocess.Popen(["sh", "-c", by_shell, "sh", TOOL, self.id(), str(file), str(by_each)],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=alone)
                        for _ in range(12)]
            for process in running:
                status, _, said = self.end_of(process)
                self.assertEqual(status, 0, said)
            self.assertEqual(int(file.read_text(encoding="ascii")), 12 * (each + by_each))


if __name__ == "__main__":
    unittest.main(verbosity=2)
