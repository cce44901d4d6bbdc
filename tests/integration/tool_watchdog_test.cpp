// redlock run --watchdog: a command that lives is left alone, one that hangs is stopped; knows no
// internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "tool_call.hpp"

#include <cstdlib>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a command without a sign of life is stopped, and its lock is free", "[watchdog]") {
    founded_cluster nodes(3);
    const scratch folder;
    // It signs once, ignores TERM, and has a child: KILL ends both.
    tool_process running(run_on(
        nodes, {"--watchdog", "400ms", "r", "-c",
                "trap '' TERM; echo >&$REDLOCK_WATCHDOG_FD; echo $$ > " + (folder / "pid") +
                    "; sleep 600 & wait; sleep 600"}));
    const auto got = outcome_of(running);
    CHECK(got.status == 124);
    CHECK(has_text(got.err, "CMD gave no sign of life for 400ms, and is stopped"));
    CHECK(nodes.holding("r") == 0);
    CHECK_FALSE(is_alive(-std::stoi(read_file(folder / "pid"))));
    tool_process in_json(run_on(nodes, {"--json", "--watchdog", "50ms", "r", "sleep", "600"}));
    CHECK(has_text(outcome_of(in_json).err, R"("resource":"r","status":124)"));
    tool_process zero(run_on(nodes, {"--watchdog", "0s", "r", "true"}));
    CHECK(zero.wait() == 125);
}

TEST_CASE("a byte now and then keeps a command alive", "[watchdog]") {
    founded_cluster nodes(3);
    // Each pause is far shorter than the limit, and all of them together are longer.
    tool_process running(run_on(nodes, {"--watchdog", "2s", "r", "-c",
                                        "for i in 1 2 3 4 5 6; do sleep 0.5; "
                                        "echo >&$REDLOCK_WATCHDOG_FD; done"}));
    const auto got = outcome_of(running);
    CHECK(got.status == 0);
    CHECK(got.err.empty());
}

TEST_CASE("the descriptor is the lowest that is free, so that each shell can write to it",
          "[watchdog]") {
    founded_cluster nodes(3);
    // sh takes one digit after >&.
    call_words call{"-c", "exec 3<&0 4<&0 5<&0 6<&0 7<&0 8<&0; exec \"$@\"", "sh",
                    std::getenv("REDLOCK_TOOL")};
    const call_words run = run_on(nodes, {"--watchdog", "60s", "r", "-c",
                                          "echo >&$REDLOCK_WATCHDOG_FD && "
                                          "echo $REDLOCK_WATCHDOG_FD"});
    call.insert(call.end(), run.begin(), run.end());
    tool_process full(tool_process::program{"/bin/sh"}, call);
    const auto got = outcome_of(full);
    CHECK(got.status == 0);
    CHECK(got.out == "9\n");
    CHECK(got.err.empty());
}

TEST_CASE("a command that closes the descriptor has to give its signs otherwise", "[watchdog]") {
    founded_cluster nodes(3);
    tool_process silent(run_on(nodes, {"--watchdog", "200ms", "r", "-c",
                                       "eval \"exec $REDLOCK_WATCHDOG_FD>&-\"; exec sleep 600"}));
    CHECK(silent.wait() == 124);
    tool_process done(run_on(nodes, {"--watchdog", "60s", "r", "-c",
                                     "eval \"exec $REDLOCK_WATCHDOG_FD>&-\"; exit 3"}));
    CHECK(done.wait() == 3);
}
