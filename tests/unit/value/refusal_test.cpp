// A refusal as a sentence, as an exception, and compared with codes.
// SPDX-License-Identifier: MIT
#include <redlock/refusal.hpp>
#include <redlock/result.hpp>

#include "tests/support/catch.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <string>

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
    } catch (const boost::system::system_error& e) {
        CHECK(e.code() == errc::no_quorum);
        CHECK(std::string(e.what()).find("2 of 5 nodes granted") != std::string::npos);
    }
}
