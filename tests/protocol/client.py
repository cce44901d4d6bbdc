# A client of the protocol that was written from docs/protocol.md alone: a fenced guest, and a plain one.
# SPDX-License-Identifier: MIT
"""It reads the SHA1s from the document, and shares no code with the library: what works here works for
other authors. Its nodes are servers on loopback, by port; it has no time-out but that of its sockets."""
import base64
import os
import pathlib
import re
import sys
import time
import uuid

PROJECT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = PROJECT / "docs/protocol.md"
sys.path.insert(0, str(PROJECT / "tests/support"))
from redis_direct import Direct, ErrorReply  # noqa: E402  the connection alone

SHA1 = dict(re.findall(r"(?m)^\| `(\w+)` \| `([0-9a-f]{40})` \|", DOCUMENT.read_text(encoding="utf-8")))
DRIFT_FACTOR, DRIFT_MIN_MS = 0.01, 2
TIMEOUT_MS = 1000


def now_us():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def new_value(name):
    return base64.urlsafe_b64encode(os.urandom(16)).rstrip(b"=").decode() + "@" + name


class Refused(Exception):
    """Why there is no lease: what each node answered."""


class Node:
    def __init__(self, port):
        self.port = port
        self.name = f"127.0.0.1:{port}"
        self.direct = Direct(port, TIMEOUT_MS / 1000)
        self.looked_at = None

    def look(self, set_word, prefix):
        """The handshake; its record, or None where it has none."""
        info = dict(line.split(":", 1) for part in ("server", "replication")
                    for line in self.direct.ask("INFO", part).splitlines() if ":" in line)
        self.run_id, self.role = info["run_id"], info["role"]
        began = now_us()
        self.time_at_look, text = self.direct.ask("EVALSHA", SHA1["record"], 1, prefix + "redlock:node")
        self.looked_at = now_us()
        self.error = self.looked_at - began
        self.record = self.read(text) if text is not None else None
        self.other_set = self.record is not None and self.record["set"] != set_word
        self.is_known = self.record is not None and (
            self.record["run_id"] == self.run_id and self.record["since"] <= self.time_at_look and
            self.record.get("replid", info["master_replid"]) == info["master_replid"] and
            not any(name.startswith("!") for name in self.record))

    @staticmethod
    def read(text):
        """The words of a record; those that are missing as they are in most."""
        epoch, *words = text.split(" ")
        record = {"epoch": epoch, "number": 0, "became": 0} | dict(word.split("=", 1) for word in words)
        for name in ("since", "cluster_since", "quarantine", "ttl_max", "number", "became", "became_cluster",
                     "offset", "error", "seen", "highest"):
            if name in record:
                record[name] = int(record[name])
        return record

    def time_us(self):
        return self.time_at_look + now_us() - self.looked_at


class Guest:
    def __init__(self, ports, name="guest", prefix=""):
        self.nodes = [Node(port) for port in ports]
        self.name = name
        self.prefix = prefix
        names = sorted(node.name for node in self.nodes)
        digits = uuid.uuid5(uuid.NAMESPACE_DNS, "".join(each + "\0" for each in names)).hex[:12]
        self.set_word = f"{len(names)}:{digits}"
        self.quorum = len(self.nodes) // 2 + 1
        self.last_fence = 0
        self.seen = {}

    def close(self):
        for node in self.nodes:
            node.direct.__exit__()

    def look(self):
        for node in self.nodes:
            if node.looked_at is None or now_us() - node.looked_at > 5_000_000:
                node.look(self.set_word, self.prefix)
        if any(node.other_set for node in self.nodes):
            raise Refused("a node belongs to another set")

    def known(self):
        return [node for node in self.nodes if node.record]

    def median(self):
        times = sorted(node.time_us() for node in self.nodes)
        return times[(len(times) - 1) // 2]

    def ttl_max(self):
        return min(node.record["ttl_max"] for node in self.known())

    def allowance_us(self):
        return min(self.ttl_max() * 1000 // 4, 15_000_000)

    def has_vote(self, node):
        record = node.record
        if not record or node.role != "master" or not node.is_known or "mark" in record:
            return False
        if any(other.run_id == node.run_id for other in self.nodes if other is not node):
            return False
        latest = max(other.record["number"] for other in self.known())
        if "change" in record or record["number"] != latest:
            return False
        wait_us = max(other.record["quarantine"] for other in self.known()) * 1000

        def is_past(when, when_in_cluster):
            return when == 0 or (when_in_cluster is not None and node.time_us() - when >= wait_us and
                                 self.median() - when_in_cluster >= wait_us)
        is_old = (is_past(record["since"], record.get("cluster_since")) and
                  is_past(record["became"], record.get("became_cluster")))
        ahead = node.time_us() - self.median()
        return is_old and self.has_kept_time(node, ahead) and abs(ahead) <= self.allowance_us()

    def has_kept_time(self, node, ahead):
        record = node.record
        if "offset" not in record:
            return True
        age = node.time_us() - record["seen"]
        error = record["error"] + sum(other.error for other in self.nodes) + DRIFT_MIN_MS * 1000 + age * DRIFT_FACTOR
        return age >= 0 and abs(ahead - record["offset"]) <= error

    def next_fence(self, resource):
        fence = max(self.last_fence + 1, self.seen.get(resource, 0) + 1, self.median())
        highest = max(node.record.get("highest", 0) for node in self.known())
        if highest > self.median():
            fence = max(fence, highest + 5_000_001)
        if abs(fence - self.median()) > self.allowance_us():
            raise Refused("the fence is too far from the nodes' times")
        self.last_fence = fence
        return fence

    def ask(self, node, resource, *request):
        key = self.prefix + resource
        companion = f"{self.prefix}{{{key}}}:"
        record = node.record or {"epoch": "", "ttl_max": 60000}
        try:
            return node.direct.ask(
                "EVALSHA", SHA1["requests"], 4, self.prefix + "redlock:node", key, companion + "fence",
                companion + "queue", record["epoch"], node.time_us() + 4_000_000, self.allowance_us(),
                0, 1, *request)
        except ErrorReply as error:
            return error

    def round(self, resource, *request):
        """What each node with a vote answered."""
        sent = now_us()
        answers = [(self.has_vote(node), self.ask(node, resource, *request)) for node in self.nodes]
        for _, answer in answers:
            if isinstance(answer, list) and answer[0] in (2, 3, 4):
                fence = answer[{2: 3, 3: 2, 4: 1}[answer[0]]]
                self.seen[resource] = max(self.seen.get(resource, 0), fence)
        return sent, [answer for votes, answer in answers if votes]

    def validity(self, ttl_ms, sent):
        return ttl_ms - (now_us() - sent) / 1000 - (ttl_ms * DRIFT_FACTOR + DRIFT_MIN_MS)

    def acquire(self, resource, ttl_ms=10_000):
        self.look()
        if not self.known() or ttl_ms > self.ttl_max():
            raise Refused("no node has a record, or its ttl_max is shorter")
        value = new_value(self.name)
        for _ in range(2):
            fence = self.next_fence(resource)
            sent, answers = self.round(resource, "acquire", value, ttl_ms, fence)
            granted = answers.count(1)
            if granted >= self.quorum and self.validity(ttl_ms, sent) > 0:
                return Lease(self, resource, value, fence, ttl_ms, sent)
            stale = sum(isinstance(answer, list) and answer[0] == 4 for answer in answers)
            if granted + stale < self.quorum:
                break
        self.release(resource, value)
        raise Refused(answers)

    def release(self, resource, value):
        return [self.ask(node, resource, "release", value) for node in self.nodes]


class Lease:
    def __init__(self, guest, resource, value, fence, ttl_ms, sent):
        self.guest, self.resource, self.value, self.fence = guest, resource, value, fence
        self.ends_us = now_us() + guest.validity(ttl_ms, sent) * 1000

    def is_valid(self):
        return now_us() < self.ends_us

    def extend(self, ttl_ms):
        self.guest.look()
        for _ in range(2):
            fence = self.guest.next_fence(self.resource)
            sent, answers = self.guest.round(self.resource, "hold", self.value, ttl_ms, fence)
            if answers.count(1) >= self.guest.quorum and self.is_valid():
                self.ends_us = now_us() + self.guest.validity(ttl_ms, sent) * 1000
                return True
        return False

    def release(self):
        self.ends_us = 0
        answers = self.guest.release(self.resource, self.value)
        return answers.count(1) >= self.guest.quorum


class Plain:
    """Without fences: what every Redlock library does."""

    RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"

    def __init__(self, ports):
        self.nodes = [Direct(port) for port in ports]

    def close(self):
        for node in self.nodes:
            node.__exit__()

    def acquire(self, key, ttl_ms=10_000):
        value = new_value("plain")
        sent = now_us()
        granted = sum(node.ask("SET", key, value, "NX", "PX", ttl_ms) == "OK" for node in self.nodes)
        left = ttl_ms - (now_us() - sent) / 1000 - (ttl_ms * DRIFT_FACTOR + DRIFT_MIN_MS)
        if granted > len(self.nodes) // 2 and left > 0:
            return value
        self.release(key, value)
        return None

    def release(self, key, value):
        return sum(node.ask("EVAL", self.RELEASE, 1, key, value) for node in self.nodes)
