# Checks the lines of a short run of redlock_bench and its exact counts; looks at no time.
# SPDX-License-Identifier: MIT
import json
import os
import shutil
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


# Every measurement of the settings comes in this order.
SETTINGS = [(n, m, "tcp") for n in (1, 3, 5) for m in ("plain", "fenced")] + \
           [(3, m, "unix") for m in ("plain", "fenced")]


def setting_of(line):
    return tuple(line[name] for name in ("nodes", "mode", "transport", "workers"))


def check_throughput(lines):
    check([(l["nodes"], l["mode"], l["transport"], l["workers"], l["by"]) for l in lines] ==
          [(*s, w, by) for s in SETTINGS for w in ((16,) if s[2] == "unix" else (1, 16))
           for by in ("coroutines", "callbacks")],
          "one, three and five nodes, plain and fenced, with 1 and 16 workers each")
    counted = {setting_of(l): l["cycles"] for l in lines if l["by"] == "callbacks"}
    for line in lines:
        check(line["cycles"] > 0, f"no cycle: {line}")
        # A cycle is one acquire and one release on each node, and nothing else. Of many workers
        # several may travel as one command.
        if line["failures"] == 0:
            alone = 2 * line["nodes"] * line["cycles"]
            check(line["commands"] == alone if line["workers"] == 1 else line["commands"] <= alone,
                  f"not two commands per node and cycle: {line}")
        check(line["raw_commands_per_cycle"] == 2 * line["nodes"],
              f"the ceiling has other commands: {line}")
        check(line["raw_cycles_per_s"] > 0 and (line["rate_over_raw"] > 0 or line["failures"] > 0),
              f"no ceiling: {line}")
        # None once warm, but for the loop's own: a lone worker pays for each turn of it. And a
        # refused one leaves what it allocated to the others' cycles. Where a stall left few cycles,
        # what each block costs once weighs too much: these are of the callbacks, for both lines.
        most = 4 if line["workers"] == 16 else 20
        if counted.get(setting_of(line), 0) >= 50:
            check(line["allocations_in_library_per_cycle"] <= most or line["failures"] > 0,
                  f"more than {most} allocations in the library: {line}")
        if line["workers"] == 16:
            check(line["writes_per_cycle"] <= line["nodes"],
                  f"commands of 16 workers travel alone: {line}")
            if line["mode"] == "fenced":
                check(line["commands_per_cycle"] <= line["nodes"],
                      f"requests of 16 workers are commands of their own: {line}")
        if line["workers"] == 1:
            check(line["allocations_per_cycle"] > 0, f"nothing is counted: {line}")
        if line["by"] == "callbacks":
            check(line["allocations_per_cycle"] == line["allocations_in_library_per_cycle"],
                  f"callbacks allocate nothing: {line}")
        for who in ("", "raw_"):
            check(0 < line[f"{who}writes_per_cycle"] <= line[f"{who}commands_per_cycle"],
                  f"more writes than commands: {line}")


def check_latency(lines):
    check([(l["nodes"], l["mode"], l["transport"]) for l in lines] == SETTINGS,
          "a line of latency for each setting")
    for line in lines:
        check(line["acquires"] + line["failures"] == 30, f"3 blocks of 10 acquires: {line}")
        for what in ("", "cycle_"):
            check(line[f"{what}p50_us"] <= line[f"{what}p99_us"] <= line[f"{what}p999_us"],
                  f"quantiles out of order: {line}")
            for floor in ("floor", "script_floor"):
                for whom in ("all", "quorum"):
                    check(line[f"{what}p50_over_{floor}_{whom}"] > 0, f"a floor is missing: {line}")


def check_renewal(lines):
    check(len(lines) == 4, "four lines of renewal")
    for line in lines:
        check(line["held"] == line["leases"] and line["lost"] == 0, f"leases were lost: {line}")
        # Those that are due together share commands of 64; a few ticks may share the leases, and
        # more after a round that a busy machine made fail.
        check(line["renewals_per_command_and_node"] >= 30 or line["renewal_failures"] > 0,
              f"renewals travel alone: {line}")
        check(0 < line["heap_bytes_per_lease"] < 100_000, f"no memory of a lease: {line}")


def check_growth(lines):
    grown = {name: of(lines, f"growth_{name}") for name in ("workers", "clients", "ttl_max")}
    check([(l["nodes"], l["workers"]) for l in grown["workers"]] == [(3, 1), (3, 16)],
          "growth with 1 and 16 workers")
    check([l["clients"] for l in grown["clients"]] == [2], "growth with two clients")
    check([l["ttl_max_ms"] for l in grown["ttl_max"]] == [60_000, 86_400_000],
          "growth with a ttl_max of a minute and of a day")
    for line in sum(grown.values(), []):
        check(line["cycles"] > 0 and line["node_cpu_us_per_cycle"] > 0, f"no cycle: {line}")


def check_tls(bench, lines):
    measured = of(lines, "tls")
    for line in of(lines, "tls_absent"):
        check(line["reason"] and not measured, f"TLS is left out, with the reason: {line}")
        return
    check([setting_of(l) for l in measured] == [(3, "fenced", "tls", w) for w in (1, 16)],
          "TLS on three nodes, with 1 and 16 workers")
    for line in measured:
        check(line["blocks"] == (3 if line["workers"] == 1 else 2), f"blocks in turns: {line}")
        check(line["cycles"] > 0 and line["cycles_without_tls"] > 0, f"no cycle: {line}")
        for what in ("acquire_p50", "rate", "cpu"):
            check(line[f"{what}_over_without_tls"] > 0, f"no ratio: {line}")
        for what in ("acquire_p50_us", "cycles_per_s", "cpu_us_per_cycle"):
            check(line[what] > 0 and line[f"{what}_without_tls"] > 0, f"no figure: {line}")
    # No openssl command is found there.
    server = shutil.which(os.environ.get("REDIS_SERVER") or "redis-server")
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run([bench, "--smoke", "--only", "tls"], stdout=subprocess.PIPE,
                              text=True, env={**os.environ, "REDIS_SERVER": server, "PATH": empty})
    check(done.returncode == 0, "nothing fails for want of certificates")
    check([l for l in read(done.stdout) if l["bench"] != "machine"] ==
          [{"bench": "tls_absent", "reason": "there is no openssl command"}],
          "that TLS can't be measured is said")


def check_contended(lines):
    contests = of(lines, "contended")
    check([(l["nodes"], l["mode"], l["by"], l["processes"]) for l in contests] ==
          [(5, "fenced", "redlock", 1), (5, "fenced", "redlock", 8)],
          "one process and eight contend, on five nodes")
    for line in contests:
        # A worker that begins to wait before the end gets a turn, and every worker does.
        check(line["turns"] + line["failures"] >= line["workers"] == 8, f"not all tried: {line}")
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


# Stands in for a program that cycles: a cycle of a worker takes one microsecond, and all its CPU.
CYCLES = """#!/bin/sh
echo ready
read go
[ "$go" = go ] && echo "done $(($1 * 1000)) 2 2000 1000"
"""


def run_beside(bench, script, options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "contender")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        os.chmod(path, 0o755)
        return subprocess.run([bench, "--smoke", *(o.replace("PATH", path) for o in options)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_peers(bench):
    contended = ["--only", "contended", "--redsync", "PATH"]
    done = run_beside(bench, TWO_AT_ONCE, contended)
    check(done.returncode == 0, f"a peer's fault ended the run: {done.stderr}")
    lines = read(done.stdout)
    peers = [l for l in of(lines, "contended") if l["by"] != "redlock"]
    check(peers[0]["by"] == "redlock plain" and peers[0]["overlaps"] == 0, "plain locks, too")
    check(len(peers) == 6, "five ways to use redsync")
    for line in peers[1:]:
        got = [line[name] for name in ("turns", "overlaps", "fairness", "wait_p99_us",
                                       "p99_wait_over_ideal", "held_p50_us", "cpu_us_per_turn")]
        check(got == [8, 7, 1, 3, 0.000375, 1, 250], f"the figures of what was reported: {line}")
    check(len(of(lines, "contended_ratios")) == 1, "ratios over the best peer")
    check(not of(lines, "contended_absent"), "nobody is absent")
    check(run_beside(bench, SPEAKS_IN_RIDDLES, contended).returncode == 1,
          "a peer that is not understood is an error")


def check_cycle_peers(bench):
    options = ["--only", "throughput", "--redsync-cycles", "fast=PATH",
               "--redsync-cycles", "as fast=PATH", "--without-redsync-cycles", "slow=it is = away"]
    done = run_beside(bench, CYCLES, options)
    check(done.returncode == 0, f"a program that cycles ended the run: {done.stderr}")
    lines = read(done.stdout)
    peers = of(lines, "throughput_peer")
    check([(l["peer"], l["nodes"], l["mode"], l["workers"]) for l in peers] ==
          [(p, n, "plain", 16) for n in (3, 5) for p in ("fast", "as fast")],
          "beside them on three and five nodes")
    for line in peers:
        # Two blocks of 16,000 cycles, each in a millisecond with two of CPU.
        got = [line[name] for name in ("blocks", "cycles", "failures", "cycles_per_s",
                                       "cpu_us_per_cycle")]
        check(got == [2, 32000, 4, 1.6e7, 0.125], f"the figures of what was reported: {line}")
        check(line["ours_over_peer"] > 0, f"no ratio: {line}")
    check(of(lines, "throughput_peer_absent") ==
          [{"bench": "throughput_peer_absent", "peer": "slow", "reason": "it is = away"}],
          "a program that is not there is named")
    check(run_beside(bench, SPEAKS_IN_RIDDLES, options).returncode == 1,
          "a program that is not understood is an error")
    check(not of(read(run_beside(bench, CYCLES, [*options, "--no-peers"]).stdout),
                 "throughput_peer"), "nobody beside it with --no-peers")


def main():
    bench, table = sys.argv[1:]
    done = subprocess.run([bench, "--smoke"], stdout=subprocess.PIPE, text=True, check=True)
    lines = read(done.stdout)
    check(len(of(lines, "machine")) == 1, "one line that names the machine")
    check_throughput(of(lines, "throughput"))
    check_latency(of(lines, "latency"))
    check_renewal(of(lines, "renewal"))
    check_growth(lines)
    watching = of(lines, "watching")
    check([(line["resources"], line["watchers"]) for line in watching] == [(1, 10), (100, 100)],
          "watchers of one resource, and of many")
    for line in watching:
        check(line["changes_seen"] == line["changes"], f"every change is seen: {line}")
    listing = of(lines, "listing")
    check([(line["keys_per_node"], line["held"]) for line in listing] == [(3_000, 3)],
          "what is held among 3,000 keys")
    check(all(line["over_bare_scan"] > 0 and line["step_us"] > 0 for line in listing), "no time")
    waiting = of(lines, "waiting")
    check(len(waiting) == 1, "one line of waiting")
    for line in waiting:
        check(line["granted"] == line["resources"], f"waiters were left out: {line}")
        check(line["calm_after_s"] >= 0, f"waiters never slept: {line}")
    crowds = of(lines, "crowd")
    check([(l["for"], l["waiters"], l["grants"]) for l in crowds] ==
          [("one name", 4, 4), ("a name each", 4, 4)], "each of a crowd is granted")
    check(all(line["next_grant_over_few"] > 0 for line in crowds), "no time")
    server_times = of(lines, "server_time")
    check([l["requests"] for l in server_times] == [1, 2, 4, 16, 64],
          "how long requests occupy a server, alone and in commands of 2 to 64")
    for line in server_times:
        check(line["acquire_us"] > 0 and line["release_over_least"] > 0, f"no time: {line}")
    faults = of(lines, "fault")
    check([(l["nodes"], l["mode"], l["fault"]) for l in faults] ==
          [(5, m, f) for m in ("plain", "fenced") for f in ("hung", "dead", "pausing")],
          "a hung, a dead and a pausing one of five")
    for line in faults:
        check(line["cycle_p99_us"] > 0 and line["healthy_cycle_p99_us"] > 0, f"no tail: {line}")
    check_tls(bench, lines)
    check_contended(lines)
    check_peers(bench)
    check_cycle_peers(bench)
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(done.stdout)
        file.flush()
        shown = subprocess.run([table, file.name], stdout=subprocess.PIPE, text=True, check=True)
    for row in ("rate over the raw pipeline's", "p99.9 over write-all-read-all", "UNIX sockets",
                "heap bytes per lease", "bytes per waiter", "rate over healthy rate",
                "p99 of a cycle over healthy", "TLS", "turns times section", "redsync is absent"):
        check(row in shown.stdout, f"the table shows {row}")
    for line in wrong:
        print("WRONG:", line)
    sys.exit(1 if wrong else 0)


main()
