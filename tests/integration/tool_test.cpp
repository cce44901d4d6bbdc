// The redlock command on real servers, seen from outside only; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "support/skipped.hpp"
#include "tool_call.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

using words = std::vector<std::string>;

// As a shell runs it; $R is the command, $C the configuration.
tool_outcome run_shell(cluster& nodes, const std::string& script) {
    tool_process running(tool_process::program{"/bin/sh"},
                         {"-c", "R=$REDLOCK_TOOL C=$0; " + script, nodes.config()});
    return outcome_of(running);
}

// A named pipe that takes nothing until it is read; returns the end to read from.
int full_fifo(const std::string& path) {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const int end = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(end >= 0);
    const std::string page(4096, '.');
    while (::write(end, page.data(), page.size()) > 0) {
    }
    return end;
}

// The number in a file, once it is written as a whole line; 0 before.
long long number_in(const std::string& path) {
    const std::string text = read_file(path);
    return text.ends_with('\n') ? std::stoll(text) : 0;
}

std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

long long now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

// Ignores TERM, and so does what it starts in the background; both note the time again and again.
// $1: where the group's id goes; $2: where the times go.
const std::string stubborn =
    "trap '' TERM; echo $$ >\"$1\"; "
    "beat() { while :; do date +%s%N >>\"$1\"; sleep 0.03; done; }; "
    "beat \"$2.child\" & beat \"$2\"";

long long last_beat(const std::string& path) {
    long long last = 0;
    std::istringstream text(read_file(path));
    for (long long beat = 0; text >> beat;) last = beat;
    return last;
}

}  // namespace

TEST_CASE("run ends as its command ended, and gives the lock back", "[tool]") {
    cluster nodes(3);
    const std::vector<std::pair<std::string, int>> cases{{"exit 0", 0},
                                                         {"exit 7", 7},
                                                         {"exit 255", 255},
                                                         {"kill -KILL $$", 128 + 9},
                                                         {"kill -TERM $$", 128 + 15}};
    for (const auto& [script, status] : cases) {
        const auto got = outcome_on(nodes, {"run", "r", "--", "sh", "-c", script});
        CHECK(got.status == status);
        CHECK(got.err.empty());
        CHECK(nodes.holding("r") == 0);
    }
}

TEST_CASE("run ends with 126 or 127 where its command can't be run", "[tool]") {
    cluster nodes(3);
    auto got = outcome_on(nodes, {"run", "r", "--", "/dev/null/no such command"});
    CHECK(got.status == 126);
    got = outcome_on(nodes, {"run", "r", "--", "no-such-command-anywhere"});
    CHECK(got.status == 127);
    CHECK(has_text(got.err, "no-such-command-anywhere: No such file"));
    got = outcome_on(nodes, {"run", "r", "--", "/etc/passwd"});
    CHECK(got.status == 126);
    CHECK(has_text(got.err, "/etc/passwd: Permission denied"));
    CHECK(nodes.holding("r") == 0);
}

TEST_CASE("the command gets its arguments untouched and nothing that is not its own", "[tool]") {
    cluster nodes(3);
    auto got = outcome_on(nodes, {"run", "r", "--", "printf", "<%s>", "[a,b]", "", "--", "-x",
                                  "--node", "%%", "a b"});
    CHECK(got.status == 0);
    CHECK(got.out == "<[a,b]><><--><-x><--node><%%><a b>");
    got = outcome_on(nodes, {"run", "r", "--", "ls", "-l", "/proc/self/fd"});
    CHECK(got.status == 0);
    CHECK_FALSE(has_text(got.out, "socket:"));
}

TEST_CASE("the command finds resource, fence and owner in its environment", "[tool]") {
    cluster nodes(3);
    scratch folder;
    const std::string script =
        "printf '%s|%s|%s\\n' \"$REDLOCK_RESOURCE\" \"$REDLOCK_FENCE\" "
        "\"$REDLOCK_OWNER\"; exec cat \"$0\"";
    REQUIRE(::mkfifo((folder / "gate").c_str(), 0600) == 0);
    tool_process holder(
        call_on(nodes, {"run", "a resource", "--", "sh", "-c", script, folder / "gate"}));
    REQUIRE(eventually([&] { return lines(holder.out()) == 1; }));
    REQUIRE(eventually([&] { return nodes.holding("a resource") == 3; }));
    const auto owner = nodes.ask(1).get("a resource").value_or("");
    const auto fence = nodes.ask(1).get("{a resource}:fence").value_or("");
    CHECK(holder.out() == "a resource|" + fence + "|" + owner + "\n");
    CHECK(fence.size() >= 16);  // a time in microseconds
    REQUIRE(owner.size() > 23);
    CHECK(owner[22] == '@');
    CHECK(owner.ends_with(":" + std::to_string(holder.pid())));
    std::ofstream(folder / "gate") << "";
    CHECK(holder.wait() == 0);
}

TEST_CASE("a resource is named as it stands, brackets and commas, too", "[tool]") {
    cluster nodes(3);
    for (const char* name : {"[job]", "[a,b]", "[]", "a,b", "\x01x"}) {
        const auto got = outcome_of(
            call_on(nodes, {"run", name, "x", "--", "sh", "-c", "echo \"$REDLOCK_RESOURCE\""}));
        INFO(got.err);
        CHECK(got.out == std::string(name) + "\nx\n");
    }
    CHECK(outcome_on(nodes, {"acquire", "[a,b]"}).status == 0);
    CHECK(nodes.holding("[a,b]") >= 2);  // it ends with the second vote: a third may get nothing
}

TEST_CASE("run holds several resources, all or none of them", "[tool]") {
    cluster nodes(3);
    const auto both = run_shell(nodes,
                                "export R C; $R run --config $C a b -- sh -c "
                                "'echo \"$REDLOCK_RESOURCE\"; $R run --config $C b c -- true; "
                                "echo $?; $R run --config $C x b -- true; echo $?; "
                                "$R run --config $C b a -- sh -c "
                                "\"echo \\$REDLOCK_RESOURCE\"'");
    CHECK(both.status == 0);
    CHECK(both.out == "a\nb\n125\n125\nb a\n");
    CHECK(has_text(both.err, "'b' is held by a redlock run around this one"));
    scratch folder;
    REQUIRE(::mkfifo((folder / "gate").c_str(), 0600) == 0);
    tool_process holder(call_on(nodes, {"run", "b", "--", "cat", folder / "gate"}));
    REQUIRE(eventually([&] { return nodes.holding("b") == 3; }));
    const auto refused = outcome_on(nodes, {"run", "--verbose", "a", "b", "c", "--", "true"});
    CHECK(refused.status == 120);
    CHECK(has_text(refused.err, "'a', 'b', 'c': "));
    CHECK(has_text(refused.err, "b is held by "));
    for (const auto* key : {"a", "c"}) CHECK(nodes.holding(key) == 0);
    const auto told = outcome_on(nodes, {"run", "--json", "a", "c", "--", "true"});
    CHECK(told.status == 0);
    CHECK(has_text(told.err, R"("resources":["a","c"])"));
    for (const words& bad : std::vector<words>{{"a", "a"}, {"a", ""}, {"a", "b\nc"}}) {
        words all{"run"};
        all.insert(all.end(), bad.begin(), bad.end());
        all.insert(all.end(), {"--", "true"});
        CHECK(outcome_on(nodes, all).status == 125);
    }
    for (const auto* mode : {"--shared", "--slots=2"}) {
        const auto odd = outcome_on(nodes, {"run", mode, "a", "c", "--", "true"});
        CHECK(odd.status == 125);
        CHECK(has_text(odd.err, "several resources at once"));
    }
    CHECK(outcome_on(nodes, {"run", "--", "-a", "-c", "--", "true"}).status == 0);
    std::ofstream(folder / "gate") << "";
    CHECK(holder.wait() == 0);
}

TEST_CASE("a lock that is held is refused, or waited for", "[tool]") {
    cluster nodes(3);
    scratch folder;
    REQUIRE(::mkfifo((folder / "gate").c_str(), 0600) == 0);
    tool_process holder(call_on(nodes, {"run", "r", "--", "cat", folder / "gate"}));
    REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    const auto refused = outcome_on(nodes, {"run", "--verbose", "r", "--", "true"});
    CHECK(refused.status == 120);
    CHECK(lines(refused.err) == 2);
    CHECK(refused.err.starts_with("redlock: configuration: "));
    CHECK(has_text(refused.err, "'r'"));
    CHECK(has_text(refused.err, "held"));
    const auto waited = outcome_on(nodes, {"run", "--wait", "200ms", "r", "--", "true"});
    CHECK(waited.status == 120);
    tool_process waiter(call_on(nodes, {"run", "--wait", "20s", "r", "--", "echo", "mine"}));
    std::ofstream(folder / "gate") << "";
    CHECK(holder.wait() == 0);
    const auto second = outcome_of(waiter);
    CHECK(second.status == 0);
    CHECK(second.out == "mine\n");
    CHECK(nodes.holding("r") == 0);
}

TEST_CASE("with --json run reports what it does, one object a line", "[tool]") {
    cluster nodes(3);
    scratch folder;
    REQUIRE(::mkfifo((folder / "gate").c_str(), 0600) == 0);
    tool_process holder(call_on(nodes, {"run", "--json", "r", "--", "cat", folder / "gate"}));
    REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    tool_process waiter(call_on(nodes, {"run", "--json", "--wait", "60s", "r", "--", "true"}));
    REQUIRE(eventually([&] { return has_text(waiter.err(), R"("place":1,"waiting":1})"); }));
    CHECK(has_text(waiter.err(), R"("held":true,"owner":")"));
    const auto refused = outcome_on(nodes, {"run", "--json", "--wait", "100ms", "r", "--", "true"});
    CHECK(refused.status == 120);
    CHECK(has_text(refused.err, R"("kind":"refused","severity":"info","resource":"r","error":{)"));
    CHECK(has_text(refused.err, R"("kind":"message","severity":"info","text":"'r': )"));
    CHECK(
        has_text(refused.err, R"("kind":"ended","severity":"info","resource":"r","status":120,)"));
    std::ofstream(folder / "gate") << "";
    const auto got = outcome_of(holder);
    CHECK(got.status == 0);
    CHECK(has_text(got.err, R"("kind":"granted","severity":"info","resource":"r","fence":)"));
    CHECK(has_text(got.err, R"("kind":"ended","severity":"info","resource":"r","status":0,)"));
    const auto came_next = outcome_of(waiter);
    CHECK(came_next.status == 0);
    for (const auto& text : {refused.err, got.err, came_next.err}) {
        std::istringstream all(text);
        for (std::string line; std::getline(all, line);) {
            INFO(line);
            CHECK(line.starts_with("{\"time\":\"2"));
            CHECK(line.ends_with("}"));
        }
    }
}

TEST_CASE("with --json run refuses in JSON what is not understood", "[tool]") {
    const std::vector<words> cases{{"run", "--json"},
                                   {"--json", "run", "r"},
                                   {"run", "r", "--json", "--"},
                                   {"run", "--json", "--tll", "9s", "r", "--", "true"},
                                   {"run", "--json", "--ttl", "\xff", "r", "--", "true"},
                                   {"run", "--json", "r", "s", "--", "true"}};
    for (const words& asked : cases) {
        const auto got = outcome_of(asked);
        INFO(got.err);
        CHECK(got.status == 125);
        CHECK(lines(got.err) == 1);
        CHECK(has_text(got.err, R"(Z","kind":"message","severity":"info","text":")"));
        CHECK(got.err.ends_with("\"}\n"));
    }
    CHECK(outcome_of({"run", "r", "--", "true", "--json"}).err.starts_with("redlock: "));
}

TEST_CASE("redlock that was started with closed streams writes to no descriptor of its own",
          "[tool]") {
    cluster nodes(3);
    auto got = run_shell(nodes, "$R --config $C inspect r >&-");
    CHECK(got.status == 125);
    CHECK(got.err == "redlock: standard output: Bad file descriptor\n");
    const std::string closed = " <&- >&- 2>&-";
    CHECK(run_shell(nodes, "$R --config $C inspect r" + closed).status == 125);
    got = run_shell(nodes, "$R --config $C run --json r -- sh -c 'exit 4'" + closed);
    CHECK(got.status == 4);
    // CMD finds them as redlock did.
    const std::string look = "for n in 0 1 2; do [ ! -h /proc/$$/fd/$n ] || exit 8; done; exit 9";
    CHECK(run_shell(nodes, "$R --config $C run r -- sh -c '" + look + "'" + closed).status == 9);
    CHECK(nodes.holding("r") == 0);
}

TEST_CASE("a full disk is reported", "[tool]") {
    cluster nodes(3);
    for (const std::string what : {"inspect r", "inspect --json r", "init --yes", "help"}) {
        const auto got = run_shell(nodes, "$R --config $C " + what + " >/dev/full");
        CHECK(got.status == 125);
        CHECK(got.err == "redlock: standard output: No space left on device\n");
    }
    // What redlock says of itself is no reason to end CMD.
    const std::string run = "$R --config $C run --json r -- sh -c 'exit 3'";
    CHECK(run_shell(nodes, run + " 2>/dev/full").status == 3);
}

TEST_CASE("the status of a lock that is held can be chosen", "[tool]") {
    cluster nodes(3);
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set("r", "foreign");
    CHECK(outcome_on(nodes, {"run", "-E", "7", "r", "--", "true"}).status == 7);
    CHECK(outcome_on(nodes, {"run", "-E", "256", "r", "--", "true"}).status == 125);
}

TEST_CASE("a resource may begin with a dash", "[tool]") {
    cluster nodes(3);
    const auto got = outcome_on(nodes, {"run", "--", "-r", "--", "sh", "-c",
                                        "echo \"$REDLOCK_RESOURCE\" \"$@\"", "sh", "--", "x"});
    CHECK(got.status == 0);
    CHECK(got.out == "-r -- x\n");
    CHECK(has_text(outcome_on(nodes, {"inspect", "--", "-r"}).out, "'-r' is not held"));
}

TEST_CASE("what comes from outside reaches a terminal escaped, and passwords never", "[tool]") {
    cluster nodes(3);
    const auto raw = outcome_on(nodes, {"inspect", "\x1b[2J\xc2\x9b\xe2\x80\xae"});
    CHECK(has_text(raw.out, R"('\x1b[2J\xc2\x9b\xe2\x80\xae' is not held)"));
    for (const words& asked : std::vector<words>{{"inspect", "redis://u:a secret@h"},
                                                 {"inspect", "--json", "redis://u:a secret@h"},
                                                 {"inspect", "redis://u:a", "secret@h"}}) {
        const auto got = outcome_on(nodes, asked);
        INFO(got.out + got.err);
        CHECK_FALSE(has_text(got.out + got.err, "secret"));
    }
}

TEST_CASE("a waiter that is ended by a signal says so and leaves nothing", "[tool]") {
    cluster nodes(3);
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set("r", "foreign");
    const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP, SIGUSR1);
    scratch folder;
    tool_process waiter(
        call_on(nodes, {"run", "--wait", "60s", "r", "--", "touch", folder / "ran"}));
    REQUIRE(eventually([&] { return nodes.ask(0).calls("zadd") >= 2; }));  // it waits
    for (const int harmless : {SIGCONT, SIGWINCH}) waiter.send(harmless);
    const auto asked = nodes.ask(0).calls("zadd");
    REQUIRE(eventually([&] { return nodes.ask(0).calls("zadd") > asked; }));  // and goes on to
    waiter.send(signal);
    // A shell ends its script where a key of the terminal ended what it waits for.
    CHECK(waiter.wait() == (signal == SIGINT ? -signal : 128 + signal));
    CHECK_FALSE(std::filesystem::exists(folder / "ran"));
    for (std::size_t i = 0; i < 3; ++i) CHECK(nodes.ask(i).get("r") == "foreign");
}

TEST_CASE("without a quorum nothing is run", "[tool]") {
    founded_cluster nodes(5);
    nodes.kill(0);
    nodes.kill(2);
    CHECK(outcome_on(nodes, {"run", "r", "--", "true"}).status == 0);
    nodes.kill(3);
    const auto got = outcome_on(nodes, {"run", "r", "--", "echo", "ran"});
    CHECK(got.status == 121);
    CHECK(got.out.empty());
    CHECK(lines(got.err) == 1);
    for (const std::size_t i : {0, 2, 3}) {
        CHECK(has_text(got.err, ":" + std::to_string(nodes[i].port())));
    }
    CHECK(nodes.holding("r") == 0);
}

TEST_CASE("passwords are used and never shown", "[tool]") {
    cluster nodes(3, {{}, "the-right-secret", false});
    CHECK(outcome_on(nodes, {"run", "r", "--", "true"}).status == 0);
    words wrong{"run"};
    for (std::size_t i = 0; i < 3; ++i) {
        wrong.insert(wrong.end(), {"--node", "redis://:a-wrong-secret@127.0.0.1:" +
                                                 std::to_string(nodes[i].port())});
    }
    wrong.insert(wrong.end(), {"r", "--", "true"});
    std::string said;
    // With the default connect_timeout a busy machine may only learn that it is too slow.
    REQUIRE(eventually([&] {
        const auto refused = outcome_of(wrong);
        CHECK(refused.status == 121);
        said += refused.err + refused.out;
        return has_text(refused.err, "WRONGPASS");
    }));
    const std::string uri = "redis://me:a-wrong-secret@127.0.0.1:1";
    for (const words& mistaken :
         std::vector<words>{{"run", "--nod", uri, "r", "--", "true"},
                            {"inspect", "r", uri},
                            {"run", "--node", uri + "/nonsense", "r", "--", "true"},
                            {"run", "--ttl", uri, "r", "--", "true"},
                            {"--config", uri, "inspect", "r"}}) {
        const auto got = outcome_of(mistaken);
        CHECK(got.status == 125);
        said += got.err + got.out;
    }
    CHECK_FALSE(has_text(said, "secret"));
}

TEST_CASE("what is not understood is refused in one line with a remedy", "[tool]") {
    const std::vector<std::pair<words, std::string>> cases{
        {{},
         "run, acquire, extend, release, inspect, last, list, watch, doctor, init, commit, bench, "
         "completion and "
         "help exist"},
        {{"lock"}, "there is no command 'lock'"},
        {{"help", "lock"}, "there is no command 'lock'"},
        {{"run"}, "RESOURCE is required"},
        {{"run", "r"}, "redlock run RESOURCE... -- CMD"},
        {{"run", "r", "true"}, "REDLOCK_CONFIG"},
        {{"run", "r", "--"}, "redlock run RESOURCE... -- CMD"},
        {{"run", "--share", "r", "--", "true"}, "no option --share; did you mean --shared?"},
        {{"run", "--tll", "9s", "r", "--", "true"}, "no option --tll; did you mean --ttl?"},
        {{"run", "--hold=9s", "r", "--", "true"}, "no option --hold; did you mean --max-hold?"},
        {{"inspect", "--jsn", "r"}, "no option --jsn; did you mean --json?"},
        {{"inspect", "--hold", "r"}, "no option --hold: see redlock help inspect"},
        {{"run", "--ttl", "10", "r", "--", "true"}, "write 10ms, 10s or 10m"},
        {{"run", "--ttl", "ten", "r", "--", "true"}, "500ms, 1.5s, 10s or 1m30s"},
        {{"run", "r", "--", "true"}, "REDLOCK_CONFIG"},
        {{"inspect"}, "RESOURCE is required"},
        {{"inspect", "a", "b"}, "one argument too many"},
        {{"--config", "/no/such/file", "inspect", "r"}, "/no/such/file"},
        {{"--config", "", "inspect", "r"}, "--config names no file"},
        {{"--node", "http://127.0.0.1:1", "inspect", "r"},
         "--node 'http://127.0.0.1:1': begins with none of redis://"},
    };
    for (const auto& [arguments, part] : cases) {
        const auto got = outcome_of(arguments);
        INFO(got.err);
        CHECK(got.status == 125);
        CHECK(got.out.empty());
        CHECK(lines(got.err) == 1);
        CHECK(got.err.starts_with("redlock: "));
        CHECK(has_text(got.err, part));
    }
}

TEST_CASE("terms that can't be kept are refused before a request is sent", "[tool]") {
    cluster nodes(3);
    const std::vector<std::pair<words, std::string>> cases{
        {{"--ttl", "61s"}, "--ttl 61s is above the longest that the nodes take, 1m"},
        {{"--ttl", "0s"}, "--ttl must be longer than 0"},
        {{"--margin", "0ms"}, "--margin must be longer than 0"},
        {{"--ttl", "2s", "--margin", "1500ms"}, "--margin 1500ms leaves too little of --ttl 2s"},
        {{"--max-hold", "1s", "--margin", "1s"}, "--max-hold 1s"},
        {{"--min-hold", "61s"}, "--min-hold 61s is above"},
        {{"--ttl", "1ms"}, "ttl"},
    };
    for (const auto& [options, part] : cases) {
        words arguments{"run"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        arguments.insert(arguments.end(), {"r", "--", "true"});
        const auto got = outcome_on(nodes, arguments);
        INFO(got.err);
        CHECK(got.status == 125);
        CHECK(lines(got.err) == 1);
        CHECK(has_text(got.err, part));
    }
    CHECK(nodes.ask(0).calls("set") == 0);
    CHECK(nodes.ask(0).calls("evalsha") == 0);
}

TEST_CASE("every mistake of a configuration file is reported", "[tool]") {
    scratch folder;
    std::ofstream(folder / "nodes.json") << R"({"nodes": ["redis://127.0.0.1:70000"], "nodse": 1})";
    const auto got = outcome_of({"--config", folder / "nodes.json", "inspect", "r"});
    CHECK(got.status == 125);
    CHECK(has_text(got.err, "nodes.json: /nodes/0: "));
    CHECK(has_text(got.err, "nodes.json: /nodse: "));
    CHECK(has_text(got.err, "did you mean"));
}

TEST_CASE("run writes metrics for Prometheus, as a whole and to the end", "[tool]") {
    cluster nodes(3);
    const scratch folder;
    const std::string file = folder / "redlock.prom";
    const auto got = outcome_on(nodes, {"run", "--metrics", file, "r", "--", "cat", file});
    CHECK(got.status == 0);
    CHECK(has_text(got.out, "redlock_leases 0\n"));  // before it requested the lock
    CHECK(has_text(got.out, "\n# TYPE redlock_node_votes gauge\n"));  // of the last of them
    CHECK(got.out.ends_with("\"} 0\n"));
    const std::string last = read_file(file);
    CHECK(has_text(last, "redlock_acquires_total{outcome=\"granted\"} 1\n"));
    CHECK(has_text(last, "redlock_releases_total 1\n"));
    CHECK(has_text(last, "\n# TYPE redlock_node_votes gauge\n"));
    CHECK(last.ends_with("\"} 1\n"));
    const auto lost = outcome_on(nodes, {"run", "--metrics", folder / "none/m", "r", "--", "true"});
    CHECK(lost.status == 0);
    CHECK(lines(lost.err) == 1);
    CHECK(has_text(lost.err, "--metrics " + (folder / "none/m") + ": No such file or directory"));
}

TEST_CASE("help and version go to standard output", "[tool]") {
    auto got = outcome_of({"--version"});
    CHECK(got.status == 0);
    CHECK(got.out.starts_with("redlock "));
    got = outcome_of({"--version", "--json"});
    CHECK(got.out.starts_with("{\"version\":\""));
    for (const words& asked : std::vector<words>{
             {"help"}, {"--help"}, {"help", "run"}, {"run", "--help"}, {"help", "inspect"}}) {
        got = outcome_of(asked);
        CHECK(got.status == 0);
        CHECK(has_text(got.out, "Usage: redlock"));
        CHECK(got.err.empty());
    }
    CHECK(has_text(outcome_of({"help", "run"}).out, "RESOURCE... -- CMD"));
}

TEST_CASE("signals reach the command's whole group", "[tool]") {
    cluster nodes(3);
    scratch folder;
    const std::string script =
        "trap 'echo $1 >>\"$0\"' USR1; trap 'echo $1 end >>\"$0\"; exit 3' TERM; echo up >>\"$0\"; "
        "while :; do sleep 0.05; done";
    const std::string both =
        "sh -c \"$0\" \"$1\" child & sh -c \"$0\" \"$1\" parent; s=$?; wait; "
        "exit $s";
    const std::string notes = folder / "notes";
    tool_process running(
        call_on(nodes, {"run", "r", "--", "sh", "-c", "trap : USR1 TERM;" + both, script, notes}));
    REQUIRE(eventually([&] { return lines(read_file(notes)) == 2; }));
    running.send(SIGUSR1);
    REQUIRE(eventually([&] { return lines(read_file(notes)) == 4; }));
    running.send(SIGTERM);
    CHECK(running.wait() == 3);
    REQUIRE(eventually([&] { return lines(read_file(notes)) == 6; }));
    const auto text = read_file(notes);
    for (const auto* line : {"child\n", "parent\n", "child end\n", "parent end\n"}) {
        CHECK(has_text(text, line));
    }
}

TEST_CASE("what was ignored when redlock was started stays ignored", "[tool]") {
    cluster nodes(3);
    scratch folder;
    const std::string script = "echo up; cat \"$0\" >/dev/null; kill -HUP $$; echo down";
    REQUIRE(::mkfifo((folder / "gate").c_str(), 0600) == 0);
    tool_process running(call_on(nodes, {"run", "r", "--", "sh", "-c", script, folder / "gate"}),
                         {SIGHUP});
    REQUIRE(eventually([&] { return lines(running.out()) == 1; }));
    running.send(SIGHUP);
    std::ofstream(folder / "gate") << "";
    CHECK(running.wait() == 0);
    CHECK(running.out() == "up\ndown\n");
}

namespace {

// A command that ignores TERM, under a lease that its nodes are about to lose.
struct stubborn_run {
    bool is_up() const {
        return last_beat(folder / "beats.child") > 0 && number_in(folder / "group") > 0;
    }

    cluster nodes{5};
    scratch folder;
    tool_process running{call_on(nodes, {"run", "--ttl", "12s", "r", "--", "sh", "-c", stubborn,
                                         "sh", folder / "group", folder / "beats"})};
};

}  // namespace

TEST_CASE("a lost lease ends the whole group before the validity ends", "[tool]") {
    constexpr auto ttl = 12s;
    stubborn_run dies;
    stubborn_run hangs;
    REQUIRE(eventually([&] { return dies.is_up() && hangs.is_up(); }));
    for (const std::size_t i : {0, 1, 4}) dies.nodes.kill(i);
    for (const std::size_t i : {0, 2, 3}) hangs.nodes.stop(i);
    // Nothing that was sent after this can have been granted.
    const long long no_renewal_after = now_ns();
    for (stubborn_run* r : {&dies, &hangs}) {
        CAPTURE(r == &dies);
        const auto pgid = static_cast<pid_t>(number_in(r->folder / "group"));
        CHECK(r->running.wait() == 122);
        CHECK_FALSE(is_alive(-pgid));
        const auto gone = std::max(last_beat(r->folder / "beats"),
                                   last_beat(r->folder / "beats.child"));
        CHECK(gone < no_renewal_after + std::chrono::nanoseconds(ttl).count());
        CHECK(lines(r->running.err()) == 1);
        CHECK(has_text(r->running.err(), "no quorum of nodes renewed it"));
        const std::string said = r->running.err();
        const std::string node = ":" + std::to_string(r->nodes.options().nodes[0].port) + ":";
        CHECK(said.find(node) != said.npos);
        CHECK(said.find(node) == said.rfind(node));  // each is named once
    }
}

namespace {

// A command that ignores TERM, and a `redlock run` that tells its loss to a pipe that is full.
struct unheard_run {
    unheard_run(cluster& nodes, const std::string& resource, const std::string& options)
        : reader(full_fifo(folder / "fifo")),
          running(tool_process::program{"/bin/sh"},
                  {"-c",
                   "exec $REDLOCK_TOOL --config \"$1\" run --max-hold 5s --margin 2s " + options +
                       resource + " -- sh -c \"$0\" sh \"$2\" \"$3\" 2>\"$4\"",
                   stubborn, nodes.config(), folder / "group", folder / "beats",
                   folder / "fifo"}) {}
    ~unheard_run() { ::close(reader); }
    unheard_run(const unheard_run&) = delete;
    unheard_run& operator=(const unheard_run&) = delete;

    pid_t group() const { return static_cast<pid_t>(number_in(folder / "group")); }
    /// What it says once it is read, until `enough`.
    template <class Enough>
    std::string read_until(Enough enough) const {
        std::string said;
        CHECK(eventually([&] {
            char text[4096];
            const auto got = ::read(reader, text, sizeof text);
            if (got > 0) said.append(text, static_cast<std::size_t>(got));
            return enough(said);
        }));
        return said;
    }

    scratch folder;
    int reader;
    tool_process running;
};

}  // namespace

// A reader that stalls, as a pager or a terminal after ^S, must not keep redlock from its work.
TEST_CASE("a lost lease ends the command also where nobody reads what it says", "[tool]") {
    cluster nodes(3);
    unheard_run plain(nodes, "a", "");
    unheard_run json(nodes, "b", "--json ");
    unheard_run plain_ended(nodes, "c", "");
    unheard_run json_ended(nodes, "d", "--json ");
    for (unheard_run* r : {&plain, &json, &plain_ended, &json_ended}) {
        REQUIRE(eventually([&] { return r->group() > 0; }));
    }
    for (unheard_run* r : {&plain, &json, &plain_ended, &json_ended}) {
        const auto group = r->group();
        CHECK(eventually([&] { return !is_alive(-group); }));
    }
    // It waits for the reader, but not against the will of its parent process.
    for (unheard_run* r : {&plain_ended, &json_ended}) {
        CHECK(eventually([&] {
            r->running.send(SIGTERM);
            return r->running.has_ended();
        }));
        const int status = r->running.wait();
        // SIGTERM ends a redlock that is done with its nodes, whose handlers are gone. Where the
        // last answer of a node is late they are not yet: then it ends with its own status.
        CHECK((status == 122 || status == -SIGTERM));
    }
    // It says everything, in order, once it is read.
    std::string said = plain.read_until([](const auto& text) { return has_text(text, "\n"); });
    CHECK(plain.running.wait() == 122);
    CHECK(has_text(said, "--max-hold is over"));
    said = json.read_until([](const auto& text) { return has_text(text, "\"ended\""); });
    CHECK(json.running.wait() == 122);
    CHECK(has_text(said, "--max-hold is over"));
    CHECK(said.find("\"granted\"") < said.find("--max-hold is over"));
}

TEST_CASE("what redlock could not say is said when it can be", "[tool]") {
    cluster nodes(3);
    scratch folder;
    const std::string fifo = folder / "fifo";
    const std::string gate = folder / "gate";
    const int reader = full_fifo(fifo);
    REQUIRE(::mkfifo(gate.c_str(), 0600) == 0);
    const std::string script =
        "exec $REDLOCK_TOOL --config \"$0\" run --json --ttl 60s r -- cat \"$1\" 2>\"$2\"";
    tool_process running(tool_process::program{"/bin/sh"},
                         {"-c", script, nodes.config(), gate, fifo});
    REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    std::string said;
    CHECK(eventually(
        [&] {
            char text[4096];
            const auto got = ::read(reader, text, sizeof text);
            if (got > 0) said.append(text, static_cast<std::size_t>(got));
            return has_text(said, "\"granted\"");
        },
        10s));
    std::ofstream(gate) << "";
    CHECK(running.wait() == 0);
    ::close(reader);
}

TEST_CASE("a lost lease asks with TERM first", "[tool]") {
    cluster nodes(3);
    const std::string script =
        "trap 'echo ended; exit 0' TERM; echo up; while :; do sleep 0.05; done";
    const auto start = [&](const words& options) {
        words all{"run"};
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {"--", "sh", "-c", script});
        return call_on(nodes, all);
    };
    // A margin that leaves a shell time to answer TERM also on a machine that stalls.
    tool_process held_too_long(start({"--max-hold", "6s", "--margin", "4s", "a"}));
    tool_process not_renewed(start({"--ttl", "8s", "--margin", "4s", "--no-renew", "b"}));
    tool_process taken(start({"--ttl", "9s", "--margin", "4s", "c"}));
    REQUIRE(eventually([&] { return taken.out() == "up\n" && nodes.holding("c") == 3; }));
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set("c", "thief");
    for (tool_process* each : {&held_too_long, &not_renewed, &taken}) {
        CHECK(each->wait() == 122);
        CHECK(each->out() == "up\nended\n");
    }
    CHECK(has_text(held_too_long.err(), "--max-hold"));
    CHECK(has_text(not_renewed.err(), "--no-renew"));
    CHECK(has_text(taken.err(), "gone or has another owner"));
    for (std::size_t i = 0; i < 3; ++i) CHECK(nodes.ask(i).get("c") == "thief");
}

TEST_CASE("the next holder starts when the last one's group is gone", "[tool]") {
    cluster nodes(3);
    scratch folder;
    const std::string beats = folder / "beats";
    tool_process first(
        call_on(nodes, {"run", "--ttl", "8s", "--max-hold", "6s", "--margin", "3s", "r", "--", "sh",
                        "-c", stubborn, "sh", folder / "group", beats}));
    REQUIRE(eventually([&] { return last_beat(beats + ".child") > 0; }));
    tool_process second(
        call_on(nodes, {"run", "--ttl", "4s", "--wait", "20s", "r", "--", "date", "+%s%N"}));
    CHECK(second.wait() == 0);
    CHECK(first.wait() == 122);
    const auto gone = std::max(last_beat(beats), last_beat(beats + ".child"));
    CHECK(gone < std::stoll(second.out()));
}

TEST_CASE("redlock that is stopped does not let its command work beside the next holder",
          "[tool]") {
    cluster nodes(3);
    scratch folder;
    std::string script;
    SECTION("a command that asks to be ended") {
        script = "trap 'echo ended; exit 0' TERM; echo up; while :; do sleep 0.05; done";
    }
    SECTION("one that has to be killed, with what it started") { script = stubborn; }
    const bool is_stubborn = script == stubborn;
    const std::string beats = folder / "beats";
    tool_process running(call_on(nodes, {"run", "--ttl", "6s", "r", "--", "sh", "-c", script, "sh",
                                         folder / "group", beats}));
    REQUIRE(eventually([&] {
        return is_stubborn ? last_beat(beats + ".child") > 0 : running.out() == "up\n";
    }));
    running.send(SIGSTOP);
    tool_process second(
        call_on(nodes, {"run", "--ttl", "4s", "--wait", "20s", "r", "--", "date", "+%s%N"}));
    CHECK(second.wait() == 0);
    if (is_stubborn) {
        const auto gone = std::max(last_beat(beats), last_beat(beats + ".child"));
        CHECK(gone < std::stoll(second.out()));
    } else {
        CHECK(running.out() == "up\nended\n");
    }
    running.send(SIGCONT);
    CHECK(running.wait() == 122);
    CHECK(has_text(running.err(), "is lost"));
    CHECK(has_text(running.err(), "this machine stood still"));
}

TEST_CASE("redlock that slept for a moment goes on", "[tool]") {
    cluster nodes(3);
    scratch folder;
    REQUIRE(::mkfifo((folder / "gate").c_str(), 0600) == 0);
    tool_process running(
        call_on(nodes, {"run", "--ttl", "30s", "r", "--", "cat", folder / "gate"}));
    REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    running.send(SIGSTOP);
    int status = 0;
    REQUIRE(::waitpid(running.pid(), &status, WUNTRACED) == running.pid());
    running.send(SIGCONT);
    std::ofstream(folder / "gate") << "";
    CHECK(running.wait() == 0);
    CHECK(nodes.holding("r") == 0);
}

TEST_CASE("a stop that is shorter than the lease ends nothing after it, either", "[tool]") {
    cluster nodes(3);
    tool_process running(call_on(nodes, {"run", "--ttl", "4s", "r", "--", "sleep", "6"}));
    REQUIRE(eventually([&] { return nodes.holding("r") == 3; }));
    running.send(SIGSTOP);
    std::this_thread::sleep_for(1500ms);  // one renewal is late
    running.send(SIGCONT);
    CHECK(running.wait() == 0);
    CHECK(running.err().empty());
}

TEST_CASE("without its second process a run is refused", "[tool]") {
    if (::geteuid() != 0) return say_skipped("needs root, to be a user of its own; run it as root");
    cluster nodes(3);
    const auto uri = [&](std::size_t i) {
        return "127.0.0.1:" + std::to_string(nodes.options().nodes[i].port);
    };
    // Of this user there are redlock and CMD, and no process more.
    tool_process running(
        tool_process::program{"/bin/sh"},
        {"-c", "exec setpriv --reuid=54321 --clear-groups prlimit --nproc=2 \"$0\" \"$@\"",
         std::getenv("REDLOCK_TOOL"), "run", "--node", uri(0), "--node", uri(1), "--node", uri(2), "r",
         "--", "echo", "ran"});
    CHECK(running.wait() == 125);
    CHECK(running.out().empty());
    CHECK(has_text(running.err(), "CMD can't be started: fork of the process that watches CMD"));
    CHECK(nodes.holding("r") == 0);
}

TEST_CASE("stopped with SIGTSTP, command and redlock stop and go on together", "[tool]") {
    cluster nodes(3);
    scratch folder;
    const std::string gate = folder / "gate";
    REQUIRE(::mkfifo(gate.c_str(), 0600) == 0);
    // Without a child: one that is stopped between vfork and exec keeps its shell from stopping.
    const std::string script = "echo up; read word <\"$0\"; echo went on";
    std::string ttl;
    SECTION("in time") { ttl = "30s"; }
    SECTION("too late: the command does not run again") { ttl = "4s"; }
    const bool is_late = ttl == "4s";
    tool_process running(
        call_on(nodes, {"run", "--ttl", ttl, "r", "--", "sh", "-c", script, gate}));
    REQUIRE(eventually([&] { return running.out() == "up\n" && nodes.holding("r") == 3; }));
    running.send(SIGTSTP);
    int status = 0;
    REQUIRE(eventually(
        [&] { return ::waitpid(running.pid(), &status, WUNTRACED | WNOHANG) == running.pid(); }));
    REQUIRE(WIFSTOPPED(status));
    std::fstream writer(gate);  // both ways: it must not wait for a reader that is stopped
    writer << "go\n" << std::flush;
    if (is_late) REQUIRE(eventually([&] { return nodes.holding("r") == 0; }));
    running.send(SIGCONT);
    CHECK(running.wait() == (is_late ? 122 : 0));
    CHECK(running.out() == (is_late ? "up\n" : "up\nwent on\n"));
}

TEST_CASE("if redlock is killed, its command is", "[tool]") {
    cluster nodes(3);
    scratch folder;
    const std::string script = "echo $$ >\"$0\"; while :; do sleep 0.05; done";
    tool_process running(call_on(nodes, {"run", "r", "--", "sh", "-c", script, folder / "group"}));
    REQUIRE(eventually([&] { return number_in(folder / "group") > 0; }));
    const auto command = static_cast<pid_t>(number_in(folder / "group"));
    running.send(SIGKILL);
    CHECK(running.wait() == -SIGKILL);
    CHECK(eventually([&] {
        // An orphan may wait for the process that is to reap it.
        return !is_alive(command) ||
               has_text(read_file("/proc/" + std::to_string(command) + "/stat"), ") Z ");
    }));
}

TEST_CASE("init ends the quarantine of a first start, if it is meant", "[tool]") {
    cluster nodes(3);
    nodes.kill(2);
    const words run = call_on(nodes, {"run", "r", "--", "true"});
    auto got = outcome_of(run);
    CHECK(got.status == 121);
    CHECK(has_text(got.err, "in quarantine, "));

    got = outcome_on(nodes, {"init"});
    CHECK(got.status == 125);
    CHECK(has_text(got.err, "no terminal"));
    CHECK(has_text(got.err, "say --yes"));
    nodes.kill(1);
    got = outcome_on(nodes, {"init", "--yes"});
    CHECK(got.status == 121);
    CHECK(lines(got.err) == 1);
    CHECK(has_text(got.err, std::to_string(nodes[2].port())));
    CHECK(has_text(got.err, "fix this and run init again"));
    nodes.restart(1, redis_server::data::empty);
    got = outcome_on(nodes, {"init", "--yes"});
    CHECK(got.status == 0);  // the two that take it are a quorum
    CHECK(lines(got.out) == 2);
    CHECK(lines(got.err) == 1);
    CHECK(has_text(got.err, "warning: 2 of 3 nodes count as new"));
    CHECK(has_text(got.err, std::to_string(nodes[2].port())));
    CHECK(outcome_of(run).status == 0);
    got = outcome_on(nodes, {"init", "--yes", "--json"});
    CHECK(got.status == 0);
    CHECK(got.out.starts_with(R"({"declared":true,"nodes":[)"));
    CHECK(has_text(got.out, R"("declared":false,"error":"127.0.0.1:)"));

    nodes.restart(2, redis_server::data::empty);
    got = outcome_on(nodes, {"init", "--yes", "--json"});
    CHECK(got.status == 0);
    CHECK(got.err.empty());
    std::string expected;
    for (std::size_t i = 0; i < 3; ++i) {
        expected += std::string(i == 0 ? "" : ",") + R"({"name":"127.0.0.1:)" +
                    std::to_string(nodes[i].port()) + R"(","declared":true,"error":""})";
    }
    CHECK(got.out == R"({"declared":true,"nodes":[)" + expected + "]}\n");
    CHECK(nodes.is_founded());
    got = outcome_on(nodes, {"init", "--yes"});
    CHECK(got.status == 0);
    CHECK(lines(got.out) == 3);
}

TEST_CASE("init has nothing to do where no node is guarded", "[tool]") {
    scratch folder;
    std::ofstream(folder / "nodes.json")
        << R"({"nodes": ["redis://127.0.0.1:1"], "restart_guard": "off"})";
    const auto got = outcome_of({"init", "--yes", "--config", folder / "nodes.json"});
    CHECK(got.status == 125);
    CHECK(has_text(got.err, "restart_guard"));
}

TEST_CASE("inspect shows the holder of a lock, as JSON and as a table", "[tool]") {
    founded_cluster nodes(3);
    const auto name = [&](std::size_t i) { return "127.0.0.1:" + std::to_string(nodes[i].port()); };
    auto got = outcome_on(nodes, {"inspect", "--json", "a \"free\" one\n"});
    CHECK(got.status == 0);
    std::string expected =
        R"({"resource":"a \"free\" one\n","held":false,"owner":"","fence":0,)"
        R"("valid_ms":0,"since_ms":null,"quorum":2,"nodes":[)";
    for (std::size_t i = 0; i < 3; ++i) {
        expected += (i == 0 ? "" : ",") + std::string(R"({"name":")") + name(i) +
                    R"(","state":"free","owner":"","ttl_ms":0,"error":"","readers":[]})";
    }
    CHECK(got.out == expected + R"(],"slot_count":0,"slots":[],"waiting":0,"readers":[],)" +
                         R"("kept":false,"decided":true})" + '\n');

    nodes.ask(0).set("r", "somebody");
    nodes.ask(1).set("r", "somebody");
    nodes.kill(2);
    got = outcome_on(nodes, {"inspect", "--json", "r"});
    CHECK(got.status == 0);
    CHECK(has_text(got.out, R"("held":true,"owner":"somebody")"));
    CHECK(has_text(got.out, R"({"name":")" + name(2) +
                                R"(","state":"unreachable","owner":"","ttl_ms":0,"error":")"));
    CHECK(has_text(got.out, R"("state":"held","owner":"somebody","ttl_ms":-1,"error":"")"));
    got = outcome_on(nodes, {"inspect", "r"});
    CHECK(got.status == 0);
    CHECK(has_text(got.out, "'r' is held by somebody"));
    CHECK(has_text(got.out, "no expiry"));
    CHECK(lines(got.out) == 6);

    nodes.kill(0);
    got = outcome_on(nodes, {"inspect", "--json", "r"});
    CHECK(got.status == 121);
    CHECK(has_text(got.out, R"("held":false)"));
    CHECK(lines(got.err) == 1);
    CHECK(has_text(got.err, name(0)));
}

TEST_CASE("run --shared runs beside others that share, and beside nobody else", "[tool]") {
    cluster nodes(3);
    scratch folder;
    driver other(nodes.options());
    auto reader = other.acquire("r", {.ttl = 30s, .mode = lock_mode::shared});
    REQUIRE(reader.error() == error_code{});
    auto got = outcome_on(nodes, {"run", "--shared", "r", "--", "sh", "-c",
                                  "echo $REDLOCK_RESOURCE $REDLOCK_FENCE $REDLOCK_OWNER"});
    CHECK(got.status == 0);
    CHECK(got.out.starts_with("r "));
    CHECK(lines(got.out) == 1);
    CHECK_FALSE(has_text(got.out, "r 0"));
    CHECK(outcome_on(nodes, {"run", "r", "--", "touch", folder / "ran"}).status == 120);
    REQUIRE(other.release(std::move(reader.value())) == error_code{});
    auto writer = other.acquire("r", {.ttl = 30s, .wait = 5s});
    REQUIRE(writer.error() == error_code{});
    got = outcome_on(nodes, {"run", "--shared", "r", "--", "touch", folder / "ran"});
    CHECK(got.status == 120);
    CHECK_FALSE(std::filesystem::exists(folder / "ran"));
    // Nor is CMD run without fences, which readers need.
    words plain{"--config", folder / "plain.json", "run", "--shared", "r", "--", "true"};
    std::ofstream(folder / "plain.json")
        << R"({"nodes": ["redis://127.0.0.1:)" << nodes[0].port() << R"("], "fencing": false})";
    got = outcome_of(plain);
    CHECK(got.status == 125);
    CHECK(has_text(got.err, "--shared needs fences"));
}

TEST_CASE("inspect shows readers, with the names of those that a quorum of nodes knows", "[tool]") {
    cluster nodes(3);
    auto named = nodes.options();
    std::vector<std::unique_ptr<driver>> clients;
    std::vector<lease> leases;
    for (const std::string name : {"ann", "bob", "cid", "dan"}) {
        named.client_name = name;
        clients.push_back(std::make_unique<driver>(named));
        auto got = clients.back()->acquire("r", {.ttl = 30s, .mode = lock_mode::shared});
        REQUIRE(got.error() == error_code{});
        leases.push_back(std::move(got.value()));
        REQUIRE(clients.back()->until([&] {
            for (std::size_t i = 0; i < 3; ++i) {
                const auto n = nodes.ask(i).command({"ZCARD", "{r}:readers"}).number;
                if (n != static_cast<long long>(leases.size()) + 1) return false;
            }
            return true;
        }));
        if (leases.size() != 2) continue;
        const auto table = outcome_on(nodes, {"inspect", "r"});
        CHECK(table.status == 0);
        CHECK(has_text(table.out, "'r' is shared by "));
        CHECK(has_text(table.out, "...@ann, "));
        CHECK(has_text(table.out, "...@bob, for "));
        const auto json = outcome_on(nodes, {"inspect", "--json", "r"});
        CHECK(has_text(json.out, R"("held":true,"owner":"","fence":)"));
        CHECK(has_text(json.out, R"("since_ms":null)"));
        CHECK(has_text(json.out, R"("state":"shared","owner":"","ttl_ms":)"));
        CHECK(has_text(json.out, R"("waiting":0,"readers":[")"));
        CHECK(has_text(json.out, R"(...@ann",")"));
        CHECK(has_text(json.out, R"(...@bob"]})"));
    }
    CHECK(has_text(outcome_on(nodes, {"inspect", "r"}).out, "...@cid and 1 more, for "));
}

TEST_CASE("inspect blames no node that is left for those that do not answer", "[tool]") {
    founded_cluster nodes(3);
    nodes.stop(0);
    nodes.stop(1);  // so whether the third may vote can't be known
    const auto got = outcome_of({"inspect", "--config", nodes.config(1s), "r"});
    CHECK(got.status == 121);
    CHECK(has_text(got.out, "unknown: too few nodes answered"));
    CHECK(has_text(got.out, "free"));
    CHECK_FALSE(has_text(got.out + got.err, "quarantine"));
    CHECK_FALSE(has_text(got.out + got.err, "0.0 ms"));
}
