# Runs the scenarios on masters in containers, counts, and leaves nothing behind; knows no fault.
# SPDX-License-Identifier: MIT
import argparse
import os
import shutil
import signal
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(TESTS, "support"))

import scenarios
import self_test
from attempts import run
from cluster import Cluster, why_no_engine

ROOT = os.path.dirname(TESTS)
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def parse():
    parser = argparse.ArgumentParser(prog="failover.py")
    parser.add_argument("--chaos", required=True)
    parser.add_argument("--client", required=True)
    parser.add_argument("--clock", required=True)
    parser.add_argument("--redlock", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--some", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    return parser.parse_args()


def interrupt(number, _):
    for again in ENDINGS:  # once is enough: what follows cleans up
        signal.signal(again, signal.SIG_IGN)
    sys.exit(128 + number)


def main():
    words = parse()
    if words.self_test:
        return self_test.run(words.chaos)
    chosen = [one for one in scenarios.ALL
              if words.only in one[0] and (not words.some or one[0] in scenarios.SOME)]
    if words.list:
        print("\n".join(name for name, _ in chosen))
        return 0
    if not chosen:
        print(f"failover: no scenario has '{words.only}' in its name; see --list", file=sys.stderr)
        return 2
    reason = why_no_engine()
    if reason:
        print(f"skipped: {reason}")
        print(f"0 passed, 0 failed, {len(chosen)} skipped")
        return 0
    for number in ENDINGS:
        signal.signal(number, interrupt)
    work = tempfile.mkdtemp(prefix="redlock-failover-")
    binaries = {"chaos": words.chaos, "client": words.client, "clock": words.clock,
                "redlock": words.redlock}
    cluster = Cluster(ROOT, work, binaries)
    failed = 0
    try:
        passed, skipped = run(chosen, cluster, binaries, work)
        failed = len(chosen) - passed - skipped
    finally:
        cluster.down()
        cluster.remove_image()
        if failed == 0:
            shutil.rmtree(work, ignore_errors=True)
    if failed > 0:
        print(f"what the programs wrote is in {work}")
    if skipped > 0:
        print(f"skipped: {skipped} of {len(chosen)} scenarios: the machine was too busy, twice; "
              "run scripts/failover when it has less to do")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
