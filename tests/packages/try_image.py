# Tries the image of the command in a container network of its own; knows nothing of how it was made.
# SPDX-License-Identifier: MIT
"""usage: try_image.py IMAGE

Starts three masters in containers whose names are those of the nodes, and a fourth with TLS. Leaves no
container, network or image of its own. Status 1 and the reason where the image is not as it should be.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path += [str(pathlib.Path(__file__).resolve().parent.parent / name) for name in ("failover", "support")]
import image  # noqa: E402
from cluster import docker  # noqa: E402
from facts import Failure, wait_for  # noqa: E402

LARGEST = 10_000_000
NAME = f"redlock-image-{os.getpid()}"
MASTER = f"{NAME}:master"
NODES = [f"{NAME}-lock-{n}" for n in (1, 2, 3)]
SECURE = f"{NAME}-secure"


def expect(holds, what):
    if not holds:
        raise Failure(what)


def start(name, *words, options=()):
    docker("run", "--detach", "--name", name, "--network", NAME, *options, MASTER,
           "/usr/bin/redis-server", "--protected-mode", "no", "--save", "", *words)


def configuration(work, nodes):
    """The options by which a container finds its nodes where the command looks by itself."""
    file = work / f"{len(list(work.glob('*.json')))}.json"
    # A stall of the machine is no fault of the image.
    file.write_text(json.dumps({"node_timeout_ms": 5000, "connect_timeout_ms": 10000, "nodes": nodes}))
    file.chmod(0o644)
    return ["--network", NAME, "--volume", f"{file}:/etc/redlock/config.json:ro"]


def call(options, *words):
    done = subprocess.run(["docker", "run", "--rm", *options, TESTED, *words],
                          capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def redlock(options, *words, status=0):
    found, said = call(options, *words)
    expect(found == status, f"redlock {' '.join(words)}: status {found}, not {status}: {said}")
    return said


def check_contents():
    size = int(docker("image", "inspect", "--format", "{{.Size}}", TESTED))
    expect(size < LARGEST, f"the image has {size} bytes, not less than {LARGEST}")
    user = docker("image", "inspect", "--format", "{{.Config.User}}", TESTED)
    expect(user.split(":")[0] not in ("", "0", "root"), f"the image's user is '{user}'")
    container = docker("create", TESTED)
    listing = subprocess.run(f"docker export {container} | tar -t", shell=True, check=True,
                             capture_output=True, text=True).stdout.split()
    docker("rm", container)
    # An engine adds mount points of its own to each container.
    files = {name for name in listing if not name.endswith("/") and not name.startswith(("dev/", "etc/host"))}
    files -= {".dockerenv", "etc/mtab", "etc/resolv.conf"}
    wanted = {"usr/bin/redlock", "etc/ssl/certs/ca-certificates.crt", "usr/share/doc/redlock/LICENSE"}
    expect(files == wanted, f"the image has {files}, not {wanted}")
    return f"{size / 1e6:.1f} MB, user {user}"


def check_names(work, nodes):
    wait_for("the masters answer", lambda: call(nodes, "list")[0] == 0)
    said = redlock(nodes, "inspect", "names")
    expect(all(name in said for name in NODES), f"inspect names no node: {said}")
    missing = f"{NAME}-nowhere"
    said = redlock(configuration(work, [*NODES[:2], missing]), "doctor", status=2)
    expect("Host not found" in said, f"a name that does not resolve is not reported so: {said}")


def make_certificates(folder):
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, cwd=folder, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
            "-subj", "/CN=root of a test", "-days", "2")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "node.key", "-out", "node.csr",
            "-subj", f"/CN={SECURE}")
    (folder / "names").write_text(f"subjectAltName=DNS:{SECURE}\n")
    openssl("x509", "-req", "-in", "node.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", "node.pem", "-days", "2", "-extfile", "names")
    for file in folder.iterdir():
        file.chmod(0o644)
    folder.chmod(0o755)


def check_tls(work):
    """The roots of the image do not know the test's; the test's list, mounted over it, does."""
    folder = work / "certificates"
    folder.mkdir()
    make_certificates(folder)
    start(SECURE, "--port", "0", "--tls-port", "6379", "--tls-cert-file", "/tls/node.pem", "--tls-key-file",
          "/tls/node.key", "--tls-ca-cert-file", "/tls/ca.pem", "--tls-auth-clients", "no",
          options=["--volume", f"{folder}:/tls:ro"])
    nodes = configuration(work, [f"rediss://{SECURE}"])
    mounted = ["--volume", f"{folder}/ca.pem:/etc/ssl/certs/ca-certificates.crt:ro"]
    wait_for("the master with TLS answers", lambda: call([*nodes, *mounted], "list")[0] == 0)
    said = redlock(nodes, "doctor", status=2)
    expect("certificate" in said, f"an unknown root is not reported: {said}")


def check_run(work, nodes):
    """In another image, as its first process: a lock held by a container, and what `docker stop` sends."""
    folder = work / "derived"
    folder.mkdir()
    (folder / "Dockerfile").write_text(f"FROM {MASTER}\nCOPY --from={TESTED} /usr/bin/redlock /usr/bin/redlock\n")
    derived = f"{NAME}:derived"
    subprocess.run(["docker", "build", "--quiet", "--tag", derived, folder], check=True, capture_output=True,
                   env={**os.environ, "DOCKER_BUILDKIT": "0"})
    holder = f"{NAME}-holder"
    docker("run", "--detach", "--name", holder, *nodes, derived, "redlock", "run", "job", "--", "redis-server",
           "--save", "")
    wait_for("the lock is held", lambda: json.loads(redlock(nodes, "inspect", "--json", "job"))["held"])
    redlock(nodes, "acquire", "--ttl", "5s", "job", status=120)
    docker("stop", "--time", "60", holder)
    status = docker("inspect", "--format", "{{.State.ExitCode}}", holder)
    expect(status == "0", f"redis-server, ended by SIGTERM, gave status {status}: {docker('logs', holder)}")
    redlock(nodes, "acquire", "--ttl", "5s", "job")


def clean_up():
    containers = docker("ps", "--all", "--quiet", "--filter", f"name={NAME}", check=False).split()
    if containers:
        docker("rm", "--force", "--volumes", *containers, check=False)
    docker("network", "rm", NAME, check=False)
    docker("image", "rm", f"{NAME}:derived", MASTER, check=False)


def main():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        try:
            facts = check_contents()
            image.build(MASTER, {"/usr/bin/redis-server": shutil.which("redis-server")}, str(work / "master"))
            docker("network", "create", NAME)
            for node in NODES:
                start(node)
            nodes = configuration(work, NODES)
            check_names(work, nodes)
            check_tls(work)
            check_run(work, nodes)
        except Failure as failure:
            print(f"image: {failure}", file=sys.stderr)
            return 1
        finally:
            clean_up()
    print(f"image: {facts}: names of nodes, TLS, status and signals are as they should be")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("--help", "-h"):
        sys.exit(__doc__.strip())
    TESTED = sys.argv[1]
    sys.exit(main())
