# Makes an image of programs that are installed here, and nothing else; knows no service.
# SPDX-License-Identifier: MIT
import os
import re
import shutil
import subprocess

from facts import Failure

DOCKERFILE = "FROM scratch\nCOPY . /\nENV PATH=/usr/bin\nWORKDIR /data\n"


def libraries_of(program):
    names = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+) \(0x", names)


def build(name, programs, folder):
    """`programs` maps paths inside the image to files here; their libraries come along."""
    os.mkdir(folder)
    for inside, program in programs.items():
        for source, target in [(program, inside)] + [(l, l) for l in libraries_of(program)]:
            place = os.path.join(folder, target.lstrip("/"))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(source, place)  # follows links
    for writable in ("data", "tmp"):
        os.mkdir(os.path.join(folder, writable))
    with open(os.path.join(folder, "Dockerfile"), "w", encoding="utf-8") as file:
        file.write(DOCKERFILE)
    # The classic builder: the other one is not everywhere, and wants more than an engine.
    done = subprocess.run(["docker", "build", "--quiet", "--tag", name, folder], timeout=120, text=True,
                          capture_output=True, env={**os.environ, "DOCKER_BUILDKIT": "0"})
    shutil.rmtree(folder)
    if done.returncode != 0:
        raise Failure(f"docker build: {done.stderr.strip()}")
