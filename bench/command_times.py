#!/usr/bin/env python3
# How long one call of the command takes, beside flock(1); knows no internals.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_CONFIG=FILE REDLOCK_TOOL=FILE command_times.py [--runs N]

Runs `redlock run NAME true` and `flock -n FILE true` in turns, N times each (200), and prints one
JSON object: of each the median of the whole process's time, and the smallest one.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time


def milliseconds_of(call):
    began = time.perf_counter()
    subprocess.run(call, check=True)
    return (time.perf_counter() - began) * 1e3


def main():
    asked = argparse.ArgumentParser(usage=__doc__)
    asked.add_argument("--runs", type=int, default=200)
    runs = asked.parse_args().runs
    with tempfile.NamedTemporaryFile() as file:
        calls = {"run_true": [os.environ["REDLOCK_TOOL"], "run", "redlock-bench:command", "true"],
                 "flock": ["flock", "-n", file.name, "true"]}
        times = {name: [] for name in calls}
        for _ in range(runs):
            for name, call in calls.items():
                times[name].append(milliseconds_of(call))
    figures = {"runs": runs}
    for name, each in times.items():
        figures[f"{name}_ms"] = round(statistics.median(each), 2)
        figures[f"{name}_least_ms"] = round(min(each), 2)
    print(json.dumps(figures))


main()
