// Servers that break the protocol, or lie: each costs its vote and at most its connection.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "../support/record_words.hpp"
#include "../support/requests.hpp"
#include "support/beside.hpp"
#include "support/cluster.hpp"
#include "support/hostile_server.hpp"
#include "support/memory.hpp"
#include "support/run.hpp"

#include <redlock/error.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

struct misdeed {
    std::string what;
    misbehaviour script;
};

std::vector<misdeed> broken_replies() {
    using namespace hostile;
    return {
        {"garbage", answers(garbage())},
        {"zeroes", answers(std::string(64, '\0'))},
        {"an empty line", answers("\r\n")},
        {"half a status, then silence", answers_then_silence("+O")},
        {"half a bulk, then silence", answers_then_silence("$100\r\nhalf")},
        {"half a bulk, then the end", answers_then_closes("$100\r\nhalf")},
        {"the end at once", answers_then_closes("")},
        {"a huge bulk", answers_then_silence("$536870912\r\nxxxx")},
        {"a bulk of no possible length", answers("$9223372036854775807\r\n")},
        {"a bulk of negative length", answers("$-7\r\n")},
        {"a bulk without its end", answers("$2\r\nOKxx")},
        {"a length that is no number", answers("$abc\r\n")},
        {"a huge array", answers_then_silence("*2147483647\r\n")},
        {"an array of no possible length", answers("*99999999999999999999\r\n")},
        {"arrays nested nine deep", answers(nested(9))},
        {"a nesting bomb", answers(nested(100'000))},
        {"an endless line", floods(std::string(65'536, '+'))},
        {"an endless bulk", floods("$1000000000\r\n" + std::string(65'536, 'x'))},
        {"endless replies", floods(":7\r\n:7\r\n:7\r\n:7\r\n")},
        {"an endless array", floods("*1000000\r\n:1\r\n:2\r\n:3\r\n")},
        {"a push of RESP3", answers(">2\r\n+message\r\n+x\r\n")},
        {"a map of RESP3", answers("%1\r\n+a\r\n+b\r\n")},
        {"an integer that is none", answers(":12a\r\n")},
    };
}

std::vector<misdeed> wrong_replies() {
    using namespace hostile;
    return {
        {"an array", answers("*1\r\n+OK\r\n")},
        {"an integer", answers(":7\r\n")},
        {"another status", answers("+QUEUED\r\n")},
        {"OK as a bulk", answers("$2\r\nOK\r\n")},
        {"an empty array", answers("*0\r\n")},
        {"LOADING", error("LOADING Redis is loading the dataset in memory")},
        {"OOM", error("OOM command not allowed when used memory > 'maxmemory'.")},
        {"READONLY", error("READONLY You can't write against a read only replica.")},
        {"NOAUTH", error("NOAUTH Authentication required.")},
        {"MOVED", error("MOVED 3999 127.0.0.1:6381")},
        {"NOSCRIPT again and again", error("NOSCRIPT No matching script. Please use EVAL.")},
        {"MISCONF", error("MISCONF Redis is configured to save RDB snapshots")},
        {"BUSY", error("BUSY Redis is busy running a script.")},
        {"an error without a word", error("")},
        {"an error of a megabyte", error(std::string(1'000'000, 'E'))},
        {"an error with control characters", error("ERR \x1b[31m\x07 red")},
        {"a lost memory again and again", answers("+AMNESIAC\r\n")},
        {"a lost memory in all extensions", answers("+AMNESIAC\r\n")},
    };
}

std::vector<misdeed> silences() {
    using namespace hostile;
    return {
        {"accepts and never answers", never_answers()},
        {"silence after the greeting", answers_then_silence("")},
        {"answers seven seconds late", delays(7s)},
    };
}

std::vector<misdeed> broken_greetings() {
    using namespace hostile;
    using then = answer::then;
    return {
        {"closes at SETNAME", at("CLIENT SETNAME", 0, {.bytes = "", .after = then::close})},
        {"silent at SETNAME", at("CLIENT SETNAME", 0, {.bytes = "", .after = then::fall_silent})},
        {"garbage at SETNAME", at("CLIENT SETNAME", 0, {.bytes = garbage()})},
        {"closes at the search for scripts",
         at("SCRIPT EXISTS", 0, {.bytes = "", .after = then::close})},
        {"a list of other scripts", at("SCRIPT EXISTS", 0, {.bytes = "*2\r\n:1\r\n:1\r\n"})},
        {"closes at the first script",
         at("SCRIPT LOAD", 0, {.bytes = "", .after = then::close})},
        {"closes in the second script's answer",
         at("SCRIPT LOAD", 1, {.bytes = "$40\r\n0123", .after = then::close})},
        {"another SHA1", at("SCRIPT LOAD", 0, {.bytes = "$40\r\n" + std::string(40, 'f') +
                                                        "\r\n"})},
        {"an error for a script", at("SCRIPT LOAD", 1, {.bytes = "-ERR no scripts here\r\n"})},
        {"an array for a script", at("SCRIPT LOAD", 1, {.bytes = "*1\r\n:1\r\n"})},
        {"one reply too many", at("SCRIPT LOAD", 1, {.bytes = "+OK\r\n+OK\r\n"})},
        {"NOAUTH", at("CLIENT SETNAME", 0, {.bytes = "-NOAUTH Authentication required.\r\n"})},
        {"INFO without a run_id", at("INFO", 0, {.bytes = "$9\r\n# Server\r\n\r\n"})},
        {"a time before all time", at("TIME", 0, {.bytes = "*2\r\n$2\r\n-1\r\n$1\r\n0\r\n"})},
        {"a time of no day", at("TIME", 0, {.bytes = "*2\r\n$1\r\nx\r\n$1\r\n0\r\n"})},
        {"an error for the node record",
         at("EVALSHA RECORD", 1, {.bytes = "-WRONGTYPE no record\r\n"})},
        {"a node record that is none",
         at("EVALSHA RECORD", 1, {.bytes = "*2\r\n:1700000000000000\r\n$4\r\ntext\r\n"})},
        {"half a node record", at("EVALSHA RECORD", 1, {.bytes = "*3\r\n:1\r\n:2\r\n:3\r\n"})},
        {"closes at the node record", at("EVALSHA RECORD", 1, {.bytes = "", .after = then::close})},
        {"silent at the node record",
         at("EVALSHA RECORD", 1, {.bytes = "", .after = then::fall_silent})},
        {"a node record of other kinds",
         at("EVALSHA RECORD", 1, {.bytes = "*2\r\n$1\r\nx\r\n*0\r\n"})},
    };
}

// A record of the client's own set, with that number wherever it has one.
misbehaviour records_of(const std::string& number) {
    return [number](const request& r) -> answer {
        if (r.name != "EVALSHA RECORD" || r.number_of_name != 1) return {.bytes = r.proper};
        const auto from = r.proper.find("\r\n", r.proper.find('$')) + 2;
        record_words words(r.proper.substr(from, r.proper.size() - from - 2));
        for (const auto* const name : {"since", "cluster_since", "created", "quarantine", "ttl_max",
                                       "init", "offset", "error", "seen"}) {
            words[name] = number;
        }
        const std::string text = words.text();
        return {.bytes = "*2\r\n:" + number + "\r\n$" + std::to_string(text.size()) + "\r\n" +
                         text + "\r\n"};
    };
}

// Well-formed, and not even refused: what an honest node might say, if it were not for the others.
std::vector<misdeed> lies() {
    using namespace hostile;
    return {
        {"the highest fence as stale", answers("*2\r\n:4\r\n:9223372036854775807\r\n")},
        {"a negative fence as stale", answers("*2\r\n:4\r\n:-1\r\n")},
        {"the highest fence of a holder",
         answers("*4\r\n:2\r\n:9223372036854775807\r\n$1\r\nx\r\n:9223372036854775807\r\n")},
        {"a fence ahead of its clock", answers("*2\r\n:5\r\n:0\r\n")},
        {"an outcome that there is not", answers("*2\r\n:9\r\n:1\r\n")},
        {"a time of long ago", at("TIME", 0, {.bytes = "*2\r\n$1\r\n7\r\n$1\r\n0\r\n"})},
        {"a time far ahead", at("TIME", 0, {.bytes = "*2\r\n$10\r\n8999999999\r\n$1\r\n0\r\n"})},
        {"a node record of the largest numbers", records_of("9223372036854775807")},
        {"a node record of the largest that may be", records_of("9007199254740991")},
    };
}

std::vector<misdeed> all_misdeeds() {
    std::vector<misdeed> all;
    for (auto list : {broken_replies(), wrong_replies(), silences(), broken_greetings()}) {
        all.insert(all.end(), list.begin(), list.end());
    }
    return all;
}

// A good server but for what it answers to an acquire, in either mode: the nth on a connection.
misbehaviour to_acquires(bool fencing, std::function<answer(int nth)> say) {
    const std::string name = fencing ? "EVALSHA ACQUIRE" : "SET";
    return [name, say = std::move(say)](const request& r) {
        if (r.name != name) return answer{.bytes = r.proper};
        answer said = say(r.number_of_name);
        const auto call = requests_of(r.words);
        if (!call || call->all.size() < 2) return said;
        std::string each = "*" + std::to_string(call->all.size()) + "\r\n";
        for (const auto& one : call->all) each += one.what == ask::acquire ? said.bytes : ":1\r\n";
        said.bytes = each;
        return said;
    };
}

std::string granted_by(bool fencing) { return fencing ? ":1\r\n" : "+OK\r\n"; }
std::string held_by(bool fencing) {
    return fencing ? "*4\r\n:2\r\n:-1\r\n$1\r\nx\r\n:0\r\n" : "$-1\r\n";
}

client_options with(const cluster& nodes, std::vector<const hostile_server*> hostiles) {
    auto options = nodes.options();
    for (std::size_t i = 0; i < hostiles.size(); ++i) {
        options.nodes.push_back(hostiles[i]->node("h" + std::to_string(i)));
    }
    return options;
}

// For tests in which nothing has to be in time, and much runs out.
client_options impatient(client_options options) {
    options.node_timeout = 300ms;
    options.connect_timeout = 1s;
    return options;
}

constexpr std::size_t enemies_at_once = 12;

}  // namespace

TEST_CASE("a hostile node among three costs its own vote and nothing else", "[hostile]") {
    cluster nodes(2);
    found(nodes, 3);
    auto deeds = all_misdeeds();
    for (auto& lie : lies()) deeds.push_back(lie);
    const auto memory = resident_kib();
    CHECK(failures(deeds, enemies_at_once, [&](const misdeed& m, std::size_t i) {
              const auto resource = "r" + std::to_string(i);
              hostile_server enemy(m.script);
              auto options = with(nodes, {&enemy});
              options.connect_timeout = 3s;
              driver d(options, 2);
              bool is_silent = false;
              for (int round = 0; round < 4; ++round) {
                  auto got = d.acquire(resource, {.ttl = 20s});
                  if (got.error()) throw std::runtime_error(text_of(got.value()));
                  MUST(d.extend(got.value(), 30s) == error_code{});
                  // It waits for all: once is enough where one is silent.
                  const auto asked = clock::now();
                  if (!is_silent) MUST(d.inspect(resource).error() == error_code{});
                  is_silent = is_silent || clock::now() - asked > 1s;
                  MUST(d.release(std::move(got.value())) == error_code{});
                  MUST(d.until([&] { return nodes.holding(resource) == 0; }));
              }
              MUST(resident_kib() - memory < static_cast<long>(enemies_at_once) * 100 * 1024);
              MUST(d.client().stats().granted == 4);
              enemy.appease();
          }) == "");
}

TEST_CASE("a hostile node alone grants nothing, and its vote names the cause", "[hostile]") {
    const cluster none(0);
    CHECK(failures(all_misdeeds(), enemies_at_once, [&](const misdeed& m, std::size_t) {
              hostile_server enemy(m.script);
              driver d(impatient(with(none, {&enemy})), 0);
              MUST(d.until([&] {
                  return d.log().nodes_up() == 1 || d.log().count(event_kind::node_down) > 0;
              }));
              auto got = d.acquire("r", {.ttl = 20s});
              MUST(got.error() == errc::no_quorum);
              MUST(got.value().votes().size() == 1);
              const auto& v = got.value().votes()[0];
              MUST(v.node.str() == "h0");
              // Which one, the misdeed decides, and when its connection ends; no other answer does.
              MUST((v.answer == vote::refused || v.answer == vote::timed_out ||
                    v.answer == vote::unreachable || v.answer == vote::quarantine));
              MUST(v.error != error_code{});
              const auto text = format(v);
              MUST(text.find("h0") != std::string::npos);
              MUST(text.size() < 1'000);
              for (char c : text) MUST((static_cast<unsigned char>(c) >= 0x20));
              enemy.appease();
          }) == "");
}

TEST_CASE("hostile nodes in the majority give no_quorum and no key", "[hostile]") {
    cluster nodes(1);
    found(nodes, 3);
    for (const auto& m : {broken_replies()[0], wrong_replies()[0], silences()[0]}) {
        CAPTURE(m.what);
        hostile_server one(m.script);
        hostile_server two(m.script);
        driver d(impatient(with(nodes, {&one, &two})), 1);
        auto got = d.acquire("r", {.ttl = 60s});
        INFO(text_of(got.value()));
        CHECK(got.error() == errc::no_quorum);
        CHECK(d.until([&] { return nodes.holding("r") == 0; }));
    }
}

TEST_CASE("a node that mends its ways votes again", "[hostile]") {
    const cluster none(0);
    CHECK(failures(all_misdeeds(), enemies_at_once, [&](const misdeed& m, std::size_t) {
              hostile_server enemy(m.script);
              auto options = impatient(with(none, {&enemy}));
              options.connect_timeout = 500ms;
              driver d(options, 0);
              d.acquire("r");
              enemy.behave(hostile::none());
              auto got = d.acquire("s", {.ttl = 20s, .wait = 15s});
              if (got.error()) throw std::runtime_error(text_of(got.value()));
          }) == "");
}

TEST_CASE("replies in pieces are replies", "[hostile]") {
    cluster none(0);
    for (const std::size_t piece : {1U, 2U, 3U, 7U}) {
        hostile_server slow(hostile::splits(piece));
        driver d(with(none, {&slow}));
        auto got = d.acquire("r", {.ttl = 20s});
        INFO(text_of(got.value()));
        REQUIRE(got.error() == error_code{});
        CHECK(d.extend(got.value(), 30s) == error_code{});
        CHECK(d.release(std::move(got.value())) == error_code{});
        CHECK(slow.connections_accepted() == 1);
        CHECK(d.client().stats().disconnects == 0);
    }
}

namespace {

// Only the first acquire is late, and would grant; all that follow are refused in time.
misbehaviour late_at_first(bool fencing) {
    return to_acquires(fencing, [=](int nth) {
        if (nth == 0) return answer{.bytes = granted_by(fencing), .delay = 3s};
        return answer{.bytes = held_by(fencing)};
    });
}

client_options patient_for_late_replies(client_options options, bool fencing) {
    options.fencing = fencing;
    options.node_timeout = 200ms;
    options.connect_timeout = 10s;  // so long is a late reply waited for
    return options;
}

}  // namespace

TEST_CASE("a late reply is matched to nothing else", "[hostile]") {
    const cluster none(0);
    CHECK(failures(both_modes, both_modes.size(), [&](const mode& of, std::size_t) {
              hostile_server odd(late_at_first(of.fencing));
              driver d(patient_for_late_replies(with(none, {&odd}), of.fencing));
              auto first = d.acquire("r", {.ttl = 20s});
              MUST(first.error() == errc::no_quorum);
              MUST(first.value().votes()[0].answer == vote::timed_out);
              MUST(d.until([&] { return d.client().stats().late_replies >= 1; }));
              error_code second = errc::no_quorum;
              for (int tries = 5; tries > 0 && second == errc::no_quorum; --tries) {
                  second = d.acquire("r", {.ttl = 20s}).error();  // it may stall, too
              }
              MUST(second == errc::contended);
              MUST(odd.connections_accepted() == 1);
              MUST(odd.commands("EVALSHA RELEASE") >= 1);  // of the first
          }) == "");
}

TEST_CASE("commands that wait behind a late reply time out and grant nothing", "[hostile]") {
    const cluster none(0);
    CHECK(failures(both_modes, both_modes.size(), [&](const mode& of, std::size_t) {
              hostile_server odd(late_at_first(of.fencing));
              driver d(patient_for_late_replies(with(none, {&odd}), of.fencing));
              for (int i = 0; i < 5; ++i) {
                  auto got = d.acquire("r", {.ttl = 20s});
                  MUST(!got.value());
                  MUST(got.error() != error_code{});
              }
              MUST(d.until([&] { return d.client().stats().late_replies >= 1; }));
              for (int i = 0; i < 5; ++i) {
                  MUST(d.acquire("r", {.ttl = 20s}).error() != error_code{});
              }
          }) == "");
}

TEST_CASE("a reply to no request ends the connection, and is no vote", "[hostile]") {
    cluster none(0);
    const std::string bytes = GENERATE("+OK\r\n", ":1\r\n", ">1\r\n+x\r\n", "*0\r\n");
    const bool fencing = GENERATE(true, false);
    CAPTURE(bytes, fencing);
    hostile_server odd(to_acquires(fencing, [=](int) {
        return answer{.bytes = held_by(fencing)};
    }));
    auto options = with(none, {&odd});
    options.fencing = fencing;
    driver d(options);
    odd.push(bytes);
    REQUIRE(d.until([&] { return d.log().count(event_kind::node_down) == 1; }));
    CHECK(d.acquire("r").error() != error_code{});
    d.await_up(1);
    CHECK(odd.connections_accepted() == 2);
    CHECK(d.acquire("r").error() == errc::contended);
}

TEST_CASE("two replies to one command end the connection", "[hostile]") {
    cluster none(0);
    // "held", and one more that would grant the next request.
    const bool fencing = GENERATE(true, false);
    hostile_server odd(to_acquires(fencing, [=](int) {
        return answer{.bytes = held_by(fencing) + granted_by(fencing)};
    }));
    auto options = with(none, {&odd});
    options.fencing = fencing;
    driver d(options);
    auto got = d.acquire("r", {.ttl = 20s});
    CHECK(got.error() == errc::contended);
    // The one too many meets the release, whose reply it can't be, or the one after that.
    CHECK(d.until([&] { return d.log().count(event_kind::node_down) >= 1; }));
    d.await_up(1);
    CHECK(d.acquire("r", {.ttl = 20s}).error() == errc::contended);
}

TEST_CASE("NOSCRIPT to what is no script shifts no replies", "[hostile]") {
    cluster none(0);
    // Every first SET is answered NOSCRIPT, every later one "held": nothing may ever be granted.
    hostile_server odd([](const request& r) {
        if (r.name == "SET" && r.number_of_name == 0) {
            return answer{.bytes = "-NOSCRIPT No matching script. Please use EVAL.\r\n"};
        }
        if (r.name == "SET") return answer{.bytes = "$-1\r\n"};
        return answer{.bytes = r.proper};
    });
    auto options = with(none, {&odd});
    options.fencing = false;
    driver d(options);
    auto first = d.acquire("r", {.ttl = 20s});
    CHECK(first.error() == errc::no_quorum);
    CHECK(first.value().votes()[0].answer == vote::refused);
    for (int i = 0; i < 5; ++i) {
        auto next = d.acquire("r", {.ttl = 20s});
        CHECK(next.error() == errc::contended);
        CHECK(next.value().votes()[0].answer == vote::held);
    }
    CHECK(d.client().stats().disconnects == 0);
    CHECK(d.client().stats().timeouts == 0);
}

TEST_CASE("a node that lies about fences costs a waiter nothing", "[hostile]") {
    cluster nodes(2);
    found(nodes, 3);
    const std::string fence = GENERATE("9007199254740991", "9223372036854775807");
    CAPTURE(fence);
    hostile_server liar(hostile::answers("*4\r\n:2\r\n:50\r\n$1\r\nx\r\n:" + fence + "\r\n"));
    driver d(with(nodes, {&liar}));
    // Many, since a lie that comes after the others' answers is not even read.
    std::vector<outcome<lease>> waiting(20);
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        const auto resource = "r" + std::to_string(i);
        for (std::size_t n = 0; n < 2; ++n) REQUIRE(nodes.ask(n).set_nx_px(resource, "x", 300ms));
        waiting[i] = d.start_acquire(resource, {.ttl = 20s, .wait = 15s});
    }
    for (auto& w : waiting) {
        d.finish(w);
        INFO(text_of(w.value()));
        CHECK(w.error() == error_code{});
    }
    liar.appease();
}

TEST_CASE("a node that always answers amnesiac is greeted again with rests between", "[hostile]") {
    cluster nodes(2);
    found(nodes, 3);
    hostile_server odd(hostile::answers("+AMNESIAC\r\n"));
    auto options = with(nodes, {&odd});
    options.node_timeout = 5s;  // it answers at once: only the machine can be late
    driver d(options);
    for (const auto end = clock::now() + 2s; clock::now() < end;) {
        auto got = d.acquire("r", {.ttl = 20s});
        REQUIRE(got.error() == error_code{});
        REQUIRE(d.release(std::move(got.value())) == error_code{});
    }
    CHECK(odd.connections_accepted() >= 2);
    CHECK(odd.connections_accepted() < 40);
}

TEST_CASE("a flood is cut off", "[hostile]") {
    cluster none(0);
    hostile_server flood(hostile::floods("$1000000000\r\n" + std::string(1 << 20, 'x')));
    driver d(impatient(with(none, {&flood})));
    CHECK(d.acquire("r").error() == errc::no_quorum);
    CHECK(d.until([&] { return d.log().count(event_kind::node_down) >= 1; }));
    CHECK(flood.bytes_written() < (64U << 20));
}

TEST_CASE("a hostile node is not tried again without a rest", "[hostile]") {
    cluster none(0);
    hostile_server enemy(hostile::at("CLIENT SETNAME", 0,
                                     {.bytes = "", .after = answer::then::close}));
    driver d(impatient(with(none, {&enemy})), 0);
    d.pass(2s);
    CHECK(d.until([&] { return enemy.connections_accepted() >= 2; }));
    // 10 ms, doubling to a second, half of it jitter: about a dozen in two seconds.
    CHECK(enemy.connections_accepted() < 40);
}

TEST_CASE("commands to a node that never answers are bounded", "[hostile]") {
    cluster none(0);
    hostile_server mute(hostile::answers_then_silence(""));
    auto options = impatient(with(none, {&mute}));
    // A node that is silent for ten times as long is given up, and all that wait for it find it
    // unreachable. That must not come before their own time is over, however slowly this runs.
    options.node_timeout = 5s;
    driver d(options, 1);
    const auto memory = resident_kib();
    const std::string resource(500, 'x');
    std::vector<outcome<lease>> tries(20'000);
    int number = 0;
    for (auto& t : tries) {
        d.client().async_acquire(resource + std::to_string(number++), {.ttl = 20s}, t.handler());
    }
    std::size_t turned_away = 0;
    for (auto& t : tries) {
        d.finish(t);
        REQUIRE(t.error() == errc::no_quorum);
        turned_away += t.value().votes()[0].error == errc::backlog ? 1U : 0U;
    }
    CHECK(turned_away > 0);
    CHECK(turned_away < tries.size());
    CHECK(resident_kib() - memory < 400 * 1024);
    mute.appease();
}
