# What kustomize makes of deploy/kubernetes: the same objects, but for what people change; no cluster.
# SPDX-License-Identifier: MIT
"""usage: kustomize.py [TEST...]

kustomize is built by Go, from its module proxy; where that can't be had the test says that it is skipped.
"""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from kubernetes import FILES, NODES, objects_in, yaml
from support import DEPLOY, built_by_go
import skipping

LONGEST_S = 60  # ends what hangs; judges no speed
PACKAGE = "sigs.k8s.io/kustomize/kustomize/v5"


def by_name(objects):
    return {(o["kind"], o["metadata"]["name"]): o for o in objects}


class Kustomize(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.program = cls.folder / "kustomize"
        cls.missing = built_by_go(PACKAGE, cls.program)

    def setUp(self):
        if self.missing:
            skipping.skip(self, self.missing)

    def built(self, folder):
        done = subprocess.run([self.program, "build", folder], capture_output=True, text=True,
                              timeout=LONGEST_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return by_name(yaml.safe_load_all(done.stdout))

    def test_what_it_makes_is_what_the_files_say(self):
        files = [o for n in NODES for o in objects_in("node/node.yaml", n)] + objects_in("budget.yaml")
        self.assertEqual(self.built(FILES), by_name(files))

    def test_what_people_change_is_changed_in_each_node_and_nothing_else_is(self):
        got, before = self.built(DEPLOY / "kustomize"), self.built(FILES)
        for thing in got.values():
            self.assertEqual(thing["metadata"].pop("namespace"), "locks")
        for name in NODES:
            spec = before["StatefulSet", name]["spec"]
            pod, claim = spec["template"]["spec"], spec["volumeClaimTemplates"][0]["spec"]
            server = pod["containers"][0]
            server["image"] = "registry.example.net/redis:8.0-bookworm"
            server["resources"] = {"requests": {"cpu": "200m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}
            self.assertEqual(server["command"][-2], "--maxmemory")
            server["command"][-1] = "512mb"
            pod["volumes"][0]["configMap"]["name"] = "lock-configuration"
            pod["volumes"][1]["secret"]["secretName"] = "lock-users"
            claim["storageClassName"] = "fast"
            claim["resources"]["requests"]["storage"] = "5Gi"
        self.assertEqual(got, before)


if __name__ == "__main__":
    if yaml is None:
        skipping.say_skipped("python3-yaml is not installed; scripts/install-deps all installs it")
    else:
        unittest.main()
