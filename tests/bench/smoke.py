# Checks the lines of a short run of redlock_bench and its exact counts; looks at no time.
# SPDX-License-Identifier: MIT
import json
import subprocess
import sys
import tempfile

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
    for line in of(lines, "latency"):
        check(line["acquires"] == 30, f"3 blocks of 10 acquires: {line}")
    faults = of(lines, "fault")
    check([(l["mode"], l["fault"]) for l in faults if l["nodes"] == 5] ==
          [(m, f) for m in ("plain", "fenced") for f in ("hung", "dead")],
          "a hung and a dead one of five")
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(done.stdout)
        file.flush()
        shown = subprocess.run([table, file.name], stdout=subprocess.PIPE, text=True, check=True)
    check("rate over healthy rate" in shown.stdout, "the table shows ratios")
    for line in wrong:
        print("WRONG:", line)
    sys.exit(1 if wrong else 0)


main()
