# Whether the machine lets the masters work just now, by probes without the library; knows no fault.
# SPDX-License-Identifier: MIT
import threading
import time

from facts import now_ns
from redis_direct import Direct, ErrorReply

IN_TIME_S = 0.25  # as long as the clients wait
PERIOD_S = 0.1


class Pulse:
    """Has each node write a trifle, all the time, and notes when it did so in time."""

    def __init__(self, ports):
        self.is_over = threading.Event()
        self.beats = [[] for _ in ports]
        self.threads = [threading.Thread(target=self.feel, args=pair, daemon=True)
                        for pair in zip(ports, self.beats)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()

    def feel(self, port, beats):
        node = None
        while not self.is_over.wait(PERIOD_S):
            at, begun = now_ns(), time.monotonic()
            try:
                node = node or Direct(port, IN_TIME_S)
                node.ask("SET", "pulse", "beat", "PX", "500")
                beats.append((at, time.monotonic() - begun <= IN_TIME_S))
            except (OSError, ErrorReply):
                node = None
                beats.append((at, False))


def answering_share(beats, count, begin, end):
    """How much of the time between two instants so many nodes did it in time."""
    times = [at for of_one in beats for at, _ in of_one if begin <= at <= end]

    def answering(at):
        last = [next((good for then, good in reversed(of_one) if then <= at), False)
                for of_one in beats]
        return sum(last)
    return sum(answering(at) >= count for at in times) / len(times) if times else 0
