# Whether the machine lets the masters work just now, asked without the library; knows no fault.
# SPDX-License-Identifier: MIT
import threading
import time

from facts import Direct, ErrorReply, now_ns

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


def fit_nodes(beats, begin, end):
    """How many nodes did two of three trifles in time between two instants."""
    fit = 0
    for of_one in beats:
        between = [good for at, good in of_one if begin <= at <= end]
        fit += bool(between) and 3 * sum(between) >= 2 * len(between)
    return fit
