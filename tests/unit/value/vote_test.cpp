// Votes as text: what each says, and what no text may contain.
// SPDX-License-Identifier: MIT
#include <redlock/vote.hpp>

#include "tests/support/catch.hpp"

#include <boost/asio/error.hpp>

#include <set>

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
