# Tries scenarios, again where the machine was too busy, and counts what came of them; knows none.
# SPDX-License-Identifier: MIT
import sys
import time
import traceback

from facts import Failure, NoVerdict
from scene import Scene


def run_one(name, body, cluster, binaries, work):
    """What came of it: ok, failed, or skipped where the machine was too busy to tell."""
    began = time.monotonic()
    scene = getattr(body, "stage", Scene)(cluster, binaries, work)
    outcome, wrong = "ok", []
    try:
        scene.start()
        body(scene)
        scene.finish()
    except NoVerdict as seen:
        outcome, wrong = "skipped", [str(seen)]
    except Failure as seen:
        outcome, wrong = "FAILED", [str(seen)]
    except Exception:
        outcome, wrong = "FAILED", [traceback.format_exc()]
    finally:
        scene.destroy()
    if outcome == "skipped":
        try:
            scene.judge()  # that is never excused
        except Failure as seen:
            outcome, wrong = "FAILED", [*wrong, str(seen)]
        except Exception:
            outcome, wrong = "FAILED", [*wrong, traceback.format_exc()]
    took = time.monotonic() - began
    print(f"{outcome:7}  {name} ({took:.1f} s): {'; '.join(wrong + scene.told)}", flush=True)
    return outcome


def run(chosen, cluster, binaries, work):
    """How many passed, and how many were skipped. Those that could not be tried have failed. What
    the machine was too busy for is tried once more in the end, when it may have less to do."""
    outcomes = {name: "skipped" for name, _ in chosen}
    try:
        cluster.up()
        is_as_new = True
        for _ in range(2):
            again = [one for one in chosen if outcomes[one[0]] == "skipped"]
            outcomes.update({name: "FAILED" for name, _ in again})
            for name, body in again:
                if is_as_new:
                    cluster.restore()
                else:  # nobody knows what is left of the last one's faults
                    cluster.down()
                    cluster.up()
                outcomes[name] = run_one(name, body, cluster, binaries, work)
                is_as_new = outcomes[name] == "ok"
    except Failure as seen:
        print(f"failover: {seen}", flush=True)
    except Exception:
        traceback.print_exc(file=sys.stdout)
    results = list(outcomes.values())
    return results.count("ok"), results.count("skipped")
