# Signs of life of a command by NOTIFY_SOCKET, from outside only; knows no internals.
# SPDX-License-Identifier: MIT
"""usage: watchdog.py COMMAND; COMMAND is what redlock run --watchdog is to run, or:

sign N PAUSE    sends WATCHDOG=1 so many times, after so many seconds each
ready           sends READY=1 and a line of status in one datagram, then many more
outer TOOL...   has a NOTIFY_SOCKET of its own, runs the words, and prints what came there
"""
import os
import socket
import subprocess
import sys
import time


def address():
    name = os.environ["NOTIFY_SOCKET"]
    return "\0" + name[1:] if name.startswith("@") else name


def outer(words):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mine:
        mine.bind("")
        os.environ["NOTIFY_SOCKET"] = "@" + mine.getsockname()[1:].decode()
        running = subprocess.Popen(words)
        got = [mine.recv(4096).decode()]
        while got[-1] != "STOPPING=1":
            got.append(mine.recv(4096).decode())
        status = running.wait()
        print(*got, sep="|")
        return status


def main():
    what, *rest = sys.argv[1:]
    if what == "outer":
        return outer(rest)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mine:
        mine.connect(address())
        if what == "ready":
            mine.send(b"READY=1\nSTATUS=up")
            for number in range(40):
                mine.send(f"STATUS={number}".encode())
            mine.send(b"STOPPING=1")
            return 0
        for _ in range(int(rest[0])):
            time.sleep(float(rest[1]))
            mine.send(b"STATUS=works\nWATCHDOG=1")
    return 0


sys.exit(main())
