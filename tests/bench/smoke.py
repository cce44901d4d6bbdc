# Checks the lines of a short run of redlock_bench and its exact counts; looks at no time.
# SPDX-License-Identifier: MIT
import json
import os
import subprocess
import sys
import tempfile

FIGURES_OF_CONTEST = {
    "blocks", "turns_per_s", "turns_times_section", "fairness", "wait_p50_us", "wait_p99_us",
    "p99_wait_over_ideal", "cpu_us_per_turn", "held_p50_us", "next_grant_p50_us", "handover_p50_us",
    "handover_p99_us", "changes_of_holder_per_s", "round_trip_us", "floor_quorum_us",
    "next_grant_over_round_trip", "next_grant_over_floor_quorum", "handover_over_round_trip",
    "handover_over_floor_quorum",
}
wrong = []


def check(good, claim):
    if not good:
        wrong.append(claim)


def not_json(word):
    raise ValueError(f"{word} is no JSON")


def read(text):
    lines = [json.loads(line, parse_constant=not_json) for line in text.splitlines()]
    for line in lines:
        check(isinstance(line, dict) and isinstance(line.get("bench"), str), f"no name: {line}")
    return lines


def of(lines, name):
    return [line for line in lines if line["bench"] == name]


def check_throughput(lines):
    check({(l["nodes"], l["mode"], l["workers"]) for l in lines} ==
          {(n, m, w) for n in (3, 5) for m in ("plain", "fenced") for w in (1, 16)},
          "three and five nodes, plain and fenced, with 1 and 16 coroutines each")
    for line in lines:
        check(line["cycles"] > 0, f"no cycle: {line}")
        # A cycle is one acquire and one release on each node, and nothing else.
        if line["failures"] == 0:
            check(line["commands"] == 2 * line["nodes"] * line["cycles"],
                  f"not two commands per node and cycle: {line}")
        check(line["allocations_per_cycle"] > 0, f"no allocation was seen: {line}")
        check(0 < line["writes_per_cycle"] <= line["commands_per_cycle"],
              f"more writes than commands: {line}")


def check_contended(lines):
    contests = of(lines, "contended")
    check([(l["nodes"], l["mode"], l["by"], l["processes"]) for l in contests] ==
          [(5, "fenced", "redlock", 1), (5, "fenced", "redlock", 8)],
          "one process and eight contend, on five nodes")
    for line in contests:
        # Whoever asks before the end gets a turn, and everybody asks.
        check(line["turns"] + line["failures"] >= line["workers"] == 8, f"not all asked: {line}")
        check(line["turns"] > 0, f"nobody had a turn: {line}")
        check(line["overlaps"] == 0, f"two held at once: {line}")
        check(FIGURES_OF_CONTEST <= line.keys(), f"figures are missing: {line}")
    check({l["peer"] for l in of(lines, "contended_absent")} == {"redlock plain", "redsync"},
          "a peer that is not there is named")


# Stands in for redsync's program, once for each of eight: all claim one microsecond.
TWO_AT_ONCE = """#!/bin/sh
echo ready
read go begin end
echo "turn 0 $begin $((begin + 3000)) $((begin + 4000))"
echo "done 250 0"
"""
SPEAKS_IN_RIDDLES = """#!/bin/sh
echo ready
read go begin end
echo "turn 0 soon"
"""


def run_beside(bench, script):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "contender")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        os.chmod(path, 0o755)
        return subprocess.run([bench, "--smoke", "--only", "contended", "--redsync", path],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_peers(bench):
    done = run_beside(bench, TWO_AT_ONCE)
    check(done.returncode == 0, f"a peer's fault ended the run: {done.stderr}")
    lines = read(done.stdout)
    peers = [l for l in of(lines, "contended") if l["by"] != "redlock"]
    check(peers[0]["by"] == "redlock plain" and peers[0]["overlaps"] == 0, "plain locks, too")
    check(len(peers) == 6, "five ways to use redsync")
    for line in peers[1:]:
        got = [line[name] for name in ("turns", "overlaps", "fairness", "wait_p99_us",
                                       "p99_wait_over_ideal", "held_p50_us", "cpu_us_per_turn")]
        check(got == [8, 7, 1, 3, 0.000375, 1, 250], f"the figures of what was told: {line}")
    check(len(of(lines, "contended_ratios")) == 1, "ratios over the best peer")
    check(not of(lines, "contended_absent"), "nobody is absent")
    check(run_beside(bench, SPEAKS_IN_RIDDLES).returncode == 1,
          "a peer that is not understood is an error")


def main():
    bench, table = sys.argv[1:]
    done = subprocess.run([bench, "--smoke"], stdout=subprocess.PIPE, text=True, check=True)
    lines = read(done.stdout)
    check(len(of(lines, "machine")) == 1, "one line that names the machine")
    check_throughput(of(lines, "throughput"))
    check([(l["nodes"], l["mode"]) for l in of(lines, "latency")] ==
          [(n, m) for n in (3, 5) for m in ("plain", "fenced")], "four lines of latency")
    renewals = of(lines, "renewal")
    check(len(renewals) == 4, "four lines of renewal")
    for line in renewals:
        check(line["lost"] == 0, f"leases were lost: {line}")
        # All that are due together share one command per node; two ticks may share the leases.
        check(line["renewals_per_command_and_node"] >= 250, f"renewals travel alone: {line}")
    waiting = of(lines, "waiting")
    check(len(waiting) == 1, "one line of waiting")
    for line in waiting:
        check(line["granted"] == line["resources"], f"waiters were left out: {line}")
    for line in of(lines, "latency"):
        check(line["acquires"] == 30, f"3 blocks of 10 acquires: {line}")
    faults = of(lines, "fault")
    check([(l["mode"], l["fault"]) for l in faults if l["nodes"] == 5] ==
          [(m, f) for m in ("plain", "fenced") for f in ("hung", "dead")],
          "a hung and a dead one of five")
    check_contended(lines)
    check_peers(bench)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(done.stdout)
        file.flush()
        shown = subprocess.run([table, file.name], stdout=subprocess.PIPE, text=True, check=True)
    for row in ("rate over healthy rate", "bytes per waiter", "turns times section", "redsync is absent"):
        check(row in shown.stdout, f"the table shows {row}")
    for line in wrong:
        print("WRONG:", line)
    sys.exit(1 if wrong else 0)


main()
