// What follows a refusal: which request is sent again, and which release is still owed.
// SPDX-License-Identifier: MIT
#include "core/node/failed_request.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using namespace std::chrono_literals;
using core::answered_request;
using core::is_sent_again;
using core::left_owed;
using core::node_error;
using core::owed_release;

namespace {

constexpr answered_request open{.is_connected = true, .is_wanted = true, .is_by_hash = true};
constexpr answered_request owed{.is_connected = true, .is_owed = true, .is_wanted = true};

}  // namespace

TEST_CASE("a request whose script the node lacks is sent again, with the text and once") {
    CHECK(is_sent_again(open, node_error::lacks_script));
    answered_request with_text = open;
    with_text.is_by_hash = false;
    CHECK_FALSE(is_sent_again(with_text, node_error::lacks_script));
    for (const auto error : {node_error::none, node_error::other, node_error::passing}) {
        CHECK_FALSE(is_sent_again(open, error));
    }
}

TEST_CASE("a request that is over is not sent again, but a late release is") {
    answered_request over = open;
    over.is_wanted = false;  // its release may have gone out
    CHECK_FALSE(is_sent_again(over, node_error::lacks_script));
    answered_request late = open;
    late.is_late = true;
    CHECK_FALSE(is_sent_again(late, node_error::lacks_script));
    late.is_owed = true;
    CHECK(is_sent_again(late, node_error::lacks_script));
    answered_request cut_off = open;
    cut_off.is_connected = false;
    CHECK_FALSE(is_sent_again(cut_off, node_error::lacks_script));
}

TEST_CASE("a request of many whose right may be lacked by another one is sent again alone") {
    answered_request one = open;
    CHECK_FALSE(is_sent_again(one, node_error::lacks_right));
    one.is_of_many = true;
    CHECK(is_sent_again(one, node_error::lacks_right));
}

TEST_CASE("a release that was refused for a passing state is owed after a rest") {
    CHECK(left_owed(owed, node_error::passing) == owed_release::to_rest);
    CHECK(left_owed(open, node_error::passing) == owed_release::settled);
    CHECK(left_owed(owed, node_error::none) == owed_release::settled);
    CHECK(left_owed(owed, node_error::other) == owed_release::settled);
}

TEST_CASE("a release of many that got an error was not done, whatever the error was") {
    answered_request one = owed;
    one.is_of_many = true;
    CHECK(left_owed(one, node_error::other) == owed_release::to_rest);
    one.is_connected = false;
    CHECK(left_owed(one, node_error::other) == owed_release::to_connection);
}

TEST_CASE("a command is good for much longer than the node may take") {
    CHECK(core::good_for(50ms) == 1s);
    CHECK(core::good_for(2s) == 8s);
}
