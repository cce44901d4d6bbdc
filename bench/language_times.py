#!/usr/bin/env python3
# What an acquire and release cost in Python, beside the blocking client of C++ on the same nodes.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_LIBRARY=FILE PYTHONPATH=python bench/language_times.py CYCLES_PROGRAM
                 [--cycles N] [--rounds N]

CYCLES_PROGRAM is bench_blocking_cycles. With one thread and with 16, of which each has a lock of its own,
both run in turns, N rounds each (5), in processes of their own. Prints one JSON object per number of threads:
the median in microseconds of the cycles of either, and of redis-py's Lock on one node (null: there is no
redis-py), which is one round trip to one server, without a quorum and without fences.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time


def cycles_of(lock_of, name, count):
    lock = lock_of(name)
    out = []
    for _ in range(count):
        began = time.perf_counter()
        with lock:
            pass
        out.append((time.perf_counter() - began) * 1e6)
    return out


def by_threads(lock_of, threads, count):
    """The microseconds of each cycle."""
    cycles_of(lock_of, "redlock-bench:warm", 50)
    each = [[] for _ in range(threads)]
    running = [threading.Thread(target=lambda i=i: each[i].extend(
        cycles_of(lock_of, f"redlock-bench:{i}", count))) for i in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return [us for of_thread in each for us in of_thread]


def ours():
    import redlock_quorum as redlock

    return redlock.Client.from_environment().lock


def redis_py():
    import redis

    text = pathlib.Path(os.environ["REDLOCK_CONFIG"]).read_text(encoding="utf-8")
    port = int(re.search(r'127\.0\.0\.1:(\d+)|"port": (\d+)', text)[0].rpartition(":")[2])
    server = redis.Redis(port=port)
    return lambda name: server.lock(name + ":redis-py", timeout=10)


def median_of(words):
    said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    return statistics.median(map(float, said.split()))


def main():
    asked = argparse.ArgumentParser(usage=__doc__)
    asked.add_argument("program")
    asked.add_argument("--cycles", type=int, default=1000)
    asked.add_argument("--rounds", type=int, default=5)
    asked.add_argument("--half", choices=("ours", "redis_py"))  # this program, as one of the sides
    asked.add_argument("--threads", type=int)
    given = asked.parse_args()
    if given.half:
        lock_of = {"ours": ours, "redis_py": redis_py}[given.half]()
        print("\n".join(f"{us:.1f}" for us in by_threads(lock_of, given.threads, given.cycles)))
        return
    me = [sys.executable, __file__, given.program]
    try:
        import redis  # noqa: F401
        halves = ("ours", "redis_py")
    except ImportError:
        halves = ("ours",)
    for threads in (1, 16):
        cycles = max(10, given.cycles // threads)
        more = ["--threads", str(threads), "--cycles", str(cycles)]
        calls = {"c++": [given.program, str(threads), str(cycles)]}
        calls.update({half: [*me, "--half", half, *more] for half in halves})
        medians = {name: [] for name in calls}
        for _ in range(given.rounds):
            for name, call in calls.items():
                medians[name].append(median_of(call))
        p50 = {name: statistics.median(each) for name, each in medians.items()}
        print(json.dumps({"threads": threads, "cpp_p50_us": round(p50["c++"], 1),
                          "python_p50_us": round(p50["ours"], 1),
                          "ratio": round(p50["ours"] / p50["c++"], 2),
                          "redis_py_p50_us": round(p50["redis_py"], 1) if "redis_py" in p50 else None}))


main()
