# The command under a real shell on a real terminal, from outside only; knows no internals.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_TOOL=FILE terminal.py [TEST...]

Types at an interactive bash on a pseudo-terminal, and checks that it shows the same as for a
command without redlock in front of it.
"""
import codecs
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from skipping import skip

LONGEST_S = 60  # ends what hangs; judges no speed
TOOL = os.environ["REDLOCK_TOOL"]
PORTS = [int(p) for p in re.findall(r'redis://127\.0\.0\.1:(\d+)',
                                    pathlib.Path(os.environ["REDLOCK_CONFIG"]).read_text())]


def on_all_nodes(command):
    for port in PORTS:
        with socket.create_connection(("127.0.0.1", port)) as node:
            node.sendall(command.encode() + b"\r\n")
            node.recv(1000)


def stat_of(pid):
    """The state, the parent and so on, as proc(5) has them."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


def parent_of(pid):
    return int(stat_of(pid)[1])


def wait_until_stopped(pid):
    end = time.monotonic() + LONGEST_S
    while stat_of(pid)[0] != "T":
        if time.monotonic() > end:
            raise AssertionError(f"process {pid} does not stop")
        time.sleep(0.001)


class Terminal:
    """An interactive bash with job control, without line editing and without echo."""

    def __init__(self, folder):
        self.seen = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(PS1="$ ", PS2="", TERM="vt100", HISTFILE="", INPUTRC="/dev/null",
                              PATH=os.path.dirname(TOOL) + ":" + os.environ["PATH"])
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
                signal.signal(number, signal.SIG_DFL)
            os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])
        self.type("stty -echo -ixon; echo rea''dy")
        self.expect("ready\r\n")

    def close(self):
        os.kill(self.pid, signal.SIGHUP)
        os.close(self.descriptor)
        os.waitpid(self.pid, 0)

    def type(self, line):
        self.press(line + "\n")

    def press(self, keys):
        os.write(self.descriptor, keys.encode())

    def expect(self, text):
        """Returns what was shown up to and with the text."""
        end = time.monotonic() + LONGEST_S
        while text not in self.seen:
            ready, _, _ = select.select([self.descriptor], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {text!r} came; this did: {self.seen!r}")
            self.seen += self.decoder.decode(os.read(self.descriptor, 4096))
        shown, self.seen = self.seen.split(text, 1)
        return shown + text

    def wait_for_a_job(self):
        """Waits until a job has the terminal: `fg` shows its line before it gives it away."""
        end = time.monotonic() + LONGEST_S
        while os.tcgetpgrp(self.descriptor) == self.pid:
            if time.monotonic() > end:
                raise AssertionError("bash keeps the terminal")
            time.sleep(0.01)

    def prompt(self, status=None):
        """What was shown up to where bash is at its prompt again."""
        self.type("echo \"status $?\"")
        return self.expect("status " if status is None else f"status {status}\r\n")


CTRL_C, CTRL_Z, CTRL_D, CTRL_BACKSLASH = "\x03", "\x1a", "\x04", "\x1c"
CTRL_S, CTRL_Q = "\x13", "\x11"
SLEEPER = "sh -c 'echo up; exec sleep 60'"


class OnATerminal(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="redlock-terminal-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.terminal = Terminal(self.folder)
        self.addCleanup(self.terminal.close)

    def script(self, text):
        (pathlib.Path(self.folder) / "script").write_text(text)
        self.terminal.type("bash script")

    def test_interrupt_ends_a_script_with_a_loop(self):
        for key, status in ((CTRL_C, 130), (CTRL_BACKSLASH, 131)):
            self.script(f"ulimit -c 0; while :; do redlock run r -- {SLEEPER};"
                        "[ $? -ne 131 ] || exit 131; echo round; done")  # bash minds SIGINT only
            self.terminal.expect("up\r\n")
            self.terminal.press(key)
            self.assertNotIn("round", self.terminal.prompt(status))

    def test_interrupt_ends_a_loop_at_the_prompt(self):
        self.terminal.type(f"for i in 1 2 3; do redlock run r -- {SLEEPER}; done")
        self.terminal.expect("up\r\n")
        self.terminal.press(CTRL_C)
        self.assertNotIn("up", self.terminal.prompt())

    def test_interrupt_ends_a_loop_that_waits(self):
        on_all_nodes("SET waited foreign")
        self.addCleanup(on_all_nodes, "DEL waited")
        self.script("while :; do redlock run --wait 50s waited -- true; echo round; done")
        self.terminal.expect("waiting for 'waited' for ")
        self.terminal.expect(" s, held by foreign without expiry, 1 of 1 i")
        self.terminal.expect("\r")  # the same line, once more
        self.terminal.press(CTRL_C)
        self.assertNotIn("round", self.terminal.prompt(130))

    def test_a_lock_that_is_held_is_said_but_with_quiet(self):
        on_all_nodes("SET waited foreign PX 600000")
        self.addCleanup(on_all_nodes, "DEL waited")
        self.terminal.type("redlock run waited true")
        self.terminal.expect("redlock: 'waited': ")
        self.terminal.prompt(120)
        self.terminal.type("redlock run --quiet --wait 1500ms waited true")
        self.assertNotIn("waited", self.terminal.prompt(120))

    def test_the_line_of_a_wait_fits_and_cuts_nothing_in_two(self):
        """Not within a character, nor within the escape of one that is not shown."""
        for resource, whole in (("\u00f6" * 40, r"\u00f6*"), ("\u65e5" * 40, r"\u65e5*"),
                                ("a" + "\x1b" * 40, r"a(\\x1b)*")):
            on_all_nodes(f"SET {resource} foreign")
            self.addCleanup(on_all_nodes, f"DEL {resource}")
            quoted = resource.replace("\x1b", r"\e")
            for columns in range(50, 54 if "\x1b" in resource else 52):
                self.terminal.type(f"stty cols {columns}; echo re''ady")
                self.terminal.expect("ready\r\n")
                self.terminal.type(f"redlock run --wait 50s $'{quoted}' -- true")
                line = self.terminal.expect("redlock: waiting for '")
                line = self.terminal.expect("\r")[:-1]  # where it is drawn once more
                self.terminal.press(CTRL_C)
                self.terminal.prompt(130)
                self.assertRegex(line, rf"^{whole}$")
                taken = len("redlock: waiting for '") + len(line) * (2 if "\u65e5" in line else 1)
                self.assertLess(taken, columns)
                self.assertGreaterEqual(taken, columns - len(r"\x1b"))

    def test_a_wait_in_the_background_leaves_the_terminal_alone(self):
        on_all_nodes("SET behind foreign")
        self.addCleanup(on_all_nodes, "DEL behind")
        self.terminal.type("redlock run --wait 50s behind -- "
                           "sh -c 'echo up >up; exec sleep 60 </dev/null'")
        self.terminal.expect("held by foreign")
        self.terminal.press(CTRL_Z)
        self.terminal.expect("Stopped")
        self.terminal.type("stty tostop; bg; echo go''ing")
        self.terminal.expect("going\r\n")
        on_all_nodes("DEL behind")
        self.terminal.type("while [ ! -s up ]; do sleep 0.05; done; sleep 0.5; jobs; echo jo''bs")
        shown = self.terminal.expect("jobs\r\n")
        self.assertIn("Running", shown)
        self.assertNotIn("Stopped", shown)
        self.terminal.type("kill -TERM %1; wait %1; echo \"it ended with $?\"")
        self.terminal.expect("it ended with 143")

    def test_a_stopped_terminal_does_not_stop_a_wait(self):
        on_all_nodes("SET stopped foreign")
        self.addCleanup(on_all_nodes, "DEL stopped")
        self.terminal.type("stty ixon; redlock run --wait 50s stopped -- touch up")
        self.terminal.expect("held by foreign")
        self.terminal.press(CTRL_S)
        time.sleep(1.5)  # it wants to draw the line once more
        on_all_nodes("DEL stopped")
        end = time.monotonic() + LONGEST_S
        while not (pathlib.Path(self.folder) / "up").exists():
            self.assertLess(time.monotonic(), end, "CMD did not run")
            time.sleep(0.05)
        self.terminal.press(CTRL_Q)
        self.terminal.prompt(0)

    def test_interrupt_ends_both_sides_of_a_pipeline(self):
        self.terminal.type("redlock run a -- sh -c 'echo up >&2; exec sleep 60' | "
                           "redlock run b -- sh -c 'echo also up >&2; exec sleep 60'; "
                           "echo \"statuses ${PIPESTATUS[*]}\"")
        shown = self.terminal.expect("up\r\n") + self.terminal.expect("up\r\n")
        self.assertIn("also", shown)
        self.terminal.press(CTRL_C)
        # Interactive bash gives the whole line up.
        self.assertNotIn("Stopped", self.terminal.prompt())
        self.terminal.type("jobs; redlock run a -- redlock run b -- echo fr''ee")
        self.assertNotIn("Running", self.terminal.expect("free\r\n"))

    def test_a_trap_of_the_command_decides(self):
        """The script goes on after a command that caught the signal and ended by itself."""
        self.script("redlock run r -- bash -c 'trap \"echo caught; exit 7\" INT; echo up; "
                    "while :; do sleep 0.05; done'; echo \"it ended with $?\"")
        self.terminal.expect("up\r\n")
        self.terminal.press(CTRL_C)
        shown = self.terminal.prompt(0)
        self.assertIn("caught\r\n", shown)
        self.assertIn("it ended with 7\r\n", shown)

    def test_a_trap_of_the_script_runs(self):
        self.script(f"trap 'echo cleaned; exit 9' INT; redlock run r -- {SLEEPER}; echo not here")
        self.terminal.expect("up\r\n")
        self.terminal.press(CTRL_C)
        shown = self.terminal.prompt(9)
        self.assertIn("cleaned\r\n", shown)
        self.assertNotIn("not here", shown)

    def test_the_modes_of_a_command_that_was_killed_are_undone(self):
        ends = {137: "redlock run r -- sh -c 'stty -icanon; kill -9 $$'",
                122: "redlock run --max-hold 1s r -- sh -c 'stty -icanon; sleep 60'"}
        for status, line in ends.items():
            self.terminal.type(line)
            self.terminal.prompt(status)
            self.terminal.type("stty -a | tr ' ;' '\\n\\n' | grep -c -x -e -icanon")
            self.terminal.expect("0\r\n")

    def test_init_names_what_is_held_and_nodes_of_another_list(self):
        config = json.loads(pathlib.Path(os.environ["REDLOCK_CONFIG"]).read_text())
        for name in ("one", "another"):
            path = pathlib.Path(self.folder) / name
            path.write_text(json.dumps(config | {"cluster": name, "key_prefix": "init:"}))
        self.terminal.type("redlock init --config one --yes; redlock acquire --config one --ttl 60s kept")
        self.terminal.prompt(0)
        self.terminal.type("redlock init --config one")
        shown = self.terminal.expect("go on: ")
        self.assertIn("Held there, or kept, is 'kept'", shown)
        self.assertNotIn("another list", shown)
        self.terminal.type("no")
        self.terminal.prompt()
        self.terminal.type("redlock init --config another")
        self.assertIn("another list of nodes now: 127.0.0.1", self.terminal.expect("go on: "))
        self.terminal.type("no")
        self.terminal.prompt()

    def test_an_operator_answers_for_each_lock(self):
        self.terminal.type("for name in a b c; do redlock acquire --ttl 60s kept-$name >/dev/null; done; "
                           "redlock release --force kept-{a,b,c}")
        shown = ""
        for answer in ("yes", "no", "yes"):
            shown += self.terminal.expect("go on: ")
            self.terminal.type(answer)
        shown += self.terminal.prompt(125)
        self.assertIn("'kept-b' was left as it is", shown)
        self.assertNotIn("nothing was changed", shown)
        self.terminal.type("redlock list")
        self.assertEqual(re.findall("kept-.", self.terminal.prompt(0)), ["kept-b"])

    def test_a_pager_has_the_keyboard(self):
        pager = "bash -c 'read -r first; read -rsn1 key </dev/tty; echo \"$first, $key\"; cat >big'"
        self.terminal.type(f"redlock run r -- sh -c 'echo up; seq 100000' | {pager}; echo en''d")
        self.terminal.press("q")
        shown = self.terminal.expect("end\r\n")
        self.assertIn("up, q\r\n", shown)
        self.assertNotIn("Stopped", shown)

    def test_less_is_a_pager(self):
        if shutil.which("less") is None:
            skip(self, "less is not installed; scripts/install-deps installs it")
        self.terminal.type("redlock run r -- seq 1000 | less; echo \"left with $?\"")
        self.terminal.expect("20\r\n")
        self.terminal.press("q")
        self.assertNotIn("Stopped", self.terminal.expect("left with 0\r\n"))

    def test_suspended_and_continued(self):
        self.terminal.type("redlock run r -- sh -c 'echo up; read -r word; echo \"got $word\"'")
        self.terminal.expect("up\r\n")
        self.terminal.press(CTRL_Z)
        self.terminal.expect("Stopped")
        self.terminal.type("bg; wait; jobs")  # it reads, so it is stopped again
        self.terminal.expect("Stopped")
        self.terminal.type("fg")
        self.terminal.type("one")
        self.terminal.expect("got one\r\n")
        self.assertNotIn("Stopped", self.terminal.prompt())

    def test_interrupted_after_background_and_foreground(self):
        self.terminal.type(f"redlock run r -- {SLEEPER}")
        self.terminal.expect("up\r\n")
        self.terminal.press(CTRL_Z)
        self.terminal.expect("Stopped")
        self.terminal.type("bg; jobs; echo jo''bs")
        self.assertIn("Running", self.terminal.expect("jobs\r\n"))
        self.terminal.type("fg")
        self.terminal.wait_for_a_job()
        self.terminal.press(CTRL_C)
        self.terminal.prompt()
        self.terminal.type("jobs; echo no''ne")
        self.assertNotIn("redlock", self.terminal.expect("none\r\n"))

    def test_a_script_is_suspended_and_continued(self):
        self.script("redlock run r -- bash -c 'trap \"echo on; exit 3\" USR1; echo $$ >pid; "
                    "echo up; while :; do sleep 0.05; done'; echo \"it ended with $?\"")
        self.terminal.expect("up\r\n")
        command = int((pathlib.Path(self.folder) / "pid").read_text())
        self.terminal.press(CTRL_Z)
        self.terminal.expect("Stopped")  # bash says it of the script alone
        wait_until_stopped(parent_of(command))
        self.terminal.type("fg")
        self.terminal.expect("bash script\r\n$ bash script\r\n")
        os.kill(command, signal.SIGUSR1)
        shown = self.terminal.expect("it ended with 3\r\n")
        self.assertIn("on\r\n", shown)

    def test_a_command_of_a_script_reads_from_the_terminal(self):
        self.script("for i in 1 2; do "
                    "redlock run r -- sh -c 'read -r word; echo \"got $word\"'; done")
        self.terminal.type("one")
        self.terminal.expect("got one\r\n")
        self.terminal.type("two")
        self.assertNotIn("Stopped", self.terminal.expect("got two\r\n") + self.terminal.prompt(0))

    def test_interrupt_reaches_a_script_whose_command_has_the_terminal(self):
        self.script("while :; do redlock run r -- sh -c "
                    "'read -r word; echo \"got $word\"; exec sleep 60'; echo round; done")
        self.terminal.type("one")
        self.terminal.expect("got one\r\n")
        self.terminal.press(CTRL_C)
        self.assertNotIn("round", self.terminal.prompt(130))

    def test_a_script_whose_command_has_the_terminal_is_suspended(self):
        self.script("redlock run r -- sh -c "
                    "'read -r word; echo \"got $word\"; read -r word; echo \"then $word\"'; echo over")
        self.terminal.type("one")
        self.terminal.expect("got one\r\n")
        self.terminal.press(CTRL_Z)
        self.terminal.expect("Stopped")
        self.terminal.type("fg")
        self.terminal.wait_for_a_job()
        self.terminal.type("two")
        self.terminal.expect("then two\r\n")
        self.terminal.expect("over\r\n")
        self.assertNotIn("Stopped", self.terminal.prompt(0))

    def test_a_pager_gets_the_terminal_back(self):
        os.mkfifo(pathlib.Path(self.folder) / "wait")
        self.terminal.type("redlock run r -- sh -c 'read -r word; echo \"got $word\"; cat wait' | "
                           "bash -c 'read -r line; read -rsn1 key </dev/tty; echo \"$line, $key\"; "
                           "echo >wait; cat'; echo en''d")
        self.terminal.type("one")
        time.sleep(0.2)  # either order of what follows is right
        self.terminal.press("q")
        shown = self.terminal.expect("end\r\n")
        self.assertIn("got one, q\r\n", shown)
        self.assertNotIn("Stopped", shown)

    def test_a_grandchild_reads_under_a_leader_that_ignores_the_stop(self):
        (pathlib.Path(self.folder) / "leader.py").write_text(
            "import signal, subprocess\n"
            "signal.signal(signal.SIGTTIN, signal.SIG_IGN)\n"
            "subprocess.run(['sh', '-c', 'read -r word </dev/tty; echo \"got $word\"'],\n"
            "               preexec_fn=lambda: signal.signal(signal.SIGTTIN, signal.SIG_DFL))\n")
        self.script(f"redlock run r -- {sys.executable} leader.py </dev/null")
        self.terminal.type("one")
        self.terminal.expect("got one\r\n")
        self.terminal.prompt(0)


class AsWithoutRedlock(unittest.TestCase):
    """A script on a terminal shows, and ends with, the same where redlock stands before a command."""

    LINES = {
        "timeout ends a command that reads in the background":
            "timeout 1 {} sh -c 'read a'; echo status $?",
        "timeout ends a command that changes the terminal":
            "timeout 1 {} stty sane; echo status $?",
        "timeout in the foreground":
            "timeout --foreground 1 {} sh -c 'read a; sleep 9'; echo status $?",
        "a signal that is no key is the command's own":
            "{} sh -c 'read a; kill -INT $$'; echo after $?",
        "and one for the whole job is the job's": "{} sh -c 'read a; kill -INT 0'; echo not here",
        "after a key that a command caught":
            "{} sh -c 'read a; trap : INT; kill -INT $$; exit 3'; echo $?",
        "nohup": "nohup {} sh -c 'kill -HUP $$; echo on'; echo status $?",
        "a session of its own": "setsid -w {} sh -c 'read a </dev/tty'; echo status $?",
        "a terminal of its own": "script -qec \"{} sh -c 'read a; echo got it'\" /dev/null; echo $?",
        "a pipeline": "{} sh -c 'read a </dev/tty; echo $a' | cat; echo status $?",
        "the other end of one": "echo two | {} sh -c 'read b; read a </dev/tty; echo $a $b'",
        "a subshell": "( {} sh -c 'read a; exit 4' ); echo status $?",
        "job control in a script": "set -m; {} sh -c 'exit 4'; echo status $?",
        "in the background of a script": "{} sh -c 'read a || exit 5' & wait $!; echo status $?",
    }

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="redlock-terminal-")  # nohup writes a file
        self.addCleanup(shutil.rmtree, self.folder)

    def shown(self, shell, line):
        gate = os.pipe()
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.environ["PATH"] = os.path.dirname(TOOL) + ":" + os.environ["PATH"]
            os.read(gate[0], 1)  # the echo of what is typed comes first
            os.execvp(shell, [shell, "-c", line + "\nexit 7"])
        os.write(terminal, b"one\n")
        shown = b""
        while b"\n" not in shown and select.select([terminal], [], [], LONGEST_S)[0]:
            shown += os.read(terminal, 4096)
        os.write(gate[1], b"1")
        for end in gate:
            os.close(end)
        while select.select([terminal], [], [], LONGEST_S)[0]:
            try:
                shown += os.read(terminal, 4096)
            except OSError:  # the session has ended
                _, status = os.waitpid(pid, 0)
                os.close(terminal)
                return shown, status
        os.kill(pid, signal.SIGKILL)
        raise AssertionError(f"{shell}: {line}: it hangs; it has shown {shown!r}")

    def test_it_is_the_same(self):
        for shell in ("bash", "dash", "zsh"):
            if shutil.which(shell) is None:
                continue
            for number, (what, line) in enumerate(self.LINES.items()):
                with self.subTest(f"{shell}: {what}"):
                    plain = self.shown(shell, line.format(""))
                    under = self.shown(shell, line.format(f"redlock run as-{number} --"))
                    self.assertEqual(under, plain)


class AsAnotherUser(unittest.TestCase):
    """A command that changed its user, as sudo does, can't be signalled."""

    def setUp(self):
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            skip(self, "needs root, and setpriv of util-linux; run it as root")

    def start(self, *options):
        running = subprocess.Popen(
            ["setpriv", "--bounding-set=-kill", TOOL, "run", *options, "other", "--",
             "setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", "echo $$; exec sleep 60"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        command = int(running.stdout.readline())
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.stderr.close)
        self.addCleanup(os.kill, command, signal.SIGKILL)
        return running

    def test_the_loss_is_reported_at_once(self):
        running = self.start("--max-hold", "5s", "--margin", "500ms")
        line = running.stderr.readline() + running.stderr.readline()
        begin = time.monotonic()
        self.assertIn("another user", line)
        self.assertEqual(running.wait(LONGEST_S), 122)
        self.assertLess(time.monotonic() - begin, 4)  # five seconds were the wait for a death

    def test_a_signal_that_does_not_arrive_is_reported(self):
        running = self.start("--max-hold", "5s", "--margin", "500ms")
        running.send_signal(signal.SIGTERM)
        self.assertIn("another user", running.stderr.readline())
        self.assertEqual(running.wait(LONGEST_S), 122)


if __name__ == "__main__":
    unittest.main(verbosity=2)
