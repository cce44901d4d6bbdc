# Has the sum of all tests tell what one could not do on this machine; knows no test.
# SPDX-License-Identifier: MIT


def say_skipped(why):
    """scripts/test-sum looks for lines that begin so. `why` says what would help, too."""
    print(f"skipped: {why}", flush=True)


def skip(test, why):
    say_skipped(why)
    test.skipTest(why)
