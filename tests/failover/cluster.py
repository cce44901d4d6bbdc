# Five masters in containers and what can befall them; knows no client.
# SPDX-License-Identifier: MIT
import os
import random
import shutil
import socket
import struct
import subprocess
import time

import image
from facts import Failure, now_ns, wait_for
from redis_direct import Direct, ErrorReply

SIZE = 5
PUBLIC_IMAGE = "redis:8.0-bookworm"
NODES = range(1, SIZE + 1)
CLIENT = "/usr/bin/redlock_failover_client"
SHARED = "redlock:shared"  # the value of a key that readers have


def docker(*words, seconds=180, check=True):
    done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=seconds)
    if check and done.returncode != 0:
        raise Failure(f"docker {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def why_no_engine():
    """Empty where containers can be started."""
    if not shutil.which("docker"):
        return "there is no docker; install Docker Engine"
    if not compose_words():
        return "there is no docker-compose; install it, or the plugin of the engine"
    try:
        asked = subprocess.run(["docker", "info", "--format", "{{.ServerVersion}}"],
                               capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return "the Docker engine does not answer; see whether its service is well"
    return "" if asked.returncode == 0 else "no Docker engine answers; start it, or ask for the right"


def compose_words():
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    asked = subprocess.run(["docker", "compose", "version"], capture_output=True)
    return ["docker", "compose"] if asked.returncode == 0 else []


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class Cluster:
    """Everything it makes carries its project's name, which nobody else uses."""

    def __init__(self, root, work, binaries):
        self.root, self.work, self.binaries = root, work, binaries
        self.project = f"redlock-failover-{os.getpid()}"
        self.network = f"{self.project}_default"
        self.image = f"{self.project}:latest"
        self.compose_words = compose_words()
        self.override = os.path.join(work, "override.yml")
        self.client_container = f"{self.project}_client"
        self.clock_folder = os.path.join(work, "clock")
        os.mkdir(self.clock_folder)
        shutil.copy(binaries["clock"], os.path.join(self.clock_folder, "shifted_clock.so"))
        self.env = dict(os.environ)
        self.ports = {}
        self.containers = {}
        self.changed = set()  # nodes that are not as docker-compose.yml has them

    # --- all of them

    def up(self):
        image.build(self.image, {
            "/usr/bin/redis-server": shutil.which("redis-server"),
            "/usr/bin/redis-cli": shutil.which("redis-cli"),
            CLIENT: self.binaries["client"],
        }, os.path.join(self.work, "image"))
        self.env["REDLOCK_REDIS_IMAGE"] = self.choose_image()
        for _ in range(5):
            self.choose_ports()
            done = self.compose("up", "-d", check=False)
            if done.returncode == 0:
                break
            self.down()
        else:
            raise Failure(f"docker-compose up: {done.stderr.strip()}")
        self.wait_until_healthy()

    def choose_image(self):
        given = self.env.get("REDLOCK_REDIS_IMAGE")  # by the user, or chosen before
        if given:
            return given
        if docker("image", "ls", "-q", PUBLIC_IMAGE):
            return PUBLIC_IMAGE
        try:
            pulled = subprocess.run(["docker", "pull", "--quiet", PUBLIC_IMAGE],
                                    capture_output=True, timeout=180)
            return PUBLIC_IMAGE if pulled.returncode == 0 else self.image
        except subprocess.TimeoutExpired:
            return self.image

    # Below the range from which the system takes ports for outgoing connections.
    def choose_ports(self):
        first = random.randrange(10000, 32000)
        while not all(is_free(first + n) for n in NODES):
            first = random.randrange(10000, 32000)
        self.ports = {n: first + n for n in NODES}
        for n in NODES:
            self.env[f"REDLOCK_PORT_{n}"] = str(self.ports[n])

    def compose(self, *words, check=True):
        files = ["-f", os.path.join(self.root, "docker-compose.yml")]
        if os.path.exists(self.override):
            files += ["-f", self.override]
        done = subprocess.run([*self.compose_words, "-p", self.project, *files, *words],
                              capture_output=True, text=True, env=self.env, timeout=180)
        if check and done.returncode != 0:
            raise Failure(f"docker-compose {' '.join(words)}: {done.stderr.strip()}")
        self.containers = {}
        return done

    def down(self):
        """Also what a broken start left behind. Asks for the own label, never for all."""
        docker("rm", "--force", self.client_container, check=False)
        self.compose("down", "--volumes", "--remove-orphans", "--timeout", "0", check=False)
        mine = ["--filter", f"label=com.docker.compose.project={self.project}"]
        for kind, ids in (("container", docker("ps", "-aq", *mine)),
                          ("volume", docker("volume", "ls", "-q", *mine)),
                          ("network", docker("network", "ls", "-q", *mine))):
            if ids:
                force = [] if kind == "network" else ["--force"]
                docker(kind, "rm", *force, *ids.split())
        self.forget_changes()

    def forget_changes(self):
        if os.path.exists(self.override):
            os.unlink(self.override)
        self.changed = set()

    def remove_image(self):
        docker("image", "rm", "--force", self.image, check=False)

    def wait_until_healthy(self):
        for n in NODES:
            wait_for(f"master{n} answers", lambda n=n: self.answers(n))

    def restore(self):
        """Brings back five masters as docker-compose.yml has them, and removes the client. The scenario
        before has mended what it did inside the servers: this does not."""
        docker("rm", "--force", self.client_container, check=False)
        for n in self.changed:
            self.remove(n)
        self.forget_changes()
        states = {n: self.state(n) for n in NODES}
        self.unpause(*(n for n in NODES if states[n] == "paused"))
        for n in NODES:
            if states[n] and self.network not in self.networks(n):
                self.reconnect(n)
        if set(states.values()) != {"running"}:
            self.compose("up", "-d")
        self.wait_until_healthy()

    # --- one of them

    def container(self, n):
        if n not in self.containers:
            found = docker("ps", "-aq", "--filter",
                           f"label=com.docker.compose.project={self.project}",
                           "--filter", f"label=com.docker.compose.service=master{n}")
            self.containers[n] = found
        return self.containers[n]

    def inspect(self, n, what):
        name = self.container(n)
        return docker("inspect", "--format", what, name) if name else ""

    def state(self, n):
        return self.inspect(n, "{{.State.Status}}")

    def networks(self, n):
        names = self.inspect(n, "{{range $k, $v := .NetworkSettings.Networks}}{{$k}} {{end}}")
        return names.split()

    def address(self, n):
        return self.inspect(n, "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")

    def volume(self, n):
        return f"{self.project}_master{n}"

    def kill(self, *nodes):
        self.each("kill", nodes)

    def stop(self, *nodes):
        self.each("stop", nodes)

    def start(self, *nodes):
        self.each("start", nodes)

    def pause(self, *nodes):
        def are_paused():
            try:
                self.each("pause", [n for n in nodes if self.state(n) != "paused"])
            except Failure as failure:
                # On a busy machine runc gives up, thaws the container and leaves it to the caller
                # to ask again, where cgroups are of version 1.
                if "unable to freeze" not in str(failure):
                    raise
                return False
            return True
        wait_for(f"docker freezes {nodes}", are_paused)

    def unpause(self, *nodes):
        self.each("unpause", nodes)

    def each(self, verb, nodes):
        if nodes:
            docker(verb, *map(self.container, nodes))

    def remove(self, *nodes, keep_data=False):
        docker("rm", "--force", *map(self.container, nodes))
        self.containers = {}
        if not keep_data:
            docker("volume", "rm", *map(self.volume, nodes))

    def create(self, *nodes):
        self.compose("up", "-d", "--no-deps", *(f"master{n}" for n in nodes))

    def recreate_with(self, n, text):
        """A new container of the service, with its data, changed by this part of a compose file."""
        with open(self.override, "w", encoding="utf-8") as file:
            file.write(f'version: "3.7"\n{text}')
        self.changed.add(n)
        self.create(n)

    def disconnect(self, container):
        docker("network", "disconnect", self.network, container)

    def reconnect(self, *nodes):
        for n in nodes:
            docker("network", "connect", "--alias", f"master{n}", self.network, self.container(n))

    def limit_cpus(self, n, share):
        docker("update", "--cpus", str(share), self.container(n))

    def shift_clock(self, offset_ms=0, rate_ppm=0):
        """Of the node that was given the shifted clock; at once."""
        path = os.path.join(self.clock_folder, "shift")
        data = struct.pack("<qqq", offset_ms * 1000, rate_ppm, time.time_ns() // 1000)
        # In place: the server has the file mapped.
        with open(path, "r+b" if os.path.exists(path) else "wb") as file:
            file.write(data)

    def fill_disk(self, n):
        """Writes until the server has ended of it."""
        try:
            with self.direct(n) as node:
                for chunk in range(100):
                    node.ask("SET", f"filler{chunk}", "x" * 65536)
        except (OSError, ErrorReply):
            pass
        wait_for(f"master{n} ends", lambda: self.state(n) == "exited")

    def copy(self, n, to):
        """Makes a replica of a node, until it has all of its data."""
        self.ask(to, "REPLICAOF", self.address(n), "6379")
        wait_for(f"master{to} is a copy of master{n}", lambda: self.is_in_step(to))

    def is_in_step(self, n):
        """Whether a replica follows; while it takes over the data it may answer nothing for seconds."""
        try:
            return "master_link_status:up" in self.ask(n, "INFO", "replication")
        except OSError:
            return False

    # --- a client in a container

    def run_words(self, folder):
        """The beginning of a command that runs the client on the masters' own network."""
        return ["docker", "run", "--rm", "--name", self.client_container, "--network",
                self.network, "--volume", f"{folder}:{folder}", self.image, CLIENT]

    def reconnect_client(self):
        docker("network", "connect", self.network, self.client_container)

    def addresses(self):
        return [f"{self.address(n)}:6379" for n in NODES]

    # --- questions

    def direct(self, n):
        return Direct(self.ports[n])

    def ask(self, n, *words):
        with self.direct(n) as node:
            return node.ask(*words)

    def answers(self, n):
        try:
            return self.ask(n, "PING") == "PONG"
        except (OSError, ErrorReply):
            return False

    def remembers_since(self, n):
        """By its own record, on the clock of the leases. It shares the clock of this machine."""
        record = self.ask(n, "GET", "redlock:node") or "epoch since=0"
        since_us = int(dict(word.split("=", 1) for word in record.split(" ")[1:])["since"])
        return since_us * 1000 - time.time_ns() + now_ns()

    def keys(self, n):
        """Every key but fences, the node record and what is known of slots, each with its value.

        A key that is shared stands once for each of its readers.
        """
        found = []
        with self.direct(n) as node:
            for key in node.ask("KEYS", "*"):
                if key == "redlock:node" or (key.startswith("{") and
                                             key.endswith(("}:fence", "}:slots", "}:readers"))):
                    continue
                try:
                    value = node.ask("GET", key)
                except ErrorReply:
                    value = "a queue"
                readers = live_readers(node, key) if value == SHARED else []
                if value is not None and not readers:  # it may have run out in between
                    found.append((key, value))
                found.extend((key, reader) for reader in readers)
        return found


def live_readers(node, key):
    seconds, microseconds = map(int, node.ask("TIME"))
    now_ms = seconds * 1000 + microseconds // 1000
    return node.ask("ZRANGEBYSCORE", "{" + key + "}:readers", f"({now_ms}", "+inf")
