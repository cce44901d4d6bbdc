# The objects in deploy/kubernetes, by the types of Kubernetes' API; no cluster.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_TOOL=FILE kubernetes.py [TEST...]

A misspelt field, or one at the wrong depth, is refused by Kubernetes, or worse, ignored. api/main.go reads
the files as Kubernetes would, and lets no such field pass; Go builds it, with modules of its proxy.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

from support import DEPLOY, PROJECT, blocks_under, built_by_go, commands_under
import skipping

try:
    import yaml
except ImportError:
    yaml = None

FILES = DEPLOY / "kubernetes"
LONGEST_S = 60  # ends what hangs; judges no speed


def why_refused(program, text):
    """What does not fit the types of the API; empty where all does."""
    done = subprocess.run([program], input=text, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    assert done.returncode == (1 if done.stdout else 0), done.stderr
    return done.stdout


def objects_in(name, node=None):
    text = (FILES / name).read_text(encoding="utf-8")
    if node:
        text = text.replace("lock-NODE", node)
    return list(yaml.safe_load_all(text))


def pod_of(thing):
    spec = thing["spec"]
    return (spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec).get("template")


NODES = ("lock-1", "lock-2", "lock-3")


@unittest.skipIf(yaml is None, "said below")
class Objects(unittest.TestCase):
    def setUp(self):
        self.nodes = [o for n in NODES for o in objects_in("node/node.yaml", n)]
        self.all = self.nodes + [o for name in ("budget.yaml", "job.yaml", "leader.yaml")
                                 for o in objects_in(name)]

    def sets(self):
        return [o for o in self.nodes if o["kind"] == "StatefulSet"]

    def test_every_field_is_one_of_kubernetes(self):
        files = sorted(p for p in FILES.rglob("*.yaml") if p.name != "kustomization.yaml")
        self.assertEqual([p.name for p in files], ["budget.yaml", "job.yaml", "leader.yaml", "node.yaml"])
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "api"
            missing = built_by_go(".", program)
            if missing:
                skipping.skip(self, missing)
            for path in files:
                self.assertEqual(why_refused(program, path.read_text(encoding="utf-8")), "", path)
            node = (FILES / "node/node.yaml").read_text(encoding="utf-8")
            for right, wrong in (("readinessProbe", "readynessProbe"), ("replicas: 1", 'replicas: "1"'),
                                 ("apps/v1", "apps/v2"), ("128Mi", "128M i"),
                                 ("serviceName", "metadata"), ("clusterIP: None", "ports: []")):
                self.assertNotEqual(why_refused(program, node.replace(right, wrong)), "", wrong)

    def test_no_two_nodes_share_a_machine_or_a_name(self):
        sets = self.sets()
        self.assertEqual([s["metadata"]["name"] for s in sets], list(NODES))
        for one in sets:
            self.assertEqual(one["spec"]["replicas"], 1)
            self.assertIn(one["spec"]["serviceName"],
                          [o["metadata"]["name"] for o in self.nodes if o["kind"] == "Service"])
            affinity = one["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
            (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
            self.assertEqual(term["topologyKey"], "kubernetes.io/hostname")
            for other in sets:
                labels = other["spec"]["template"]["metadata"]["labels"]
                self.assertLessEqual(term["labelSelector"]["matchLabels"].items(), labels.items())

    def test_selectors_select(self):
        pods = [pod_of(o)["metadata"]["labels"] for o in self.all
                if pod_of(o) and "metadata" in pod_of(o)]
        self.assertEqual(len(pods), 4)
        expected = {"Service": 1, "StatefulSet": 1, "Deployment": 1, "PodDisruptionBudget": 3}
        for thing in self.all:
            selector = thing["spec"].get("selector")
            if selector:
                labels = selector.get("matchLabels", selector)
                chosen = [p for p in pods if labels.items() <= p.items()]
                self.assertEqual(len(chosen), expected[thing["kind"]], thing["metadata"])

    def test_what_is_mounted_is_there(self):
        made = commands_under("Kubernetes")
        for thing in self.all:
            if pod_of(thing) is None:
                continue
            pod = pod_of(thing)["spec"]
            claims = [c["metadata"]["name"] for c in thing["spec"].get("volumeClaimTemplates", [])]
            volumes = [v["name"] for v in pod.get("volumes", [])]
            for container in pod["containers"]:
                mounted = [m["name"] for m in container["volumeMounts"]]
                self.assertEqual(sorted(mounted), sorted(claims + volumes))
            for volume in pod["volumes"]:
                kind, name = (("configmap", volume["configMap"]["name"]) if "configMap" in volume
                              else ("secret generic", volume["secret"]["secretName"]))
                self.assertIn(f"kubectl create {kind} {name} ", made)

    def test_only_the_leader_gets_requests_and_a_rollout_goes_on(self):
        (leader,) = [o for o in self.all if o["kind"] == "Deployment"]
        (container,) = pod_of(leader)["spec"]["containers"]
        (service,) = [o for o in objects_in("leader.yaml") if o["kind"] == "Service"]
        port = service["spec"]["ports"][0]["targetPort"]
        self.assertEqual(container["readinessProbe"]["tcpSocket"]["port"], port)
        self.assertEqual([p["name"] for p in container["ports"]], [port])
        self.assertEqual(leader["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"], "100%")

    def test_the_commands_are_understood(self):
        """No node answers: that is another status than one of wrong usage."""
        commands = [pod_of(o)["spec"]["containers"][0]["command"] for o in self.all if pod_of(o)]
        mine = [c for c in commands if c[0] == "redlock"]
        self.assertEqual(len(mine), 2)
        for words in mine:
            words = ["1s" if w == "forever" else w for w in words]
            got = subprocess.run([os.environ["REDLOCK_TOOL"], *words[1:2], "--node", "127.0.0.1:1", *words[2:]],
                                 capture_output=True, text=True, timeout=LONGEST_S, check=False)
            self.assertEqual(got.returncode, 121, got.stderr)
        for words in commands:
            if words[0] != "redlock":
                self.assertEqual(words[:2], ["redis-server", "/etc/redlock/redis.conf"])

    def test_the_init_container_of_the_page_fits_a_pod(self):
        page = "deploys-and-migrations"
        text = (PROJECT / f"docs/{page}.md").read_text(encoding="utf-8")
        (block,) = [b for b in blocks_under("A schema migration", "text", page) if b.startswith("initContainers:")]
        (thing,) = [o for o in self.all if o["kind"] == "Deployment"]
        pod, shown = pod_of(thing)["spec"], yaml.safe_load(block)
        (own,), (init,) = pod["containers"], shown["initContainers"]
        self.assertEqual(shown["volumes"], pod["volumes"])
        for field in ("image", "env", "volumeMounts"):
            self.assertEqual(init[field], own[field])
        self.assertIn(f"redlock {' '.join(init['command'][1:])} && exec ./server\n", text)
        pod.update(shown)
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "api"
            missing = built_by_go(".", program)
            if missing:
                skipping.skip(self, missing)
            self.assertEqual(why_refused(program, yaml.safe_dump(thing)), "")

    def test_the_document_renders_them_so(self):
        made = commands_under("Kubernetes")
        self.assertIn('sed "s/lock-NODE/lock-$n/" kubernetes/node/node.yaml', made)
        done = subprocess.run(["bash", "-c", 'n=2; sed "s/lock-NODE/lock-$n/" node/node.yaml'], cwd=FILES, text=True,
                              capture_output=True, check=True)
        self.assertEqual(list(yaml.safe_load_all(done.stdout)), objects_in("node/node.yaml", "lock-2"))


if __name__ == "__main__":
    if yaml is None:
        skipping.say_skipped("python3-yaml is not installed; scripts/install-deps all installs it")
    unittest.main()
