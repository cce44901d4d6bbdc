# Judges the benchmark's lines about 100,000 waiters and 100,000 leases; looks at no time.
# SPDX-License-Identifier: MIT
import json
import sys

CROWD = 100_000


def main():
    waiting, renewal = ([json.loads(line) for line in open(name, encoding="utf-8")]
                        for name in sys.argv[1:])
    waiting = [line for line in waiting if line["bench"] == "waiting"]
    renewal = [line for line in renewal if line["bench"] == "renewal"]
    wrong = []
    if max((line["resources"] for line in waiting), default=0) < CROWD:
        wrong.append(f"not {CROWD} waited")
    if max((line["leases"] for line in renewal), default=0) < CROWD:
        wrong.append(f"not {CROWD} were held")
    wrong += [f"waiters were left out: {line}" for line in waiting
              if line["granted"] != line["resources"]]
    wrong += [f"waiters never slept: {line}" for line in waiting if line["calm_after_s"] < 0]
    wrong += [f"leases were lost: {line}" for line in renewal
              if line["held"] != line["leases"] or line["lost"] != 0]
    for text in wrong:
        print("WRONG:", text)
    if not wrong:
        print(f"{CROWD} waiters: all granted; {CROWD} leases: all held, none lost")
    sys.exit(1 if wrong else 0)


main()
