// A redlock run inside another of the same resource, seen from outside only.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "tool_call.hpp"

#include <redlock/error.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

// As a shell runs it; $R is redlock run with the nodes' configuration, $F a folder.
struct shell {
    shell(cluster& nodes, const std::string& script)
        : process(tool_process::program{"/bin/sh"},
                  {"-c",
                   "export REDLOCK_CONFIG=" + nodes.config() +
                       " R=\"$REDLOCK_TOOL run\" F=$0; " + script,
                   folder / "."}) {}
    tool_outcome end() { return outcome_of(process); }

    scratch folder;
    tool_process process;
};

tool_outcome in_shell(cluster& nodes, const std::string& script) {
    return shell(nodes, script).end();
}

long long to_number(const std::string& text) { return text.empty() ? 0 : std::stoll(text); }

}  // namespace

TEST_CASE("a run inside a run of the same resource runs under its lock", "[tool]") {
    cluster nodes(3);
    const std::string outer = GENERATE("r", "--slots 1 r", "--shared r");
    const auto got = in_shell(nodes, "$R " + outer + " -- sh -c '" +
                                         "echo $REDLOCK_RESOURCE $REDLOCK_FENCE $REDLOCK_OWNER "
                                         "slot=${REDLOCK_SLOT-}; exec $R --wait 15s " + outer +
                                         " -- sh -c \"exec $R " + outer +
                                         " -- sh -c \\\"echo \\\\\\$REDLOCK_RESOURCE "
                                         "\\\\\\$REDLOCK_FENCE \\\\\\$REDLOCK_OWNER "
                                         "slot=\\\\\\${REDLOCK_SLOT-}\\\"\"'");
    INFO(got.err);
    CHECK(got.status == 0);
    const auto half = got.out.size() / 2;
    CHECK(got.out.starts_with("r "));
    CHECK(got.out.substr(0, half) == got.out.substr(half));
    CHECK(has_text(got.out, outer.starts_with("--slots") ? "slot=0" : "slot=\n"));
    CHECK(nodes.holding("r") == 0);
    CHECK(nodes.holding("r#0") == 0);
}

TEST_CASE("a run inside another run inside one of the same resource finds it", "[tool]") {
    cluster nodes(3);
    const auto got = in_shell(nodes, "$R a -- sh -c 'echo $REDLOCK_OWNER; $R --slots 2 b -- sh -c "
                                     "\"exec $R --wait 15s a -- " +
                                         std::string("sh -c \\\"echo \\\\\\$REDLOCK_OWNER; "
                                                     "echo \\\\\\$REDLOCK_RESOURCE"
                                                     "\\\\\\${REDLOCK_SLOT-}\\\"\"'"));
    INFO(got.err);
    CHECK(got.status == 0);
    const auto line = got.out.substr(0, got.out.find('\n') + 1);
    CHECK(line.size() > 23);
    CHECK(got.out == line + line + "a\n");
}

TEST_CASE("a nested run passes on its command's status, or 126 or 127 where it can't be run",
          "[tool]") {
    cluster nodes(3);
    CHECK(in_shell(nodes, "$R r -- sh -c 'exec $R r -- sh -c \"exit 7\"'").status == 7);
    CHECK(in_shell(nodes, "$R r -- sh -c 'exec $R r -- /no/such/thing'").status == 127);
    const auto denied = in_shell(nodes, "$R r -- sh -c 'exec $R r -- /dev/null'");
    CHECK(denied.status == 126);
    CHECK(has_text(denied.err, "/dev/null: "));
    const auto told = in_shell(nodes, "$R r -- sh -c 'exec $R --json r -- true'");
    CHECK(told.status == 0);
    CHECK(has_text(told.err, R"("kind":"nested","severity":"info","resource":"r","fence":)"));
    CHECK(has_text(in_shell(nodes, "$R r -- sh -c 'exec $R --verbose r -- true'").err,
                   "CMD runs under its lock"));
}

TEST_CASE("a run for several slots runs under one that has as many, and else acquires", "[tool]") {
    cluster nodes(3);
    const std::string outer = "$R --slots 3 --permits 2 r -- sh -c 'echo $REDLOCK_SLOT; ";
    const auto inner = [](const std::string& permits) {
        return "exec $R --slots 3 --permits " + permits + " r -- sh -c \"echo \\$REDLOCK_SLOT\"'";
    };
    const auto same = in_shell(nodes, outer + inner("2"));
    INFO(same.err);
    CHECK(same.status == 0);
    CHECK(same.out.size() == 8);
    CHECK(same.out.substr(0, 4) == same.out.substr(4));
    CHECK(in_shell(nodes, outer + inner("1")).out.size() == 8);
    // It would wait for itself, at the head of the line.
    const auto crowded = in_shell(nodes, outer + inner("3 --wait 60s"));
    CHECK(crowded.status == 125);
    CHECK(has_text(crowded.err, "3 more don't fit beside them"));
}

TEST_CASE("alone inside shared would wait for itself, and is refused with the remedy", "[tool]") {
    cluster nodes(3);
    const auto got =
        in_shell(nodes, "$R --shared r -- sh -c 'exec $R --wait 60s r -- touch $F/ran'");
    CHECK(got.status == 125);
    CHECK(has_text(got.err, "would wait for itself"));
    CHECK(has_text(got.err, "--shared"));
    CHECK(in_shell(nodes, "$R r -- sh -c 'exec $R --shared r -- true'").status == 0);
}

TEST_CASE("slots and the resource itself are two locks, also inside each other", "[tool]") {
    cluster nodes(3);
    for (const std::string script :
         {"$R --slots 2 r -- sh -c 'exec $R r -- sh -c \"exec $R --slots 2 r -- true\"'",
          "$R r -- sh -c 'exec $R --slots 2 r -- sh -c \"exec $R r -- true\"'"}) {
        const auto got = in_shell(nodes, script);
        INFO(got.err);
        CHECK(got.status == 0);
    }
}

TEST_CASE("an environment that is out of date, foreign or broken changes nothing", "[tool]") {
    cluster nodes(3);
    driver other(nodes.options());
    auto held = other.acquire("r", {.ttl = 60s});
    REQUIRE(held.error() == error_code{});
    const std::string named =
        "REDLOCK_RESOURCE=r REDLOCK_FENCE=7 REDLOCK_OWNER=AAAAAAAAAAAAAAAAAAAAAA@test ";
    CHECK(in_shell(nodes, named + "$R r -- true").status == 120);
    REQUIRE(other.release(std::move(held.value())) == error_code{});
    CHECK(in_shell(nodes, named + "$R r -- true").status == 0);
    for (const std::string value :
         {"''", "r", "r,7,x", "'% %% ,,, \x01\xff'",
          "\"$(head -c 40000 /dev/zero | tr '\\0' r)\""}) {
        CHECK(in_shell(nodes, "REDLOCK_HELD=" + value + " REDLOCK_RESOURCE=" + value +
                                  " REDLOCK_FENCE=" + value + " REDLOCK_OWNER=" + value +
                                  " $R r -- true")
                  .status == 0);
    }
    // The outer run is over: what it left in the background acquires its own lock.
    shell late(nodes, "$R r -- sh -c '(while [ ! -e $F/go ]; do sleep 0.05; done; "
                      "$R --wait 20s r -- sh -c \"echo \\$REDLOCK_OWNER\") >$F/late 2>&1 & "
                      "echo $REDLOCK_OWNER'; touch $F/go");
    const std::string note = late.folder / "late";
    REQUIRE(eventually([&] { return read_file(note).ends_with('\n'); }));
    const auto first = late.end();
    CHECK(first.out.size() > 23);
    CHECK(read_file(note).size() > 23);
    CHECK(read_file(note) != first.out);
}

TEST_CASE("when the outer lease is lost the inner command ends with the group", "[tool]") {
    cluster nodes(3);
    shell running(nodes, "$R --ttl 9s r -- sh -c '$R r -- sh -c \"echo \\$\\$ >$F/pid; "
                         "while :; do sleep 0.1; done\"; true'");
    const std::string note = running.folder / "pid";
    REQUIRE(eventually([&] { return read_file(note).ends_with('\n'); }));
    const auto pid = static_cast<pid_t>(to_number(read_file(note)));
    REQUIRE(is_alive(pid));
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set("r", "another owner");
    CHECK(running.end().status == 122);
    CHECK(eventually([&] { return !is_alive(pid); }));
}

TEST_CASE("without a quorum the inner run does not go on", "[tool]") {
    cluster nodes(3);
    const auto got = in_shell(
        nodes, "$R --ttl 20s --margin 1s r -- sh -c 'touch $F/in; while [ ! -e $F/go ]; do sleep "
               "0.05; done; exec $R --node redis://127.0.0.1:1 --node redis://127.0.0.1:2 r -- "
               "true' & while [ ! -e $F/in ]; do sleep 0.05; done; touch $F/go; wait $!");
    INFO(got.err);
    CHECK(got.status == 121);
}

TEST_CASE("what a job leaves behind does not run under the lock that is kept after it", "[tool]") {
    cluster nodes(3);
    const std::string kind = GENERATE("r", "--slots 1 r");
    // In the job's environment, when the job and its lease are over.
    const auto got = in_shell(
        nodes, "$R --min-hold 40s " + kind + " -- sh -c 'export -p >$0/left' $F && . $F/left && "
               "$R " + kind + " -- echo inside; echo $?; "
               "$REDLOCK_TOOL inspect r; $REDLOCK_TOOL list; $REDLOCK_TOOL inspect --json r");
    INFO(got.out << got.err);
    CHECK_FALSE(has_text(got.out, "inside"));
    CHECK(got.out.starts_with("120\n"));
    if (kind == "r") {
        CHECK(has_text(got.out, "'r' is kept until 20"));
        CHECK(has_text(got.out, "'r' kept until 20"));
        CHECK(has_text(got.out, ", released by "));
        CHECK(has_text(got.out, "\"held\":false"));
        CHECK(has_text(got.out, "\"kept\":true"));
    } else {
        CHECK(has_text(got.out, "0 of 1 slots are held, 1 kept"));
    }
    CHECK_FALSE(has_text(got.out, "#kept"));
}
