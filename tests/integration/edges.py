# The command in hard use: empty values, few descriptors, slow pipes, rare signals, programs for passwords.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_TOOL=FILE edges.py [TEST...]; REDLOCK_CONFIG names three nodes."""
import fcntl
import json
import os
import pathlib
import resource
import signal
import socket
import struct
import subprocess
import termios
import time
import unittest

from on_nodes import CONFIG, LONGEST_S, OnNodes, TOOL, call, running


# It opens pipes of its own, and takes what it could not open for a bug.
HAS_SANITIZER = b"__ubsan_handle" in pathlib.Path(TOOL).read_bytes()


def in_pipe(descriptor):
    return struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"    "))[0]


class Edges(OnNodes):
    def test_an_empty_value_takes_no_resource(self):
        show = ("--", "sh", "-c", 'echo "$REDLOCK_RESOURCE, $REDLOCK_NOTE"')
        for note in (("--note=",), ("--note", "")):
            said = self.expect(0, "run", *note, self.resource, self.resource + "2", *show)
            self.assertEqual(said, f"{self.resource}\n{self.resource}2, \n")
        self.expect(125, "release", "--force", "--yes", "--config=", self.resource)

    @unittest.skipIf(HAS_SANITIZER, "a sanitizer needs descriptors")
    def test_a_machine_that_cannot_start_cmd_has_had_no_turn(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))

        job = ("run", "--min-hold", "20s", self.resource, "--", "true")
        failed = subprocess.run([TOOL, *job], preexec_fn=few, capture_output=True, text=True,
                                timeout=LONGEST_S, check=False)
        self.assertEqual(failed.returncode, 125, failed.stderr)
        self.assertIn("CMD can't be started", failed.stderr)
        self.expect(0, *job)
        self.expect(120, *job)

    @unittest.skipIf(HAS_SANITIZER or os.geteuid() != 0, "needs root, and no sanitizer's threads")
    def test_a_machine_without_threads_looks_up_no_name(self):
        # Of this user there is one thread. Names are looked up in another.
        alone = ("setpriv", "--reuid=54322", "--clear-groups", "prlimit", "--nproc=1", TOOL)
        failed = subprocess.run([*alone, "inspect", self.resource, "--node", f"localhost:{self.nobody}"],
                                capture_output=True, text=True, timeout=LONGEST_S, check=False)
        self.assertEqual(failed.returncode, 121, failed.stderr)
        self.assertIn("Resource temporarily unavailable", failed.stderr)

    def test_output_that_is_read_slowly_is_whole(self):
        whole = self.expect(0, "help", "--man")
        reads, writes = os.pipe()
        with os.fdopen(reads) as slow:
            fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
            os.set_blocking(writes, False)
            with subprocess.Popen([TOOL, "help", "--man"], stdout=writes) as process:
                os.close(writes)
                end = time.monotonic() + LONGEST_S
                while in_pipe(reads) < 4096:  # then the next write has to wait
                    self.assertLess(time.monotonic(), end, "the pipe is not full")
                    time.sleep(0.001)
                self.assertEqual(slow.read(), whole)
                self.assertEqual(process.wait(LONGEST_S), 0)

    def test_each_signal_reaches_cmd(self):
        for number in (signal.SIGALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGRTMIN + 3):
            ends = f'trap "exit 9" {int(number)}; echo up >&2; while :; do sleep 0.05; done'
            with running("run", self.resource, "--", "sh", "-c", ends, until="up") as process:
                process.send_signal(number)
                self.assertEqual(process.wait(LONGEST_S), 9, number)
            self.assertFalse(json.loads(self.expect(0, "inspect", "--json", self.resource))["held"])

    def test_an_orphan_that_leads_a_group_hides_no_end(self):
        path = pathlib.Path(self.list_of((0, None), (1, None), (2, None)))
        config = json.loads(path.read_text())
        for node in config["nodes"]:  # for which any password is right
            node.update(username="default", password_command=["echo", "x"])
        path.write_text(json.dumps(config))
        # `timeout` leads a group, and has no parent any more when it ends.
        orphan = "(timeout 9 sleep 0.2 &); sleep 60; :"
        for which in (CONFIG, str(path)):
            ended = call("run", "--config", which, "--max-hold", "1s", self.resource, "--", "sh", "-c", orphan)
            self.assertEqual(ended.returncode, 122, ended.stderr)
            self.assertNotIn("survive", ended.stderr)

    def test_orphans_are_reaped_while_cmd_runs(self):
        leaves = "for i in 1 2 3; do (timeout 9 true &); done; sleep 0.5; "
        looks = 'for i in $(seq 100); do grep -qs ") Z $PPID " /proc/[0-9]*/stat || exit 0; sleep 0.1; done; exit 1'
        self.expect(0, "run", self.resource, "--", "sh", "-c", leaves + looks)

    def nested(self, outer, inner, wait):
        """The command in CMD of an outer run; each has its configuration."""
        inside = f"echo up >&2; read go; {TOOL} run --config {inner} {wait} {self.resource} -- true"
        return running("run", "--config", outer, self.resource, "--", "sh", "-c", inside, until="up")

    def test_a_nested_run_that_begins_in_an_outage_waits_for_the_nodes(self):
        path = pathlib.Path(self.list_of((0, None), (1, None), (2, None)))
        config = json.loads(path.read_text())
        config.update(ttl_max_ms=60000, node_timeout_ms=200, connect_timeout_ms=500, defaults={"ttl_ms": 50000})
        path.write_text(json.dumps(config))
        with self.nested(path, path, "--wait=forever") as outer:
            for node in config["nodes"][:2]:
                with socket.create_connection((node["host"], node["port"])) as server:
                    server.sendall(b"CLIENT PAUSE 3000 ALL\r\n")
                    self.assertEqual(server.recv(5), b"+OK\r\n")
            outer.stdin.write(b"go\n")
            outer.stdin.flush()
            self.assertEqual(outer.wait(LONGEST_S), 0)
            self.assertIn(b"no quorum of nodes may vote", outer.stderr.read())

    def test_a_nested_run_in_an_outage_ends_when_its_wait_is_over(self):
        alive, dead = self.list_of((0, None), (1, None)), self.list_of((0, None), (None, None))
        with self.nested(alive, dead, "--wait=0s") as outer:
            outer.stdin.write(b"go\n")
            outer.stdin.flush()
            self.assertEqual(outer.wait(LONGEST_S), 121)

    def on_each_node(self, *words):
        for node in json.loads(pathlib.Path(CONFIG).read_text())["nodes"]:
            subprocess.run(["redis-cli", "-u", node, *words], stdout=subprocess.DEVNULL, timeout=LONGEST_S,
                           check=True)

    def test_data_of_another_program_hides_no_other_lock_from_an_operator(self):
        self.on_each_node("HSET", self.resource, "field", "value")
        self.expect(0, "acquire", self.resource + "2")
        got = call("release", "--force", "--yes", self.resource, self.resource + "2")
        self.assertEqual(got.returncode, 125, got.stderr)
        self.assertIn(f"'{self.resource}' is no lock", got.stderr)
        self.assertIn(f"'{self.resource}2' was taken from", got.stdout)

    def test_a_name_like_that_of_a_slot_is_a_lock_of_its_own(self):
        with running("run", "--slots", "8", "--permits", "8", self.resource, "--", "sh", "-c",
                     "echo up >&2; sleep 60", until="up") as process:
            token = self.expect(0, "acquire", "--ttl", "30s", self.resource + "#07")
            self.assertIn(self.resource + "#07", self.expect(0, "list"))
            self.expect(0, "release", "--force", "--yes", self.resource + "#07")
            self.expect(123, "release", stdin=token)
            slots = json.loads(self.expect(0, "inspect", "--json", self.resource))["slots"]
            self.assertEqual(len(slots), 8)
            self.assertIsNone(process.poll())

    def test_a_large_drift_leaves_time_for_a_release(self):
        path = self.list_of((0, None), (1, None), (2, None), ttl_max_ms=60000, node_timeout_ms=50, drift_min_ms=1000)
        token = self.expect(0, "acquire", "--config", path, "--wait", "20s", "--ttl", "30s", self.resource)
        self.expect(0, "release", "--config", path, stdin=token)

    def test_doctor_prints_json_also_where_it_says_whether_nodes_are_ready(self):
        path = self.list_of((0, None), (1, None))
        self.expect(0, "run", "--config", path, "r", "--", "true")
        for status, which in ((0, path), (1, self.list_of((0, None), (None, None)))):
            said = json.loads(self.expect(status, "doctor", "--ready", "--json", "--config", which))
            self.assertEqual([node["votes"] for node in said["nodes"]], [status == 0] * 2)  # other_set, dead

    def test_a_program_for_passwords_that_fails_is_named(self):
        path = pathlib.Path(self.list_of((0, None), (1, None), (2, None)))
        config = json.loads(path.read_text())
        for node in config["nodes"]:
            node["password_command"] = ["sh", "-c", "echo please-log-in; exit 3"]
        path.write_text(json.dumps(config))
        # Its end and that of redlock's own children are reported by the same signal.
        for _ in range(30):
            failed = call("run", "--config", str(path), self.resource, "--", "true")
            self.assertEqual(failed.returncode, 121, failed.stderr)
            self.assertIn("exited with status 3", failed.stderr)
            self.assertNotIn("WRONGPASS", failed.stderr)

    def test_an_empty_name_of_a_file_is_refused(self):
        for words in (("acquire", "--ttl", "20s", "--token-file="), ("run", "--metrics", ""), ("run", "--tls-ca="),
                      ("acquire", "--config", "")):
            got = call(*words, self.resource, *(("--", "true") if words[0] == "run" else ()))
            self.assertEqual((got.returncode, got.stdout), (125, ""), words)
            self.assertIn("names no file", got.stderr)
        token = self.token()
        for verb in ("extend", "release"):
            self.assertIn("names no file", call(verb, "--token-file=", stdin=token).stderr)
        self.expect(0, "release", stdin=token)

    def test_list_names_what_may_be_held(self):
        config = json.loads(pathlib.Path(CONFIG).read_text(encoding="utf-8"))
        for name in (self.resource, self.resource + "2", self.resource + "3"):
            for node, words in zip(config["nodes"], (("SET", name, "x"), ("LPUSH", name, "x"), ("LPUSH", name, "x"))):
                subprocess.run(["redis-cli", "-u", node, *words], stdout=subprocess.DEVNULL, timeout=LONGEST_S,
                               check=True)
        got = call("list", "--all", self.resource)
        self.assertEqual(got.returncode, 121)
        self.assertRegex(got.stderr, f"whether '{self.resource}[23]?' is held is not known")
        self.assertIn("WRONGTYPE", got.stderr)
        self.assertIn("nor of 2 more", got.stderr)

    def test_the_end_is_told_last(self):
        path = self.list_of((0, None), (1, None), (2, None), node_timeout_ms=500)
        first = json.loads(pathlib.Path(CONFIG).read_text(encoding="utf-8"))["nodes"][0]
        pauses = f"redis-cli -u {first} CLIENT PAUSE 4000 ALL"
        got = call("run", "--json", "--config", path, self.resource, "--", "sh", "-c", pauses)
        self.assertEqual(got.returncode, 0, got.stderr)
        kinds = [json.loads(line)["kind"] for line in got.stderr.splitlines()]
        self.assertIn("releases_given_up", kinds)
        self.assertEqual((kinds[-1], kinds.count("ended")), ("ended", 1))

    def test_nodes_of_which_something_is_to_be_known_are_healthy(self):
        path = pathlib.Path(self.list_of((0, None), (1, None), (2, None)))
        config = json.loads(path.read_text())
        for node in config["nodes"]:
            node.update(username="managed", password="x", durable=True)
            subprocess.run(["redis-cli", "-p", str(node["port"]), "ACL", "SETUSER", "managed", "reset", "on", ">x",
                            "~*", "&*", "+@all", "-config"], stdout=subprocess.DEVNULL, timeout=LONGEST_S, check=True)
        path.write_text(json.dumps(config))
        self.expect(0, "run", "--config", str(path), "--wait", "30s", self.resource, "--", "true")
        said = self.expect(0, "doctor", "--config", str(path))
        self.assertIn("info: ", said)
        self.assertIn("durable_by_word", said)
        self.assertIn("3 nodes are healthy, and all of them vote", said)
        said = json.loads(self.expect(0, "doctor", "--json", "--config", str(path)))
        self.assertEqual((said["healthy"], said["state"]), (True, "healthy"))
        self.assertEqual({finding["severity"] for finding in said["findings"]}, {"info"})

    def test_a_wait_in_vain_says_so(self):
        for words, said in ((("SET", "data"), "has no expiry, so waiting can't help"), (("LPUSH", "1"), "WRONGTYPE")):
            name = f"{self.resource}-{words[0]}"
            self.on_each_node(words[0], name, words[1])
            for more in ((), ("--json",)):
                self.signalled("run", "--wait", "20s", *more, name, "--", "true", until=said)  # before its end
            self.on_each_node("DEL", name)

    def test_a_pipe_is_no_file_of_metrics(self):
        pipe = pathlib.Path(self.folder) / "pipe"
        os.mkfifo(pipe)
        with running("run", "--record", "1m", "--metrics", str(pipe), self.resource, "--", "sh", "-c",
                     "echo up >&2", until="up"):
            pass  # CMD began though nobody writes to the pipe

    def test_a_name_behind_a_node_is_no_password(self):
        said = self.expect(121, "inspect", "--json", "--node", f"redis://127.0.0.1:{self.nobody}", "nightly@db1")
        self.assertEqual(json.loads(said)["resource"], "nightly@db1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
