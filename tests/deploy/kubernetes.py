# The objects in deploy/kubernetes, by a list of the fields that Kubernetes has of those we use; no cluster.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_TOOL=FILE kubernetes.py [TEST...]

A misspelt field, or one at the wrong depth, is refused by Kubernetes, or worse, ignored. The fields and
types below are those of the reference of Kubernetes 1.27 (policy/v1, batch/v1, apps/v1, v1), of what the
files use and no more.
"""
import os
import subprocess
import unittest

from support import DEPLOY, commands_under
import skipping

try:
    import yaml
except ImportError:
    yaml = None

FILES = DEPLOY / "kubernetes"
LONGEST_S = 60  # ends what hangs; judges no speed

# A field's type; of an object its fields, of a list its one element; MAP: names of the user's own.
MAP = {"*": str}
QUANTITIES = {"*": str}
META = {"name": str, "labels": MAP}
SELECTOR = {"matchLabels": MAP}
TERM = {"topologyKey": str, "labelSelector": SELECTOR}
CONTAINER = {
    "name": str, "image": str, "command": [str],
    "env": [{"name": str, "value": str}],
    "ports": [{"name": str, "containerPort": int}],
    "readinessProbe": {"tcpSocket": {"port": (int, str)}, "periodSeconds": int},
    "resources": {"requests": QUANTITIES, "limits": QUANTITIES},
    "securityContext": {"allowPrivilegeEscalation": bool, "readOnlyRootFilesystem": bool,
                        "capabilities": {"drop": [str]}},
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}],
}
POD = {
    "affinity": {"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [TERM],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": int, "podAffinityTerm": TERM}]}},
    "automountServiceAccountToken": bool, "enableServiceLinks": bool,
    "terminationGracePeriodSeconds": int, "restartPolicy": str,
    "securityContext": {"runAsNonRoot": bool, "runAsUser": int, "runAsGroup": int, "fsGroup": int,
                        "seccompProfile": {"type": str}},
    "containers": [CONTAINER],
    "volumes": [{"name": str, "configMap": {"name": str},
                 "secret": {"secretName": str, "defaultMode": int}}],
}
TEMPLATE = {"metadata": META, "spec": POD}
KINDS = {
    ("v1", "Service"): {"clusterIP": str, "publishNotReadyAddresses": bool, "selector": MAP,
                        "ports": [{"name": str, "port": int, "targetPort": (int, str)}]},
    ("apps/v1", "StatefulSet"): {
        "serviceName": str, "replicas": int, "selector": SELECTOR, "template": TEMPLATE,
        "volumeClaimTemplates": [{"metadata": META, "spec": {
            "accessModes": [str], "resources": {"requests": QUANTITIES}}}]},
    ("apps/v1", "Deployment"): {
        "replicas": int, "selector": SELECTOR, "template": TEMPLATE,
        "strategy": {"rollingUpdate": {"maxUnavailable": (int, str)}}},
    ("policy/v1", "PodDisruptionBudget"): {"maxUnavailable": (int, str), "selector": SELECTOR},
    ("batch/v1", "CronJob"): {
        "schedule": str, "concurrencyPolicy": str, "startingDeadlineSeconds": int,
        "jobTemplate": {"spec": {"backoffLimit": int, "template": TEMPLATE}}},
}


def misfits(value, known, where):
    if isinstance(known, dict):
        if not isinstance(value, dict):
            return [f"{where} is no object"]
        found = []
        for name, inside in value.items():
            if name in known or "*" in known:
                found += misfits(inside, known.get(name, known.get("*")), f"{where}.{name}")
            else:
                found.append(f"{where} has no field {name}")
        return found
    if isinstance(known, list):
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [m for i, v in enumerate(value) for m in misfits(v, known[0], f"{where}[{i}]")]
    kinds = known if isinstance(known, tuple) else (known,)
    return [] if type(value) in kinds else [f"{where} is {value!r}"]  # a bool is no number


def misfits_of(thing):
    kind = (thing.get("apiVersion"), thing.get("kind"))
    if kind not in KINDS:
        return [f"there is no kind {kind}"]
    whole = {"apiVersion": str, "kind": str, "metadata": META, "spec": KINDS[kind]}
    return misfits(thing, whole, thing["kind"])


class OneOfEach(yaml.SafeLoader if yaml else object):
    """YAML takes the last of two fields of one name."""

    def construct_mapping(self, node, deep=False):
        names = [self.construct_object(key) for key, _ in node.value]
        assert len(names) == len(set(names)), f"twice: {names}"
        return super().construct_mapping(node, deep)


def objects_in(name, node=None):
    text = (FILES / name).read_text(encoding="utf-8")
    if node:
        text = text.replace("lock-NODE", node)
    return list(yaml.load_all(text, OneOfEach))  # noqa: S506: a safe loader, and our own file


def pod_of(thing):
    spec = thing["spec"]
    return (spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec).get("template")


NODES = ("lock-1", "lock-2", "lock-3")


@unittest.skipIf(yaml is None, "said below")
class Objects(unittest.TestCase):
    def setUp(self):
        self.nodes = [o for n in NODES for o in objects_in("node.yaml", n)]
        self.all = self.nodes + [o for name in ("budget.yaml", "job.yaml", "leader.yaml")
                                 for o in objects_in(name)]

    def sets(self):
        return [o for o in self.nodes if o["kind"] == "StatefulSet"]

    def test_every_field_is_one_of_kubernetes(self):
        self.assertEqual([m for o in self.all for m in misfits_of(o)], [])
        self.assertEqual({p.name for p in FILES.iterdir()},
                         {"node.yaml", "budget.yaml", "job.yaml", "leader.yaml"})

    def test_a_field_that_is_none_is_found(self):
        node = self.sets()[0]
        pod = node["spec"]["template"]["spec"]
        pod["containers"][0]["readynessProbe"] = pod["containers"][0].pop("readinessProbe")
        node["spec"]["replicas"] = "1"
        self.assertEqual(misfits_of(node), [
            "StatefulSet.spec.replicas is '1'",
            "StatefulSet.spec.template.spec.containers[0] has no field readynessProbe"])

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

    def test_the_document_renders_them_so(self):
        made = commands_under("Kubernetes")
        self.assertIn('sed "s/lock-NODE/lock-$n/" kubernetes/node.yaml', made)
        done = subprocess.run(["bash", "-c", 'n=2; sed "s/lock-NODE/lock-$n/" node.yaml'], cwd=FILES, text=True,
                              capture_output=True, check=True)
        self.assertEqual(list(yaml.safe_load_all(done.stdout)), objects_in("node.yaml", "lock-2"))


if __name__ == "__main__":
    if yaml is None:
        skipping.say_skipped("python3-yaml is not installed; scripts/install-deps all installs it")
    unittest.main()
