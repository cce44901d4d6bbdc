# The shell of packaging/ci, run as a runner would; the action and the template by written rules and actionlint; no service.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_TOOL=FILE ci.py [TEST...]"""
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from support import BUILD_S, PROJECT, blocks_under
import skipping

try:
    import yaml
except ImportError:
    yaml = None

FILES = PROJECT / "packaging" / "ci"
LONGEST_S = 60  # ends what hangs; judges no speed
LINTER = re.search(r"github\.com/rhysd/actionlint\S+@v[\d.]+", (PROJECT / "tests/layers/workflow").read_text(encoding="utf-8"))[0]


def action():
    return yaml.safe_load((FILES / "action.yml").read_text(encoding="utf-8"))


def template():
    return yaml.safe_load((FILES / "gitlab.yml").read_text(encoding="utf-8"))


def step_of(name):
    (found,) = [s for s in action()["runs"]["steps"] if s["if"] == f"inputs.step == '{name}'"]
    return found


def blocks_of_page():
    return blocks_under("Jobs of several repositories", "text", "deploys-and-migrations")


class Job:
    """A job of a runner: its steps see one folder, and are run one after the other."""

    def __init__(self, test, **how):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=test.folder))
        self.output = self.folder / "output"
        defaults = {"LOCK_" + name.upper(): str(i["default"]) for name, i in action()["inputs"].items() if "default" in i}
        mine = {"LOCK_RESOURCE": "pool", "LOCK_FOLDER": str(self.folder / "lock"), "LOCK_NOTE": "https://ci.example.net/1",
                "LOCK_EVERY": "1", "LOCK_TTL": "8s", "GITHUB_OUTPUT": str(self.output)}
        self.environment = dict(os.environ, PATH=f"{test.folder / 'bin'}:{os.environ['PATH']}", **(
            defaults | mine | {"LOCK_" + name.upper(): value for name, value in how.items()}))
        self.shell = test.SHELL

    def words(self, name):
        file = self.folder / name
        file.write_text(step_of(name)["run"], encoding="utf-8")
        return [*self.shell, str(file)]

    def step(self, name):
        return subprocess.run(self.words(name), env=self.environment, capture_output=True, text=True,
                              timeout=LONGEST_S, check=False)

    def begin(self, name):
        # A runner leaves SIGINT as it is by default; what a script started in the background has it ignored.
        return subprocess.Popen(self.words(name), env=self.environment, stdout=subprocess.DEVNULL,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def renewals(self):
        file = self.folder / "lock" / "renewals"
        return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


class Shell:
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "redlock").symlink_to(os.environ["REDLOCK_TOOL"])
        self.jobs = []

    def tearDown(self):
        for job in self.jobs:
            job.step("release")

    def job(self, **how):
        self.jobs.append(Job(self, **how))
        return self.jobs[-1]

    def look(self):
        return json.loads(self.redlock("inspect", "--json", "pool").stdout)

    def redlock(self, *words):
        return subprocess.run([os.environ["REDLOCK_TOOL"], *words], capture_output=True, text=True,
                              timeout=LONGEST_S, check=False)

    def until(self, condition):
        end = time.monotonic() + LONGEST_S
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_two_jobs_hold_a_pool_of_two_and_a_third_gets_its_slot_after_a_release(self):
        jobs = [self.job(slots="2") for _ in range(2)]
        slots = []
        for job in jobs:
            done = job.step("acquire")
            self.assertEqual(done.returncode, 0, done.stderr)
            granted = json.loads(done.stdout)
            slots.append(granted["slot"])
            self.assertEqual(job.output.read_text(encoding="utf-8"),
                             f"slot={granted['slot']}\nfence={granted['fence']}\n")
            token = job.folder / "lock" / "token"
            self.assertEqual(stat.S_IMODE(token.stat().st_mode), 0o600)
            self.assertNotIn(token.read_text(encoding="utf-8").strip(), done.stdout + done.stderr)
        self.assertEqual(sorted(slots), [0, 1])
        self.assertEqual({one["note"] for one in self.look()["slots"]}, {"https://ci.example.net/1"})
        third = self.job(slots="2", wait="100ms")
        refused = third.step("acquire")
        self.assertEqual(refused.returncode, 120)
        self.assertIn("somebody else holds", refused.stderr)
        self.assertEqual(third.step("release").returncode, 0)  # it has nothing to give back
        for _ in range(2):
            self.assertEqual(jobs[1].step("release").returncode, 0)
        self.assertEqual(third.step("acquire").returncode, 0)
        self.assertIn(f"slot={slots[1]}\n", third.output.read_text(encoding="utf-8"))

    def test_a_lock_is_renewed_beyond_its_ttl(self):
        job = self.job(ttl="4s")
        self.assertEqual(job.step("acquire").returncode, 0)
        fence = self.look()["fence"]
        self.until(lambda: job.renewals() > 4)
        self.assertEqual(self.look()["fence"], fence)
        self.assertEqual(job.step("release").returncode, 0)
        self.assertFalse(self.look()["held"])

    def test_a_lock_that_was_lost_fails_the_release(self):
        job = self.job()
        self.assertEqual(job.step("acquire").returncode, 0)
        self.assertEqual(self.redlock("release", "--force", "--yes", "pool").returncode, 0)
        self.until(lambda: job.renewals() > 0)
        done = job.step("release")
        self.assertEqual(done.returncode, 123)
        self.assertIn("not held any more", done.stderr)

    def test_without_its_runner_a_lock_ends_with_the_ttl(self):
        job = self.job(ttl="3s")
        runner = "import subprocess, sys, time; subprocess.run(sys.argv[1:], check=True); time.sleep(1000)"
        running = subprocess.Popen([sys.executable, "-c", runner, *job.words("acquire")], env=job.environment,
                                   stdout=subprocess.DEVNULL)
        self.until(lambda: job.renewals() > 0)
        running.kill()
        running.wait()
        self.until(lambda: not self.look()["held"])
        self.assertTrue((job.folder / "lock" / "token").exists())

    def test_after_its_longest_time_a_lock_ends(self):
        self.assertEqual(self.job(ttl="3s", longest="0").step("acquire").returncode, 0)
        next_one = self.job(wait="30s")
        self.assertEqual(next_one.step("acquire").returncode, 0)

    def test_what_is_no_whole_number_fails_the_step_before_it_takes_anything(self):
        for given in ({"every": "15s"}, {"every": "0"}, {"every": "0.5"}, {"every": "1,5"}, {"longest": "2h"}, {"every": ""}):
            with self.subTest(**given):
                done = self.job(**given).step("acquire")
                self.assertEqual(done.returncode, 1)
                self.assertIn("whole numbers", done.stderr)
                self.assertFalse(self.look()["held"])

    def test_a_second_lock_in_one_folder_is_refused_and_the_first_one_stays(self):
        job = self.job()
        self.assertEqual(job.step("acquire").returncode, 0)
        self.assertEqual(job.step("acquire").returncode, 1)
        self.assertTrue(self.look()["held"])
        self.assertEqual(job.step("release").returncode, 0)
        self.assertFalse(self.look()["held"])

    def test_a_job_that_is_cancelled_while_it_waits_leaves_nothing(self):
        for sent in (signal.SIGINT, signal.SIGTERM):
            holder, waiter = self.job(), self.job()
            self.assertEqual(holder.step("acquire").returncode, 0)
            waits = waiter.begin("acquire")
            self.until(lambda: self.look()["waiting"] == 1)
            waits.send_signal(sent)
            self.assertNotEqual(waits.wait(LONGEST_S), 0)
            self.until(lambda: self.look()["waiting"] == 0)
            self.assertEqual(waiter.step("release").returncode, 0)
            self.assertEqual(holder.step("release").returncode, 0)
            self.assertFalse(self.look()["held"])


@unittest.skipIf(yaml is None, "said below")
class OfGitHub(Shell, unittest.TestCase):
    SHELL = ["sh", "-e"]


@unittest.skipIf(yaml is None, "said below")
class OfGitLab(Shell, unittest.TestCase):
    SHELL = ["bash", "-eo", "pipefail"]


@unittest.skipIf(yaml is None, "said below")
class Files(unittest.TestCase):
    def test_the_action_has_the_fields_of_an_action(self):
        got = action()
        self.assertEqual(set(got), {"name", "description", "inputs", "outputs", "runs"})
        for one in got["inputs"].values():
            self.assertLessEqual(set(one), {"description", "required", "default"})
            self.assertIsInstance(one.get("default", ""), str)
        self.assertEqual(set(got["runs"]), {"using", "steps"})
        self.assertEqual(got["runs"]["using"], "composite")
        ids = [s.get("id") for s in got["runs"]["steps"]]
        for step in got["runs"]["steps"]:
            self.assertLessEqual(set(step), {"id", "if", "shell", "env", "run"})
            self.assertEqual(step["shell"], "sh")
            self.assertNotIn("${{", step["run"])  # what a caller gives is never part of the shell's text
            for value in step.get("env", {}).values():
                for context, name in re.findall(r"\b(inputs|runner|github)\.(\w+)", value):
                    known = got["inputs"] if context == "inputs" else (
                        "temp", "server_url", "repository", "run_id")
                    self.assertIn(name, known)
        for output in got["outputs"].values():
            (step, name), = re.findall(r"^\$\{\{ steps\.(\w+)\.outputs\.(\w+) \}\}$", output["value"])
            self.assertIn(step, ids)
            self.assertIn(f"{name}=%s", step_of(step)["run"])

    def test_a_step_that_is_neither_fails(self):
        first = action()["runs"]["steps"][0]
        self.assertEqual(first["if"], "inputs.step != 'acquire' && inputs.step != 'release'")
        self.assertEqual(subprocess.run(["sh", "-ec", first["run"]], capture_output=True, check=False).returncode, 1)

    def test_the_template_has_the_same_shell_and_the_keywords_of_a_job(self):
        got = template()
        self.assertEqual(set(got), {".redlock"})
        job = got[".redlock"]
        self.assertEqual(set(job), {"variables", "before_script", "after_script"})
        self.assertEqual(job["before_script"], [step_of("acquire")["run"]])
        self.assertEqual(job["after_script"], [step_of("release")["run"]])
        for value in job["variables"].values():
            self.assertIsInstance(value, str)
        self.assertEqual(set(job["variables"]), set(step_of("acquire")["env"]))
        for name, one in action()["inputs"].items():
            variable = "LOCK_" + name.upper()
            if variable in job["variables"] and variable not in ("LOCK_NOTE", "LOCK_FOLDER"):
                self.assertEqual(job["variables"][variable], one["default"], name)

    def test_the_page_uses_what_is_there(self):
        of_page = [yaml.safe_load(text) for text in blocks_of_page()]
        (gitlab,) = [b for b in of_page if "include" in b]
        (job,) = [j for j in gitlab.values() if isinstance(j, dict)]
        self.assertEqual(job["extends"], ".redlock")
        self.assertLessEqual(set(job["variables"]), set(template()[".redlock"]["variables"]))
        self.assertNotIn("before_script", job)

    def test_actionlint_takes_the_workflow_of_the_page_and_refuses_a_wrong_one(self):
        (workflow,) = [text for text in blocks_of_page() if "jobs:" in text]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            go = shutil.which("go") or "/usr/local/go/bin/go"
            lint = [go, "run", LINTER]
            environment = dict(os.environ, GOFLAGS="-mod=mod")
            if not pathlib.Path(go).exists() or subprocess.run([*lint, "-version"], env=environment, check=False,
                                                               capture_output=True, timeout=BUILD_S).returncode:
                skipping.skip(self, "there is no go, or no Go module proxy in reach, which has actionlint")
            (folder / ".git").mkdir()
            place = folder / ".github" / "actions" / "redlock"
            place.mkdir(parents=True)
            shutil.copy(FILES / "action.yml", place)
            file = folder / ".github" / "workflows" / "devices.yml"
            file.parent.mkdir()

            def said(text):
                file.write_text(text, encoding="utf-8")
                return subprocess.run([*lint, file], cwd=folder, env=environment, capture_output=True, text=True,
                                      timeout=LONGEST_S, check=False).stdout
            self.assertEqual(said(workflow), "")
            self.assertIn("slotz", said(workflow.replace("slots:", "slotz:")))
            self.assertIn("slott", said(workflow.replace("outputs.slot", "outputs.slott")))
            self.assertIn('"step"', said(workflow.replace("{step: release}", "{}")))


if __name__ == "__main__":
    if yaml is None:
        skipping.say_skipped("python3-yaml is not installed; scripts/install-deps all installs it")
    unittest.main()
