// The error codes: their numbers, their texts, and the conditions they fall under.
// SPDX-License-Identifier: MIT
#include <redlock/error.hpp>

#include "tests/support/catch.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>

#include <set>
#include <string>
#include <system_error>
#include <vector>

using namespace redlock;

namespace {

const std::vector<errc> all_codes = {
    errc::contended,      errc::no_quorum,     errc::validity_exhausted, errc::not_held,
    errc::lost,           errc::would_deadlock, errc::invalid_argument,  errc::client_closed,
    errc::auth_failed,    errc::script_rejected, errc::config_invalid,   errc::timed_out,
    errc::backlog,        errc::protocol_error, errc::server_error,      errc::not_master,
    errc::duplicate_node, errc::clock_skew,    errc::in_quarantine,      errc::foreign_data,
    errc::other_set,      errc::missing_right};

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
                                      11, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110};
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
                         errc::foreign_data, errc::other_set, errc::missing_right});
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
