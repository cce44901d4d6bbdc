# Programs that take and give back one lock, each in its own way but all by one language; knows no test.
# SPDX-License-Identifier: MIT
"""Each reads line by line, and answers with a line that begins with "yes" or "no":

    take TTL_MS WAIT_MS   where WAIT_MS is 0, one try; redlock adds its fence to the "yes"
    check                 whether it holds the lock, as far as it can tell
    contend BEGIN_NS END_NS SECTION_US   from then until then (CLOCK_BOOTTIME) takes the lock, keeps it
                          for so long, gives it back and so on; adds to the "yes" how often. Not
                          every program knows it
    release               whether what it gave back was still its own
"""
import os
import pathlib
import select
import signal
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE_S = 60


class Broken(Exception):
    """A program did not do what a line ordered."""


class Process:
    def __init__(self, *words):
        self.process = subprocess.Popen([str(word) for word in words], bufsize=0,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.name = pathlib.Path(words[0]).name

    def line(self):
        """The next line; None where it ends before."""
        text = b""
        end = time.monotonic() + PATIENCE_S
        while not text.endswith(b"\n"):
            left = max(0, end - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                raise Broken(f"{self.name} says nothing")
            byte = os.read(self.process.stdout.fileno(), 1)
            if not byte:
                return None
            text += byte
        return text.decode().rstrip("\n")

    def end(self):
        """Lets it go on, and end by itself: there is nothing more to read for it. Its status."""
        self.process.stdin.close()
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Broken(f"{self.name} does not end") from None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)


class Told(Process):
    """A program that speaks the language above itself."""

    def say(self, line):
        self.process.stdin.write(line.encode() + b"\n")

    def answer(self):
        answer = self.line()
        if answer is None or answer.split()[0] not in ("yes", "no"):
            raise Broken(f"{self.name}: {answer}")
        return answer

    def tell(self, line):
        self.say(line)
        return self.answer()

    def take(self, ttl_ms, wait_ms=0):
        return self.tell(f"take {ttl_ms} {wait_ms}")

    def check(self):
        return self.tell("check")

    def release(self):
        return self.tell("release")


class Run:
    """The command `redlock run`, which is started for each lease and ends with it."""

    CONTENDED, LOST = 120, 122

    def __init__(self, tool, config, resource):
        self.words = (tool, "run", "--config", config)
        self.resource = resource
        self.process = None

    def take(self, ttl_ms, wait_ms=0):
        wait = ("--wait", f"{wait_ms}ms") if wait_ms else ()
        self.process = Process(*self.words, "--ttl", f"{ttl_ms}ms", *wait, self.resource, "--",
                               "sh", "-c", 'echo "yes $REDLOCK_FENCE"; cat >/dev/null')
        answer = self.process.line()
        if answer is None:
            status = self.process.end()
            if status != self.CONTENDED:
                raise Broken(f"redlock run: {status}")
        return answer or "no"

    def check(self):
        return "yes" if self.process.process.poll() is None else "no"

    def release(self):
        status = self.process.end()
        if status not in (0, self.LOST):
            raise Broken(f"redlock run: {status}")
        return "no" if status else "yes"

    def end(self):
        pass  # it ended with its lease

    def kill(self):
        self.process.kill()

    def pause(self):
        self.process.pause()

    def go_on(self):
        self.process.go_on()
