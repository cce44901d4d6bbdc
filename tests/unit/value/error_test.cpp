// Error codes, votes and refusals: their names and texts.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"

#include <redlock/error.hpp>
#include <redlock/loss.hpp>
#include <redlock/refusal.hpp>
#include <redlock/result.hpp>
#include <redlock/vote.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>

#include <set>
#include <string>
#include <system_error>
#include <vector>

// The error codes: their numbers, their texts, and the conditions they fall under.
namespace error_test {

using namespace redlock;

namespace {

const std::vector<errc> all_codes = {
    errc::contended,      errc::no_quorum,     errc::validity_exhausted, errc::not_held,
    errc::lost,           errc::would_deadlock, errc::invalid_argument,  errc::client_closed,
    errc::auth_failed,    errc::script_rejected, errc::config_invalid,   errc::timed_out,
    errc::backlog,        errc::protocol_error, errc::server_error,      errc::not_master,
    errc::duplicate_node, errc::clock_skew,    errc::in_quarantine,      errc::foreign_data,
    errc::other_set,      errc::missing_right, errc::no_credentials};

std::set<errc> under(condition c) {
    std::set<errc> out;
    for (const errc e : all_codes) {
        if (error_code(e) == c) out.insert(e);
    }
    return out;
}

}  // namespace

TEST_CASE("the numbers of the codes stay as they are") {
    const std::vector<int> numbers = {1,  2,  3,  4,   5,   6,   7,   8,   9,   10,
                                      11, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110,
                                      111};
    REQUIRE(numbers.size() == all_codes.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        CHECK(error_code(all_codes[i]).value() == numbers[i]);
    }
    CHECK(std::string(category().name()) == "redlock");
    CHECK(std::string(condition_category().name()) == "redlock.condition");
}

TEST_CASE("each code has a text of its own, in one short line") {
    std::set<std::string> texts;
    for (const errc e : all_codes) {
        const std::string text = error_code(e).message();
        INFO(text);
        CHECK(texts.insert(text).second);
        CHECK(text.size() < 60);
        CHECK(text != "unknown error");
        CHECK(text.find('\n') == std::string::npos);
    }
    CHECK(category().message(9999) == "unknown error");
    for (const auto c : {condition::retryable, condition::ownership, condition::unreachable,
                         condition::configuration}) {
        CHECK(make_error_condition(c).message() != "unknown condition");
    }
}

TEST_CASE("the codes fall under the conditions that the header names") {
    CHECK(under(condition::retryable) ==
          std::set<errc>{errc::contended, errc::no_quorum, errc::validity_exhausted,
                         errc::timed_out, errc::backlog, errc::in_quarantine});
    CHECK(under(condition::ownership) == std::set<errc>{errc::not_held, errc::lost});
    CHECK(under(condition::unreachable) ==
          std::set<errc>{errc::no_quorum, errc::timed_out, errc::backlog});
    CHECK(under(condition::configuration) ==
          std::set<errc>{errc::auth_failed, errc::script_rejected, errc::config_invalid,
                         errc::not_master, errc::duplicate_node, errc::clock_skew,
                         errc::foreign_data, errc::other_set, errc::missing_right,
                         errc::no_credentials});
}

TEST_CASE("errors of a connection are unreachable, and nothing else of the system is") {
    namespace net = boost::asio::error;
    const std::vector<error_code> broken = {
        net::eof,               net::connection_refused,  net::connection_reset,
        net::broken_pipe,       net::timed_out,           net::host_unreachable,
        net::network_unreachable, net::network_down,      net::not_connected,
        net::connection_aborted, net::host_not_found,     net::host_not_found_try_again};
    for (const auto& code : broken) {
        INFO(code.message());
        CHECK(code == condition::unreachable);
        CHECK(code == condition::retryable);
        CHECK_FALSE(code == condition::ownership);
        CHECK_FALSE(code == condition::configuration);
    }
    for (const error_code& code : {error_code(net::operation_aborted), error_code(),
                                   error_code(net::no_memory), error_code(net::access_denied)}) {
        INFO(code.message());
        CHECK_FALSE(code == condition::unreachable);
        CHECK_FALSE(code == condition::retryable);
    }
    // The same number in another category is another error.
    CHECK_FALSE(error_code(1, boost::system::generic_category()) == condition::retryable);
    CHECK_FALSE(error_code(errc::contended) == boost::system::errc::operation_not_permitted);
}

TEST_CASE("a std::error_code compares as the error code that it was made of") {
    const std::error_code lost = error_code(errc::lost);
    CHECK(lost == errc::lost);
    CHECK(errc::lost == lost);
    CHECK(lost != errc::not_held);
    CHECK(lost == condition::ownership);
    CHECK(condition::ownership == lost);
    CHECK(lost != condition::retryable);
    CHECK(lost == std::error_code(errc::lost));
    CHECK(lost == error_code(errc::lost));
    CHECK(lost != std::errc::operation_not_permitted);
    CHECK(lost.message() == error_code(errc::lost).message());
    CHECK(std::string(lost.category().name()) == "redlock");

    const std::error_code broken = error_code(boost::asio::error::connection_reset);
    CHECK(broken == std::errc::connection_reset);
    CHECK(broken != condition::ownership);
    CHECK(std::error_code() != condition::retryable);

    const std::system_error thrown(errc::no_quorum);
    CHECK(thrown.code() == errc::no_quorum);
    const std::error_condition unreachable = condition::unreachable;
    CHECK(thrown.code() == unreachable);
    const error_code back = lost;
    CHECK(back == errc::lost);
}

}  // namespace error_test

// The reasons of a loss as text.
namespace loss_test {

using namespace redlock;

TEST_CASE("each reason of a loss has its name") {
    CHECK(to_string(loss::expired) == "expired");
    CHECK(to_string(loss::taken) == "taken");
    CHECK(to_string(loss::unreachable) == "unreachable");
    CHECK(to_string(loss::max_hold) == "max_hold");
    CHECK(to_string(loss::stalled) == "stalled");
    CHECK(to_string(static_cast<loss>(200)) == "unknown");
}

}  // namespace loss_test

// A refusal as a sentence, as an exception, and compared with codes.
namespace refusal_test {

using namespace redlock;
using namespace std::chrono_literals;

namespace {

node_vote voted(const char* node, vote answer) {
    node_vote v;
    v.node = node_name(node);
    v.answer = answer;
    return v;
}

refusal sample() {
    refusal r{errc::no_quorum, {voted("a:1", vote::granted), voted("b:1", vote::granted),
                                voted("c:1", vote::unreachable), voted("d:1", vote::timed_out),
                                voted("e:1", vote::pending)}};
    r.votes[2].error = boost::asio::error::connection_refused;
    return r;
}

}  // namespace

TEST_CASE("the sentence names the outcome, the count and each failing node") {
    CHECK(sample().message() ==
          "too few nodes could vote: 2 of 5 nodes granted, 3 needed; "
          "c:1: unreachable: Connection refused; d:1: no answer in time; e:1: no answer yet");
    CHECK(refusal{errc::client_closed, {}}.message() == "the client is closed");
    CHECK(refusal{errc::contended, {voted("a", vote::held)}}.message() ==
          "somebody else holds the lock: 0 of 1 node granted, 1 needed; a: held");
    CHECK(refusal{errc::contended, {voted("a", vote::held), voted("b", vote::held)}}
              .message()
              .find("0 of 2 nodes granted, 2 needed") != std::string::npos);
}

TEST_CASE("the sentence names three of many nodes, first those that answered") {
    refusal r{errc::contended, {voted("n0", vote::pending)}};
    for (int i = 1; i < 31; ++i) {
        r.votes.push_back(voted(("n" + std::to_string(i)).c_str(), vote::held));
    }
    CHECK(r.message() ==
          "somebody else holds the lock: 0 of 31 nodes granted, 16 needed; "
          "n1: held; n2: held; n3: held; and 28 more");
    r.votes.resize(5);
    CHECK(r.message().ends_with("n1: held; n2: held; n3: held; n4: held; n0: no answer yet"));
}

TEST_CASE("a refusal compares with codes and conditions") {
    const refusal r = sample();
    CHECK((r == errc::no_quorum));
    CHECK((r == error_code(errc::no_quorum)));
    CHECK((r == condition::retryable));
    CHECK((r == condition::unreachable));
    CHECK_FALSE((r == errc::contended));
    CHECK_FALSE((r == condition::ownership));
}

TEST_CASE("value() of a refused result throws the code and the sentence") {
    const result<int, refusal> refused = sample();
    try {
        static_cast<void>(refused.value());
        FAIL("nothing was thrown");
    } catch (const std::system_error& e) {
        CHECK(e.code() == errc::no_quorum);
        CHECK(std::string(e.what()).find("2 of 5 nodes granted") != std::string::npos);
    }
    const result<int> failed = error_code(errc::lost);
    CHECK(failed.error() == condition::ownership);
    try {
        static_cast<void>(failed.value());
        FAIL("nothing was thrown");
    } catch (const std::system_error& e) {
        CHECK(e.code() == errc::lost);
    }
}

TEST_CASE("errors compare with those of the standard, in both kinds of code") {
    const auto are_equal = [](errc ours, std::errc theirs) {
        const error_code code = ours;
        CHECK(code == static_cast<boost::system::errc::errc_t>(theirs));
        CHECK(std::error_code(code) == theirs);
        CHECK(std::error_code(ours) == theirs);
        CHECK(std::system_error(ours).code() == theirs);
    };
    are_equal(errc::would_deadlock, std::errc::resource_deadlock_would_occur);
    are_equal(errc::not_held, std::errc::operation_not_permitted);
    are_equal(errc::invalid_argument, std::errc::invalid_argument);
    are_equal(errc::contended, std::errc::timed_out);
    are_equal(errc::contended, std::errc::device_or_resource_busy);
    are_equal(errc::timed_out, std::errc::timed_out);
    CHECK(std::error_code(errc::no_quorum) != std::errc::timed_out);
    CHECK(std::error_code(errc::lost) != std::errc::operation_not_permitted);
    CHECK(error_code(errc::contended) != errc::timed_out);
    CHECK(error_code(errc::contended) == condition::retryable);
}

}  // namespace refusal_test

// Votes as text: what each says, and what no text may contain.
namespace vote_test {

using namespace redlock;
using namespace std::chrono_literals;

namespace {

node_vote from(vote answer) {
    node_vote v;
    v.node = node_name("127.0.0.1:7003");
    v.answer = answer;
    return v;
}

}  // namespace

TEST_CASE("each vote has its name") {
    CHECK(to_string(vote::pending) == "pending");
    CHECK(to_string(vote::granted) == "granted");
    CHECK(to_string(vote::held) == "held");
    CHECK(to_string(vote::queued) == "queued");
    CHECK(to_string(vote::stale) == "stale");
    CHECK(to_string(vote::quarantine) == "quarantine");
    CHECK(to_string(vote::refused) == "refused");
    CHECK(to_string(vote::timed_out) == "timed_out");
    CHECK(to_string(vote::unreachable) == "unreachable");
    CHECK(to_string(static_cast<vote>(200)) == "unknown");
}

TEST_CASE("a held vote tells by whom, for how long, and how fast it came") {
    node_vote v = from(vote::held);
    CHECK(format(v) == "127.0.0.1:7003: held");
    v.detail = "web-1:4242";
    v.retry_in = 4200ms;
    v.elapsed = 400us;
    CHECK(format(v) == "127.0.0.1:7003: held by web-1:4242 for 4.2 s more (0.4 ms)");
    v.retry_in = -1ms;
    CHECK(format(v) == "127.0.0.1:7003: held by web-1:4242 without expiry (0.4 ms)");
    v.detail = "AAECAw...@web-1:4242#kept; another program counts 2 slots";
    v.retry_in = 4200ms;
    CHECK(format(v) == "127.0.0.1:7003: kept, released by web-1:4242, for 4.2 s more; another "
                       "program counts 2 slots (0.4 ms)");
    v.detail = "another program counts 2 slots";
    CHECK(format(v) == "127.0.0.1:7003: held for 4.2 s more; another program counts 2 slots "
                       "(0.4 ms)");
}

TEST_CASE("no text contains a whole owner id") {
    node_vote v = from(vote::held);
    v.detail = "AAECAwQFBgcICQoLDA0ODw@web-1:4242";
    CHECK(format(v) == "127.0.0.1:7003: held by web-1:4242");
    v.detail = "AAECAw...@web-1:4242";
    CHECK(format(v) == "127.0.0.1:7003: held by web-1:4242");
    v.detail = "AAECAwQFBgcICQoLDA0ODw";
    CHECK(format(v) == "127.0.0.1:7003: held by AAECAw...");
    v.detail = "AAECAwQFBgcICQoLDA0ODw@";
    CHECK(format(v) == "127.0.0.1:7003: held by AAECAw...");
    v.detail = "5f1d7a84db00d2fce00b31a7fc73224f12ffb3a4";  // another library's
    CHECK(format(v) == "127.0.0.1:7003: held by 5f1d7a...");
}

TEST_CASE("a failing vote names its cause") {
    node_vote v = from(vote::unreachable);
    v.error = boost::asio::error::connection_refused;
    CHECK(format(v) == "127.0.0.1:7003: unreachable: Connection refused");
    v = from(vote::quarantine);
    CHECK(format(v) == "127.0.0.1:7003: in quarantine");
    v.retry_in = 43s;
    CHECK(format(v) == "127.0.0.1:7003: in quarantine, 43 s more");
    v = from(vote::timed_out);
    v.error = errc::timed_out;
    v.elapsed = 50ms;
    CHECK(format(v) == "127.0.0.1:7003: no answer in time (50 ms)");
    v.detail = "its way is long";
    CHECK(format(v) == "127.0.0.1:7003: no answer in time: its way is long (50 ms)");
    v = from(vote::refused);
    v.error = errc::server_error;
    CHECK(format(v) == "127.0.0.1:7003: refused: the node answered with an error");
    v.detail = "OOM command not allowed";
    CHECK(format(v) == "127.0.0.1:7003: refused: OOM command not allowed");
    v.error = errc::not_master;
    v.detail = "READONLY";
    CHECK(format(v) == "127.0.0.1:7003: refused: the node is not a master: READONLY");
}

TEST_CASE("votes of the same node differ in their text") {
    std::set<std::string> texts;
    for (int i = 0; i <= static_cast<int>(vote::unreachable); ++i) {
        texts.insert(format(from(static_cast<vote>(i))));
    }
    CHECK(texts.size() == 9);
}

TEST_CASE("a server's words stay on one line and are bounded") {
    node_vote v = from(vote::refused);
    v.error = errc::server_error;
    v.detail = std::string("a\nb\x1b[31m\0c\x7f", 11);
    CHECK(format(v) == "127.0.0.1:7003: refused: a\\x0ab\\x1b[31m\\x00c\\x7f");
    v.detail.assign(1'000'000, '\x01');
    CHECK(format(v).size() < 1000);
    v.detail.assign(1'000'000, 'x');
    CHECK(format(v).size() < 300);
    CHECK(format(v).ends_with("x..."));
}

TEST_CASE("of several resources a vote names the one that is in the way") {
    node_vote v = from(vote::held);
    v.resource = "stock";
    v.detail = "AAAAAA@here:1";
    CHECK(format(v) == "127.0.0.1:7003: stock is held by here:1");
    v.detail = "AAAAAA@here:1#kept";
    v.retry_in = 3s;
    CHECK(format(v) == "127.0.0.1:7003: stock is kept, released by here:1, for 3.0 s more");
    v = from(vote::queued);
    v.resource = "st\nock";
    CHECK(format(v) == "127.0.0.1:7003: st\\x0aock is free, but another waiter is first");
}

}  // namespace vote_test
