// Tests what replies mean as votes; knows no connection.
// SPDX-License-Identifier: MIT
#include "net/answers.hpp"
#include "resp/parser.hpp"
#include "support/catch.hpp"

#include <functional>
#include <string>
#include <string_view>

using namespace redlock;

namespace {

template <class F>
auto with_reply(std::string_view bytes, F&& read) {
    resp::parser p;
    resp::reply r;
    REQUIRE(p.feed(bytes, r) == resp::parser::outcome::complete);
    return read(r);
}

net::set_answer set_answer_to(std::string_view bytes) { return with_reply(bytes, net::read_set); }
net::compare_answer compare_answer_to(std::string_view bytes) {
    return with_reply(bytes, net::read_compare);
}

}  // namespace

TEST_CASE("a SET that was taken grants, one that was not is held") {
    CHECK(set_answer_to("+OK\r\n").answer == vote::granted);
    CHECK(set_answer_to("$-1\r\n").answer == vote::held);
    CHECK(set_answer_to("*-1\r\n").answer == vote::held);
}

TEST_CASE("no other reply to SET grants") {
    for (const auto* odd : {"+QUEUED\r\n", "$2\r\nOK\r\n", ":1\r\n", "*0\r\n", "+\r\n"}) {
        INFO(odd);
        const auto a = set_answer_to(odd);
        CHECK(a.answer == vote::refused);
        CHECK(a.why.error == errc::protocol_error);
    }
}

TEST_CASE("a script's 1 is yes, 0 and -1 are no, everything else can't vote") {
    CHECK(compare_answer_to(":1\r\n").ballot == core::ballot::yes);
    CHECK(compare_answer_to(":0\r\n").ballot == core::ballot::no);
    CHECK(compare_answer_to(":-1\r\n").ballot == core::ballot::no);
    for (const auto* odd : {":2\r\n", "+1\r\n", "$1\r\n1\r\n", "$-1\r\n", "*0\r\n"}) {
        INFO(odd);
        CHECK(compare_answer_to(odd).ballot == core::ballot::unable);
        CHECK(compare_answer_to(odd).why.error == errc::protocol_error);
    }
}

TEST_CASE("errors keep their cause and the server's words") {
    const auto cause = [](std::string_view bytes) { return with_reply(bytes, net::read_failure); };
    CHECK(cause("-NOAUTH x\r\n").error == errc::auth_failed);
    CHECK(cause("-WRONGPASS x\r\n").error == errc::auth_failed);
    CHECK(cause("-NOPERM x\r\n").error == errc::auth_failed);
    CHECK(cause("-NOSCRIPT x\r\n").error == errc::script_rejected);
    CHECK(cause("-READONLY x\r\n").error == errc::not_master);
    CHECK(cause("-WRONGTYPE x\r\n").error == errc::foreign_data);
    CHECK(cause("-OOM x\r\n").error == errc::server_error);
    CHECK(cause("-NOAUTHX x\r\n").error == errc::server_error);
    CHECK(cause("-OOM no room\r\n").detail == "OOM no room");
    CHECK(cause("-OOM no room\r\n").answer == vote::refused);
    CHECK(cause("-bad \x01\x1b[31m\r\n").detail.find('\x1b') == std::string::npos);
}

TEST_CASE("an owner is shown, not given away") {
    const std::string id = "ABCDEFGHIJKLMNOPQRSTUV";
    CHECK(net::abbreviate_owner(id + "@host:1") == "ABCDEF...@host:1");
    CHECK(net::abbreviate_owner(id).find(id) == std::string::npos);
    CHECK(net::abbreviate_owner("short") == "short");
    CHECK(net::abbreviate_owner("") == "");
}
