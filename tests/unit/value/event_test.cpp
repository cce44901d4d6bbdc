// Events as text, and the observer that writes to standard error.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"

#include <redlock/event.hpp>

#include <boost/asio/error.hpp>

#include <array>
#include <set>
#include <string>
#include <unistd.h>

using namespace redlock;
using namespace std::chrono_literals;

namespace {

// What `action` writes to standard error.
template <class F>
std::string standard_error_of(F action) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const int saved = ::dup(STDERR_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    action();
    ::dup2(saved, STDERR_FILENO);
    ::close(saved);
    ::close(ends[1]);
    std::string out;
    char chunk[512];
    for (ssize_t got; (got = ::read(ends[0], chunk, sizeof chunk)) > 0;) {
        out.append(chunk, static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
    return out;
}

}  // namespace

TEST_CASE("each kind and each severity has its name") {
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(event_kind::loop_lag); ++i) {
        names.insert(to_string(static_cast<event_kind>(i)));
    }
    CHECK(names.size() == 14);
    CHECK(names.count("unknown") == 0);
    CHECK(to_string(event_kind::renewal_failed) == "renewal_failed");
    CHECK(to_string(static_cast<event_kind>(200)) == "unknown");
    CHECK(to_string(severity::debug) == "debug");
    CHECK(to_string(severity::info) == "info");
    CHECK(to_string(severity::warning) == "warning");
    CHECK(to_string(severity::error) == "error");
    CHECK(to_string(static_cast<severity>(200)) == "unknown");
}

TEST_CASE("an event is one line with what it knows") {
    event e;
    e.kind = event_kind::node_down;
    e.severity = severity::warning;
    e.node = "127.0.0.1:7003";
    e.error = boost::asio::error::connection_refused;
    CHECK(format(e) == "warning node_down at 127.0.0.1:7003: Connection refused");

    event granted;
    granted.kind = event_kind::granted;
    granted.resource = "stock/7";
    granted.duration = 800us;
    CHECK(format(granted) == "info granted \"stock/7\" (0.8 ms)");
    granted.id = 12;
    granted.parent = 5;
    CHECK(format(granted) == "info granted \"stock/7\" #12 (0.8 ms)");
}

TEST_CASE("a refusal's event carries the votes") {
    std::array<node_vote, 2> votes;
    votes[0].node = node_name("a");
    votes[0].answer = vote::granted;
    votes[1].node = node_name("b");
    votes[1].answer = vote::held;
    votes[1].detail = "AAECAwQFBgcICQoLDA0ODw@web-1:4242";
    event e;
    e.kind = event_kind::refused;
    e.severity = severity::info;
    e.resource = "r\n";
    e.error = errc::contended;
    e.detail = "after 3 tries";
    e.votes = votes;
    CHECK(format(e) == "info refused \"r\\x0a\": somebody else holds the lock: after 3 tries; "
                       "a: granted; b: held by web-1:4242");
}

TEST_CASE("standard error gets whole lines of what is severe enough") {
    event e;
    e.kind = event_kind::lost;
    e.severity = severity::error;
    e.resource = "r";
    e.detail = "taken";
    CHECK(standard_error_of([&] { write_to_stderr(e); }) == "redlock: error lost \"r\": taken\n");
    e.severity = severity::info;
    CHECK(standard_error_of([&] { write_to_stderr(e); }) == "");
    CHECK(standard_error_of([&] { write_to_stderr(e, severity::info); }) ==
          "redlock: info lost \"r\": taken\n");
}
