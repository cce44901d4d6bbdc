// Tests what the answers to each request mean; knows no connection.
// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "wire/resp/command.hpp"
#include "wire/resp/reply.hpp"

#include "wire/failure.hpp"
#include "wire/lock.hpp"
#include "wire/owner_value.hpp"
#include "wire/questions.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;

namespace {

template <class F>
auto with_reply(std::string_view bytes, F&& read) {
    resp::parser p;
    resp::reply r;
    REQUIRE(p.feed(bytes, r) == resp::parser::outcome::complete);
    return read(r);
}

wire::acquire_answer set_answer_to(std::string_view bytes) {
    return with_reply(
        bytes, [](const resp::reply& r) { return wire::read_acquire(wire::plain_lock, r); });
}
wire::acquire_answer acquire_answer_to(std::string_view bytes) {
    return with_reply(
        bytes, [](const resp::reply& r) { return wire::read_acquire(wire::fenced_lock, r); });
}
wire::acquire_answer several_answer_to(std::string_view bytes) {
    return with_reply(
        bytes, [](const resp::reply& r) { return wire::read_acquire(wire::set_lock, r); });
}
wire::compare_answer release_answer_to(std::string_view bytes) {
    return with_reply(bytes, wire::read_release);
}
wire::compare_answer extension_answer_to(std::string_view bytes) {
    return with_reply(bytes, wire::read_extension);
}
std::optional<wire::wait_answer> wait_answer_to(std::string_view bytes, std::size_t waiter) {
    return with_reply(bytes, [waiter](const resp::reply& r) { return wire::read_wait(r, waiter); });
}

}  // namespace

TEST_CASE("no time left is longer than can be reckoned with") {
    using namespace std::chrono_literals;
    const auto left = [](const std::string& pttl) {
        return acquire_answer_to("*4\r\n:2\r\n:" + pttl + "\r\n$1\r\nx\r\n:7\r\n").left;
    };
    CHECK(left("0") == 0ms);
    CHECK(left("86400000") == 24h);
    CHECK(left("9223372036854775807") == 366 * 24h);
    CHECK(left("-1") == -1ms);
    CHECK(left("-9223372036854775808") == -1ms);
    CHECK(wire::read_pttl(-2) == 0ms);
}

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

TEST_CASE("each outcome of a fenced acquire is read") {
    CHECK(acquire_answer_to(":1\r\n").answer == vote::granted);

    const auto amnesiac = acquire_answer_to("+AMNESIAC\r\n");
    CHECK(amnesiac.answer == vote::quarantine);
    CHECK(amnesiac.why.error == errc::in_quarantine);

    const auto held = acquire_answer_to(
        "*4\r\n:2\r\n:1500\r\n$29\r\nABCDEFGHIJKLMNOPQRSTUV@host:1\r\n:77\r\n");
    CHECK(held.answer == vote::held);
    CHECK(held.left == std::chrono::milliseconds(1500));
    CHECK(held.why.detail == "ABCDEF...@host:1");
    CHECK(held.fence == 77);
    CHECK_FALSE(held.why.error);

    const auto stale = acquire_answer_to("*2\r\n:4\r\n:99\r\n");
    CHECK(stale.answer == vote::stale);
    CHECK(stale.fence == 99);

    const auto ahead = acquire_answer_to("*2\r\n:5\r\n:99\r\n");
    CHECK(ahead.answer == vote::refused);
    CHECK(ahead.why.error == errc::clock_skew);

    const auto short_of_period = acquire_answer_to("*2\r\n:7\r\n:60000\r\n");
    CHECK(short_of_period.answer == vote::refused);
    CHECK(short_of_period.why.error == errc::invalid_argument);
    CHECK(short_of_period.why.detail.find("60000 ms") != std::string::npos);
    CHECK(short_of_period.period == std::chrono::minutes(1));
    CHECK(acquire_answer_to("*2\r\n:7\r\n:-1\r\n").period.count() == 0);

    const auto late = acquire_answer_to("+LATE\r\n");
    CHECK(late.answer == vote::refused);
    CHECK(late.why.error == errc::clock_skew);
    CHECK(late.why.detail.find("too late") != std::string::npos);

    const auto foreign = acquire_answer_to("-FOREIGN the fence key does not hold a fence\r\n");
    CHECK(foreign.answer == vote::refused);
    CHECK(foreign.why.error == errc::foreign_data);
}

TEST_CASE("of several keys the answer says which can't be taken") {
    CHECK(several_answer_to(":1\r\n").answer == vote::granted);
    auto a = several_answer_to("*7\r\n:2\r\n:5\r\n$1\r\nx\r\n:7\r\n:0\r\n$2\r\n\x05\x80\r\n:2\r\n");
    CHECK(a.answer == vote::held);
    CHECK(a.blocked == 0x8005);
    CHECK(a.which == 2);
    CHECK(a.fence == 7);
    CHECK_FALSE(a.lacks_fence);
    const std::string held = "*8\r\n:2\r\n:5\r\n$27\r\nAAAAAAAAAAAAAAAAAAAAAA@here\r\n:7\r\n:0\r\n$1\r\n\x01\r\n:0";
    CHECK(several_answer_to(held + "\r\n:1\r\n").lacks_fence);
    CHECK_FALSE(several_answer_to(held + "\r\n:0\r\n").lacks_fence);
    a = several_answer_to("*5\r\n:3\r\n:5\r\n:7\r\n$1\r\n\x02\r\n:1\r\n");
    CHECK(a.answer == vote::queued);
    CHECK(a.blocked == 2);
    CHECK(a.which == 1);
    CHECK(several_answer_to("*2\r\n:4\r\n:9\r\n").answer == vote::stale);
}

TEST_CASE("what a hostile node says of several keys is bounded") {
    const auto a = several_answer_to(
        "*7\r\n:2\r\n:5\r\n$1\r\nx\r\n:7\r\n:0\r\n$9\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\r\n"
        ":-5\r\n");
    CHECK(a.blocked == ~std::uint64_t{0});
    CHECK(a.which == 0);
    CHECK(several_answer_to("*1\r\n:2\r\n").blocked == 0);
    CHECK(several_answer_to("*7\r\n:2\r\n:5\r\n$1\r\nx\r\n:7\r\n:0\r\n:3\r\n$1\r\n9\r\n").blocked == 0);
}

TEST_CASE("no other reply to a fenced acquire is a vote") {
    for (const auto* odd : {":0\r\n", ":2\r\n", "+OK\r\n", "$-1\r\n", "*0\r\n", "*1\r\n:0\r\n",
                            "*1\r\n:1\r\n", "*1\r\n$1\r\n0\r\n", "*-1\r\n"}) {
        INFO(odd);
        const auto a = acquire_answer_to(odd);
        CHECK(a.answer == vote::refused);
        CHECK(a.why.error == errc::protocol_error);
    }
}

TEST_CASE("a hostile node can't make a fence negative") {
    CHECK(acquire_answer_to("*2\r\n:4\r\n:-5\r\n").fence == 0);
    CHECK(acquire_answer_to("*2\r\n:4\r\n$1\r\nx\r\n").fence == 0);
    CHECK(acquire_answer_to("*1\r\n:2\r\n").left == std::chrono::milliseconds(0));
}

TEST_CASE("how long a waiter before us lives is read for a key that is held, and for a free one") {
    using namespace std::chrono_literals;
    const auto held = acquire_answer_to("*5\r\n:2\r\n:1500\r\n$1\r\nx\r\n:77\r\n:1999\r\n");
    CHECK(held.answer == vote::held);
    CHECK(held.left == 1500ms);
    CHECK(held.fence == 77);
    CHECK(held.before == 1999ms);

    const auto queued = acquire_answer_to("*3\r\n:3\r\n:1234\r\n:88\r\n");
    CHECK(queued.answer == vote::queued);
    CHECK(queued.before == 1234ms);
    CHECK(queued.left == 0ms);
    CHECK(queued.fence == 88);
    CHECK_FALSE(queued.why.error);
    CHECK(queued.why.detail.empty());
}

TEST_CASE("what a hostile node says of the queue is bounded, and still no grant") {
    using namespace std::chrono_literals;
    const auto held = [](const std::string& before) {
        return acquire_answer_to("*5\r\n:2\r\n:0\r\n$1\r\nx\r\n:7\r\n" + before);
    };
    const auto queued = [](const std::string& before) {
        return acquire_answer_to("*3\r\n:3\r\n" + before + ":7\r\n");
    };
    for (const auto& read : {std::function(held), std::function(queued)}) {
        CHECK(read(":9223372036854775807\r\n").before == 366 * 24h);
        CHECK(read(":-9223372036854775808\r\n").before == -1ms);
        CHECK(read(":-1\r\n").before == -1ms);
        CHECK(read("$4\r\n1000\r\n").before == 0ms);
        CHECK(read("*1\r\n:1000\r\n").before == 0ms);
        CHECK(read("$-1\r\n").before == 0ms);
        CHECK(read("-ERR no\r\n").before == 0ms);
        CHECK(read("-ERR no\r\n").answer != vote::granted);
    }
    for (const auto* few : {"*1\r\n:3\r\n", "*2\r\n:3\r\n:5\r\n"}) {
        const auto a = acquire_answer_to(few);
        CHECK(a.answer == vote::queued);
        CHECK(a.fence == 0);
    }
    CHECK(acquire_answer_to("*3\r\n:3\r\n:5\r\n:-7\r\n").fence == 0);
}

TEST_CASE("when a key comes free is read waiter by waiter") {
    using namespace std::chrono_literals;
    const std::string all =
        "*5\r\n*3\r\n:0\r\n:0\r\n$0\r\n\r\n*3\r\n:-1\r\n:7\r\n$1\r\nx\r\n"
        "*3\r\n:1500\r\n:1200\r\n$23\r\nABCDEFGHIJKLMNOPQRST-_@\r\n"
        "*1\r\n:9223372036854775807\r\n*1\r\n:-9223372036854775808\r\n";
    CHECK(wait_answer_to(all, 0)->left == 0ms);
    CHECK(wait_answer_to(all, 0)->before == 0ms);
    CHECK_FALSE(wait_answer_to(all, 0)->is_foreign);
    CHECK(wait_answer_to(all, 1)->left == -1ms);
    CHECK(wait_answer_to(all, 1)->before == 7ms);
    CHECK(wait_answer_to(all, 1)->is_foreign);
    CHECK(wait_answer_to(all, 2)->left == 1500ms);
    CHECK(wait_answer_to(all, 2)->before == 1200ms);
    CHECK_FALSE(wait_answer_to(all, 2)->is_foreign);
    CHECK(wait_answer_to(all, 3)->left == 366 * 24h);
    CHECK(wait_answer_to(all, 4)->left == -1ms);
    CHECK_FALSE(wait_answer_to(all, 5));
    CHECK_FALSE(wait_answer_to(all, 1'000'000));
}

TEST_CASE("a holder is foreign where its value is not an owner and a client") {
    const auto held_by = [](const std::string& value) {
        return acquire_answer_to("*5\r\n:2\r\n:9\r\n$" + std::to_string(value.size()) + "\r\n" +
                                 value + "\r\n:7\r\n:0\r\n");
    };
    for (const auto* ours : {"ABCDEFGHIJKLMNOPQRSTUV@host:1", "0123456789-_abcdefghij@"}) {
        INFO(ours);
        CHECK_FALSE(held_by(ours).is_foreign);
    }
    for (const auto* theirs : {"x", "ABCDEFGHIJKLMNOPQRSTUV", "ABCDEFGHIJKLMNOPQRSTUVW@host",
                               "ABCDEFGHIJKLMNOPQRS/UV@host", "ABCDEFGHIJKLMNOPQRSTU@host:12345"}) {
        INFO(theirs);
        CHECK(held_by(theirs).is_foreign);
    }
    CHECK(held_by("a").holder == held_by("a").holder);
    CHECK(held_by("a").holder != held_by("b").holder);
}

TEST_CASE("no other reply says when a key comes free") {
    for (const auto* odd :
         {":0\r\n", "+OK\r\n", "$1\r\n0\r\n", "$-1\r\n", "*0\r\n", "*-1\r\n",
          "*1\r\n:0\r\n", "*1\r\n$1\r\n0\r\n", "*1\r\n$-1\r\n", "*1\r\n*0\r\n",
          "*1\r\n*1\r\n*1\r\n:0\r\n", "*1\r\n-ERR no\r\n", "-NOSCRIPT no\r\n",
          "-WRONGTYPE no\r\n"}) {
        INFO(odd);
        CHECK_FALSE(wait_answer_to(odd, 0));
    }
}

TEST_CASE("a release's 1 is yes, 0 and -1 are no, everything else can't vote") {
    CHECK(release_answer_to(":1\r\n").choice == core::choice::yes);
    CHECK(release_answer_to(":0\r\n").choice == core::choice::no);
    CHECK(release_answer_to(":-1\r\n").choice == core::choice::no);
    for (const auto* odd : {":2\r\n", "+1\r\n", "$1\r\n1\r\n", "$-1\r\n", "*0\r\n"}) {
        INFO(odd);
        CHECK(release_answer_to(odd).choice == core::choice::unable);
        CHECK(release_answer_to(odd).why.error == errc::protocol_error);
    }
}

TEST_CASE("an extension's 1 is yes, 0 and -1 are no, what can't vote says why") {
    CHECK(extension_answer_to(":1\r\n").choice == core::choice::yes);
    CHECK(extension_answer_to(":0\r\n").choice == core::choice::no);
    CHECK(extension_answer_to(":-1\r\n").choice == core::choice::no);
    const auto ahead = extension_answer_to("*2\r\n:5\r\n:99\r\n");
    CHECK(ahead.choice == core::choice::unable);
    CHECK(ahead.why.error == errc::clock_skew);
    for (const auto* foreign : {"-FOREIGN F does not hold a fence\r\n", "-WRONGTYPE no\r\n"}) {
        INFO(foreign);
        CHECK(extension_answer_to(foreign).choice == core::choice::unable);
        CHECK(extension_answer_to(foreign).why.error == errc::foreign_data);
    }
    for (const auto* odd : {":7\r\n", ":2\r\n", "+AMNESIAC\r\n", "+LATE\r\n", "*0\r\n",
                            "*1\r\n:1\r\n", "*2\r\n:3\r\n:9\r\n", "$1\r\n1\r\n", "$-1\r\n"}) {
        INFO(odd);
        CHECK(extension_answer_to(odd).choice == core::choice::unable);
        CHECK(extension_answer_to(odd).fence == 0);
    }
}

TEST_CASE("an extension that took a key again is a yes with the fence that the node had before") {
    const auto again = extension_answer_to("*2\r\n:1\r\n:1700000000000000\r\n");
    CHECK(again.choice == core::choice::yes);
    CHECK(again.was_free);
    CHECK(again.fence == 1'700'000'000'000'000);
    CHECK(extension_answer_to("*2\r\n:1\r\n:0\r\n").was_free);
    CHECK(extension_answer_to("*2\r\n:1\r\n:-5\r\n").fence == 0);
    CHECK(extension_answer_to("*2\r\n:4\r\n:9\r\n").was_free);
    CHECK_FALSE(extension_answer_to(":1\r\n").was_free);
    CHECK_FALSE(extension_answer_to("*2\r\n:5\r\n:9\r\n").was_free);
}

TEST_CASE("an extension whose fence was refused is a no with the fence that the node has seen") {
    const auto seen = [](const std::string& fence) {
        return extension_answer_to("*2\r\n:4\r\n" + fence + "\r\n");
    };
    CHECK(seen(":1700000000000000").choice == core::choice::no);
    CHECK_FALSE(seen(":1700000000000000").why.error);
    CHECK(seen(":1700000000000000").fence == 1'700'000'000'000'000);
    CHECK(seen(":9007199254740991").fence == 9'007'199'254'740'991);
    // The largest that there is, and less than nothing, from a node that makes things up.
    CHECK(seen(":9223372036854775807").fence == 9'223'372'036'854'775'807);
    CHECK(seen(":-5").fence == 0);
    CHECK(seen("$1\r\nx").fence == 0);
}

TEST_CASE("one answer to an extension says that the lease was revoked") {
    CHECK(extension_answer_to(":-2\r\n").is_revoked);
    CHECK(extension_answer_to(":-2\r\n").choice == core::choice::no);
    for (const auto* other : {":1\r\n", ":0\r\n", ":-1\r\n", ":-3\r\n", "*1\r\n:-2\r\n"}) {
        INFO(other);
        CHECK_FALSE(extension_answer_to(other).is_revoked);
    }
}

TEST_CASE("a release that has to keep the key says for how long, in ms that are over by then") {
    using namespace std::chrono_literals;
    const auto words = [](const wire::lock_kind& kind, const wire::release_request& what) {
        wire::request out;
        wire::write_release(kind, out, what);
        return std::to_string(out.count) + ": " + out.words;
    };
    const auto in_words = [](std::initializer_list<std::string_view> all) {
        std::string out = std::to_string(all.size()) + ": ";
        resp::append_words(out, all);
        return out;
    };
    const wire::fence_terms raise{7, ""};
    const wire::queue_entry place{"id", 9, 2s};
    using wire::fenced_lock;
    using wire::plain_lock;
    CHECK(words(fenced_lock, {.key = "k", .value = "v"}) == in_words({"release", "v"}));
    CHECK(words(fenced_lock, {.key = "k", .value = "v", .keep = 1500us}) ==
          in_words({"leave", "v", "", "", "0", "0", "2", "", ""}));
    CHECK(words(fenced_lock, {.key = "k", .value = "v", .raise = &raise, .keep = 1s}) ==
          in_words({"leave", "v", "7", "", "0", "0", "1000", "", ""}));
    CHECK(words(fenced_lock, {.key = "k", .value = "v", .entry = &place, .keep = 1s}) ==
          in_words({"leave", "v", "", "id", "9", "2000", "1000", "", ""}));
    CHECK(words(fenced_lock, {.key = "k", .value = "v", .raise = &raise}) ==
          in_words({"leave", "v", "7", "", "0", "0", "", "", ""}));
    CHECK(words(fenced_lock, {.key = "k", .value = "v", .note = 60s}) ==
          in_words({"leave", "v", "", "", "0", "0", "", "60000", ""}));
    CHECK(words(fenced_lock, {.key = "k", .value = "v", .keep = 1s, .never_prolongs = true}) ==
          in_words({"leave", "v", "", "", "0", "0", "-1000", "", ""}));
    CHECK(words(fenced_lock, {.key = "k", .value = "v", .cuts_fence = true}) ==
          in_words({"leave", "v", "", "", "0", "0", "", "", "long"}));
    CHECK(words(plain_lock,
                {.key = "k", .value = "v", .keep = 1s, .never_prolongs = true}) ==
          in_words({"keep", "v", "-1000"}));
    CHECK(words(plain_lock, {.key = "k", .value = "v", .keep = 1ns}) ==
          in_words({"keep", "v", "1"}));
    CHECK(words(plain_lock, {.key = "k", .value = "v"}) ==
          in_words({"release", "v"}));
}

TEST_CASE("only the status AMNESIAC says that a node forgot its record") {
    CHECK(with_reply("+AMNESIAC\r\n", wire::is_amnesiac));
    CHECK_FALSE(with_reply("$8\r\nAMNESIAC\r\n", wire::is_amnesiac));
    CHECK_FALSE(with_reply("*1\r\n:1\r\n", wire::is_amnesiac));
}

TEST_CASE("only the status LATE says that a command came too late") {
    CHECK(with_reply("+LATE\r\n", wire::is_late));
    for (const auto* other : {"+AMNESIAC\r\n", ":6\r\n", "*1\r\n:6\r\n", "*0\r\n",
                              "$4\r\nLATE\r\n", "-LATE\r\n", "$-1\r\n"}) {
        INFO(other);
        CHECK_FALSE(with_reply(other, wire::is_late));
    }
}

TEST_CASE("a reply to any command shows what became of its node") {
    const auto signs = [](const char* text) { return with_reply(text, wire::read_signs); };
    CHECK(signs("+AMNESIAC\r\n").is_amnesiac);
    CHECK(signs("+LATE\r\n").is_late);
    CHECK(signs("-READONLY You can't write against a read only replica.\r\n").is_replica);
    for (const auto* other : {":1\r\n", "*1\r\n:0\r\n", "-OOM command not allowed\r\n",
                              "$-1\r\n"}) {
        INFO(other);
        CHECK_FALSE(signs(other).any());
    }
}

TEST_CASE("a time is two numbers, and within reason") {
    CHECK(with_reply("*2\r\n$10\r\n1700000000\r\n$6\r\n000123\r\n", wire::read_time) ==
          1'700'000'000'000'123);
    for (const auto* odd :
         {"*2\r\n$2\r\n-1\r\n$1\r\n0\r\n", "*2\r\n$1\r\n1\r\n$7\r\n1000000\r\n",
          "*2\r\n$11\r\n99999999999\r\n$1\r\n0\r\n", "*1\r\n$1\r\n1\r\n", "+OK\r\n",
          "*2\r\n$0\r\n\r\n$1\r\n0\r\n", "*2\r\n$2\r\n1x\r\n$1\r\n0\r\n"}) {
        INFO(odd);
        CHECK_FALSE(with_reply(odd, wire::read_time));
    }
}

TEST_CASE("errors keep their cause and the server's words") {
    const auto cause = [](std::string_view bytes) { return with_reply(bytes, wire::read_failure); };
    CHECK(cause("-NOAUTH x\r\n").error == errc::auth_failed);
    CHECK(cause("-WRONGPASS x\r\n").error == errc::auth_failed);
    CHECK(cause("-NOPERM x\r\n").error == errc::missing_right);
    CHECK(cause("-ERR The user executing the script can't run this command or subcommand\r\n")
              .error == errc::missing_right);
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
    CHECK(wire::abbreviate_owner(id + "@host:1") == "ABCDEF...@host:1");
    CHECK(wire::abbreviate_owner(id).find(id) == std::string::npos);
    CHECK(wire::abbreviate_owner("short") == "short");
    CHECK(wire::abbreviate_owner("") == "");
}

TEST_CASE("a value of our form with no fence beside it is noticed") {
    const std::string id = "ABCDEFGHIJKLMNOPQRST_-";
    const auto lacks_fence = [](const std::string& value, const char* fence) {
        return acquire_answer_to("*5\r\n:2\r\n:9\r\n$" + std::to_string(value.size()) + "\r\n" +
                                 value + "\r\n:" + fence + "\r\n:0\r\n")
            .lacks_fence;
    };
    CHECK(lacks_fence(id + "@host:1", "0"));
    CHECK(lacks_fence(id + "@host:1#18446744073709551615", "0"));
    CHECK_FALSE(lacks_fence(id + "@host:1", "7"));
    for (const std::string& other :
         std::vector<std::string>{id, id + ".host:1", "x" + id + "@host:1", "x",
                                  "ABCDEFGHIJKLMNOPQRST+/@host:1", "redlock:shared"}) {
        INFO(other);
        CHECK_FALSE(wire::is_of_our_form(other));
        CHECK_FALSE(lacks_fence(other, "0"));
    }
}

TEST_CASE("an owner value names the owner and the client, and is of our form") {
    owner_id owner;
    owner.bytes.fill(255);
    const auto plain = wire::owner_value(owner, "host:1", std::nullopt);
    CHECK(plain == "_____________________w@host:1");
    const auto given = wire::owner_value(owner, "host:1", 18'446'744'073'709'551'615U);
    CHECK(given == "_____________________w@host:1#18446744073709551615");
    CHECK(wire::is_of_our_form(plain));
    CHECK(wire::is_of_our_form(given));
    CHECK_FALSE(wire::is_kept(given));
    const std::string kept = std::string(given) + "#kept";
    CHECK(wire::is_kept(kept));
    CHECK(wire::is_of_our_form(kept));
    CHECK(wire::without_kept_mark(kept) == given);
    CHECK(wire::without_kept_mark(given) == given);
    CHECK_FALSE(wire::is_kept("#kept"));
    CHECK_FALSE(wire::is_kept("another library's#kept"));
    CHECK_FALSE(wire::is_foreign(wire::shared_marker));
    CHECK_FALSE(wire::is_of_our_form(wire::shared_marker));
}

TEST_CASE("a note stands in the owner value, and shows in no name") {
    owner_id owner;
    owner.bytes.fill(255);
    const auto noted = wire::owner_value(owner, "host:1", 7U, "nightly");
    CHECK(noted == "_____________________w@host:1#7#note=nightly.");
    CHECK(wire::note_of(noted) == "nightly");
    CHECK(wire::raw_note_of(wire::owner_value(owner, "host:1", 7U)).empty());
    CHECK(wire::is_of_our_form(noted));
    const std::string kept = std::string(noted) + "#kept";
    CHECK(wire::is_kept(kept));
    CHECK(wire::without_kept_mark(kept) == noted);
    CHECK(wire::note_of(kept).empty());
    CHECK(wire::abbreviate_owner(noted) == "______...@host:1#7");
    CHECK(wire::abbreviate_owner(kept) == "______...@host:1#7#kept");
}

TEST_CASE("no text of a note confuses a value, and the longest has a bound") {
    owner_id owner;
    for (const std::string_view text : {"#kept", ".#kept", "#note=", ".", "a#note=b.", "x.#note=y.#kept"}) {
        const auto value = wire::owner_value(owner, "host:1", std::nullopt, text);
        CHECK(wire::raw_note_of(value) == text);
        CHECK_FALSE(wire::is_kept(value));
        CHECK(wire::abbreviate_owner(value) == "AAAAAA...@host:1");
    }
    const std::string name(64, 'n');
    const std::string text(max_note_bytes, 't');
    const auto longest =
        wire::owner_value(owner, name, std::numeric_limits<std::uint64_t>::max(), text);
    CHECK(longest.size() + std::string_view("#kept").size() == 376);
    CHECK(longest.size() + std::string_view("#kept").size() < wire::longest_value);
    CHECK(wire::note_of(longest) == text);
    CHECK(wire::raw_note_of("a foreign value#note=text.").empty());
    CHECK(wire::raw_note_of("AAAAAAAAAAAAAAAAAAAAAA@host:1#note=cut off").empty());
}

TEST_CASE("the number of waiters and our place are read from a queue, without the dead") {
    const auto read = [](std::int64_t now_ms) {
        // The first is dead, and the last from before the node's clock went back.
        return with_reply("*4\r\n$7\r\na:1:999\r\n$8\r\nb:1:1001\r\n$8\r\na:2:2000\r\n"
                          "$9\r\nc:1:61001\r\n",
                          [&](const resp::reply& r) { return wire::read_queue(r, "a", now_ms); });
    };
    CHECK(read(1'000).waiting == 2);
    CHECK(read(1'000).place == 2);
    CHECK(read(2'000).waiting == 1);
    CHECK_FALSE(read(2'000).place);
    for (const auto* odd : {"-ERR\r\n", "*1\r\n:7\r\n", "*1\r\n$1\r\n:\r\n", "$-1\r\n",
                            "*1\r\n$24\r\na:1:-9223372036854775808\r\n",
                            "*1\r\n$23\r\na:1:9223372036854775807\r\n"}) {
        INFO(odd);
        const auto answer = with_reply(
            odd, [](const resp::reply& r) { return wire::read_queue(r, "a", 1'000); });
        CHECK(answer.waiting == 0);
    }
}

TEST_CASE("a view has all of a resource, and nothing of what another program wrote") {
    const auto read = [](std::string_view bytes) {
        return with_reply(bytes, [](const resp::reply& r) {
            struct {
                bool is_there;
                std::size_t waiting, readers, count;
                std::vector<std::uint16_t> slots;
            } out{};
            const auto view = wire::read_view(r);
            out.is_there = view.has_value();
            if (!view) return out;
            out.waiting = view->waiting.size();
            out.readers = view->readers.size();
            out.count = view->slot_count;
            for (const auto& slot : view->slots) out.slots.push_back(slot.number);
            return out;
        });
    };
    const auto plain = read("*2\r\n$1\r\nv\r\n:70\r\n");
    CHECK(plain.is_there);
    CHECK((plain.waiting == 0 && plain.readers == 0 && plain.count == 0 && plain.slots.empty()));
    const std::string key = "$1\r\nv\r\n:70\r\n$1\r\n7\r\n";
    const auto all = read("*8\r\n" + key + ":1000\r\n*1\r\n$1\r\nw\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"
                          ":3\r\n*17\r\n$1\r\n2\r\n" + key + "$4\r\n1000\r\n" + key +
                          "$2\r\n-1\r\n" + key + "$3\r\n999\r\n" + key + "$1\r\n1\r\n");
    CHECK(all.waiting == 1);
    CHECK(all.readers == 2);
    CHECK(all.count == 3);
    CHECK(all.slots == std::vector<std::uint16_t>{2, 999});
    CHECK(read("*7\r\n" + key + ":1\r\n*0\r\n*0\r\n:1001\r\n").count == 0);
    for (const auto* odd : {"-NOPERM\r\n", "*1\r\n$1\r\nv\r\n", "$1\r\nv\r\n", "$-1\r\n"}) {
        INFO(odd);
        CHECK_FALSE(read(odd).is_there);
    }
}

TEST_CASE("a look has 16 digits for each key") {
    const auto read = [](std::string_view bytes, std::size_t i, std::size_t count) {
        return with_reply(
            bytes, [&](const resp::reply& r) { return wire::read_look(r, i, count); });
    };
    const std::string_view two = "$32\r\n0000000000000000fedcba98765432ff\r\n";
    CHECK(read(two, 0, 2) == 0);
    CHECK(read(two, 1, 2) == 0xfedcba98765432ffU);
    CHECK_FALSE(read(two, 0, 1));
    CHECK_FALSE(read(two, 0, 3));
    for (const auto* odd : {"-NOPERM\r\n", "*0\r\n", "$-1\r\n", "$16\r\n000000000000000g\r\n",
                            "$16\r\n-000000000000001\r\n", "$0\r\n\r\n"}) {
        INFO(odd);
        CHECK_FALSE(read(odd, 0, 1));
    }
}

TEST_CASE("the lines of runs are read, and words of a later version passed over") {
    const auto runs_of = [](const std::string& text) {
        const std::string bytes = "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
        return with_reply(bytes, [](const resp::reply& r) { return wire::read_runs(r); });
    };
    const std::chrono::system_clock::time_point began{1'000ms};
    const auto read = runs_of("b start=1000\n"
                              "no_start end=5\n"
                              "a later=x start=1000 end=1000 host=h pid=7 fence=9 status=137 signal=9 "
                              "lost=1 pid=\n");
    REQUIRE(read.has_value());
    REQUIRE(read->size() == 2);
    CHECK(read->front().id == "b");
    CHECK_FALSE(read->front().end.has_value());
    const run_record& ended = read->back();
    CHECK(ended.start == began);
    CHECK(ended.end == began);  // it took less than a millisecond
    CHECK(ended.host == "h");
    CHECK(ended.pid == 7);
    CHECK(ended.fence == 9);
    CHECK(ended.status == 137);
    CHECK(ended.signal == 9);
    CHECK(ended.is_lost);
    CHECK(runs_of("")->empty());
    CHECK(with_reply("$-1\r\n", [](const resp::reply& r) { return wire::read_runs(r); })->empty());
    CHECK_FALSE(with_reply("*0\r\n", [](const resp::reply& r) { return wire::read_runs(r); }));
}

TEST_CASE("a run is written as one line of visible words") {
    run_record run{.id = "a b\nc", .start = std::chrono::system_clock::time_point(5ms)};
    run.end = run.start + 2ms;
    run.host = "m\xc3\xa9 " + std::string(100, 'x');
    run.status = 3;
    std::string out;
    wire::write_runs(out, resp::script_form::by_hash, "lock:r", "lock:", run, 30s);
    CHECK(out.find("{lock:r}:last") != out.npos);
    CHECK(out.find("a_b_c start=5 end=7 host=m___" + std::string(60, 'x') + " status=3\r\n") !=
          out.npos);
    CHECK(out.find("\r\n30000\r\n") != out.npos);
    out.clear();
    wire::write_runs(out, resp::script_form::by_hash, "lock:r", "lock:", std::nullopt, 0ms);
    CHECK(out == "*2\r\n$3\r\nGET\r\n$18\r\nlock:{lock:r}:last\r\n");
}

TEST_CASE("a look names the keys as arguments, so that it needs no right to write them") {
    std::string out;
    const std::vector<std::string_view> keys{"p:a", "p:b"};
    wire::write_look(out, resp::script_form::by_hash, keys, "p:", true);
    wire::write_view(out, resp::script_form::by_hash, "p:a", "p:", false);
    const std::vector<std::string> page{"p:a", "p:c"};
    wire::write_forms(out, resp::script_form::by_hash, page);
    std::string expected;
    resp::append_command(expected, {"EVALSHA", resp::look().sha1, "0", "p:", "1", "digests", "p:a", "p:b"});
    resp::append_command(expected, {"EVALSHA", resp::look().sha1, "0", "p:", "0", "all", "p:a"});
    resp::append_command(expected, {"EVALSHA", resp::look().sha1, "0", "", "0", "forms", "p:a", "p:c"});
    CHECK(out == expected);
}
