# Checks what bench/peers/beside counts of this library and of a peer's absence; looks at no time.
# SPDX-License-Identifier: MIT
import json
import subprocess
import sys
import tempfile

beside, ours, table = sys.argv[1:]
done = subprocess.run([beside, "--quick", "--rounds", "1", "--only", "fenced", "--only", "redis",
                       "/nowhere/stores", ours], text=True, stdout=subprocess.PIPE, check=True)
lines = [json.loads(line) for line in done.stdout.splitlines()]
wrong = []
for line in lines:
    if line["peer"] != "redlock":
        if "absent" not in line:
            wrong.append("a peer that can't be started is not said to be absent")
        continue
    if line.get("absent") or line["failures"] or not 0 < line["p50_us"] <= line["p99_us"]:
        wrong.append("acquires fail, or were not measured")
    if line["sync"] == "none" and (line["overlaps"] or not 0 < line["fairness"] <= 1
                                   or {"killed_ms", "stopped_ms", "next_holder_ms"} - set(line)):
        wrong.append("two processes held at once, or a fault was not measured")
if sorted(line["sync"] for line in lines) != ["each write"] * 2 + ["none"] * 2:
    wrong.append("not each system with both ways to keep its data")
with tempfile.NamedTemporaryFile("w") as file:
    file.write(done.stdout)
    file.flush()
    rows = subprocess.run([table, file.name], text=True, stdout=subprocess.PIPE, check=True).stdout
if "cycles per s, 128 workers" not in rows or "is absent" not in rows:
    wrong.append("bench/table does not show it")
print(done.stdout, *wrong, sep="\n")
sys.exit(1 if wrong else 0)
