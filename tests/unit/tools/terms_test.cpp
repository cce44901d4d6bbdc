// What a run asks of its lease; knows no client and no child.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"

#include "tools/formats.hpp"
#include "tools/terms.hpp"

#include <algorithm>
#include <string>

using namespace redlock;
using namespace redlock::tool;
using namespace std::chrono_literals;

namespace {

acquire_options settled(const lease_request& request, const configuration& from = {}) {
    acquire_options out;
    const auto wrong = settle(request, from, out);
    INFO(wrong);
    CHECK(wrong.empty());
    return out;
}

std::string refused(const lease_request& request, const configuration& from = {}) {
    acquire_options out;
    return settle(request, from, out);
}

}  // namespace

TEST_CASE("without a word the lease is of 10 s, with 2 s to end the command in") {
    const auto terms = settled({});
    CHECK(terms.ttl == 10s);
    CHECK(terms.wait == 0ms);
    CHECK(terms.renew);
    CHECK(terms.max_hold == 0ms);
    CHECK(terms.min_hold == 0ms);
    CHECK(terms.loss_margin == 2s);
}

TEST_CASE("a note is passed on, or refused with its bounds") {
    const lease_request request{.note = "nightly \xc3\xbc" "bergabe"};
    CHECK(settled(request).note == request.note);
    CHECK(settled({}).note.empty());
    CHECK(refused({.note = std::string(257, 'n')}) ==
          "--note is longer than 256 bytes: it is one line of UTF-8, of 256 bytes at most");
    CHECK(refused({.note = "a\nb"}).find("--note has a control character") == 0);
}

TEST_CASE("the command line goes before the configuration") {
    configuration from;
    from.defaults = {.ttl = 8s, .wait = 1s, .renew = true, .max_hold = 1min, .loss_margin = 1s};
    auto terms = settled({}, from);
    CHECK(terms.ttl == 8s);
    CHECK(terms.wait == 1s);
    CHECK(terms.max_hold == 1min);
    CHECK(terms.loss_margin == 1s);
    terms =
        settled({.ttl = 4s, .wait = 0ms, .max_hold = 0ms, .margin = 500ms, .no_renew = true}, from);
    CHECK(terms.ttl == 4s);
    CHECK(terms.wait == 0ms);
    CHECK(terms.max_hold == 0ms);
    CHECK(terms.loss_margin == 500ms);
    CHECK_FALSE(terms.renew);
    from.defaults.renew = false;
    CHECK_FALSE(settled({}, from).renew);
}

TEST_CASE("the margin is by default a quarter of what there is") {
    CHECK(settled({.ttl = 1s}).loss_margin == 250ms);
    CHECK(settled({.ttl = 1min}).loss_margin == 2s);
    CHECK(settled({.ttl = 10s, .max_hold = 2s}).loss_margin == 500ms);
    CHECK(settled({.ttl = 10s, .max_hold = 1h}).loss_margin == 2s);
    configuration from;
    from.client.ttl_max = 2s;
    CHECK(settled({}, from).ttl == 2s);
    CHECK(settled({}, from).loss_margin == 500ms);
}

TEST_CASE("a lock is shared where --shared is given, and refused where nodes keep no fences") {
    CHECK(settled({}).mode == lock_mode::exclusive);
    CHECK(settled({.shared = true}).mode == lock_mode::shared);
    configuration from;
    from.client.fencing = false;
    CHECK(refused({}, from).empty());
    CHECK(refused({.shared = true}, from).find("--shared needs fences") != std::string::npos);
}

TEST_CASE("a lock can be kept for longer than its ttl, and for longer than CMD may take") {
    const auto terms = settled({.ttl = 4s, .max_hold = 20s, .min_hold = 50s});
    CHECK(terms.min_hold == 50s);
    CHECK(terms.max_hold == 20s);
    CHECK(settled({.min_hold = 58'198ms}).min_hold == 58'198ms);
    CHECK(refused({.min_hold = 58'199ms}).find("--min-hold") != std::string::npos);
}

TEST_CASE("a --min-hold as long as the period is answered with one that does") {
    for (const auto ttl_max : {60'000ms, 20'000ms, 300ms, 3'600'000ms}) {
        configuration from;
        from.client.ttl_max = ttl_max;
        const std::string why = refused({.min_hold = 23h}, from);
        INFO(why);
        CHECK(why.find("how far the starts of the machines lie apart") != std::string::npos);
        CHECK(why.find("ttl_max") == std::string::npos);
        const auto at = why.rfind("--min-hold ") + 11;
        std::chrono::milliseconds enough{};
        CHECK(parse_duration(why.substr(at, why.find(' ', at) - at), enough).empty());
        CHECK(enough > 0ms);
        CHECK(refused({.min_hold = enough}, from).empty());
    }
}

TEST_CASE("terms that can't be kept are refused with a remedy") {
    CHECK(refused({.ttl = 0ms}).find("longer than 0") != std::string::npos);
    CHECK(refused({.margin = 0ms}).find("longer than 0") != std::string::npos);
    CHECK(refused({.ttl = 61s}).find("leave it out") != std::string::npos);
    CHECK(refused({.ttl = 10s, .margin = 5001ms}).find("half") != std::string::npos);
    CHECK(refused({.ttl = 10s, .margin = 5s}).empty());
    CHECK(refused({.ttl = 1ms}).find("--ttl 1ms is too short") == 0);
    CHECK(refused({.max_hold = 1s, .margin = 1s}).find("--max-hold 1s") != std::string::npos);
    CHECK(refused({.min_hold = 1s, .shared = true}).find("--min-hold is for exclusive") == 0);
}

namespace {

// The duration behind the last "at least" or "at most".
std::chrono::milliseconds bound_in(const std::string& text) {
    const auto at = std::max(text.rfind("at least ") + 9, text.rfind("at most ") + 8);
    std::chrono::milliseconds out{};
    CHECK(parse_duration(text.substr(at, text.find_first_of(" ,;", at) - at), out).empty());
    return out;
}

bool is_in_words_of_options(const std::string& text) { return text.find("_ms") == text.npos; }

}  // namespace

TEST_CASE("a bound that is named holds at its value, and is the last one that does") {
    configuration usual;
    configuration uneven;
    uneven.client.drift_factor = 0.3;
    uneven.client.drift_min = 50ms;
    configuration with_defaults;
    with_defaults.defaults.loss_margin = 3s;
    for (const configuration& from : {usual, uneven, with_defaults}) {
        lease_request request{.ttl = 1ms};
        auto why = refused(request, from);
        INFO(why);
        CHECK(why.find("--ttl 1ms is too short: at least ") == 0);
        CHECK(is_in_words_of_options(why));
        request.ttl = bound_in(why);
        CHECK(refused(request, from).empty());
        *request.ttl -= 1ms;
        CHECK_FALSE(refused(request, from).empty());

        request = {.ttl = 10s, .margin = 9s};
        why = refused(request, from);
        CHECK(why.find("--margin 9s leaves too little of --ttl 10s: at most ") == 0);
        request.margin = bound_in(why);
        CHECK(refused(request, from).empty());
        *request.margin += 1ms;
        CHECK_FALSE(refused(request, from).empty());

        // A wait of more than a year has no limit.
        CHECK(refused({.wait = 1'000'000h}, from).empty());

        request = {.max_hold = 1'000'000h};
        request.max_hold = bound_in(refused(request, from));
        CHECK(refused(request, from).empty());
        *request.max_hold += 1ms;
        CHECK_FALSE(refused(request, from).empty());

        request = {.max_hold = 1ms};
        why = refused(request, from);
        CHECK(why.find("--max-hold 1ms is too short: at least ") == 0);
        CHECK(is_in_words_of_options(why));
        request.max_hold = bound_in(why);
        CHECK(refused(request, from).empty());
        *request.max_hold -= 1ms;
        CHECK_FALSE(refused(request, from).empty());

        why = refuse_ttl(1ms, from.client);
        CHECK(why.find("--ttl 1ms is too short: at least ") == 0);
        CHECK(refuse_ttl(bound_in(why), from.client).empty());
        CHECK_FALSE(refuse_ttl(bound_in(why) - 1ms, from.client).empty());
        CHECK(refuse_ttl(from.client.ttl_max, from.client).empty());
        why = refuse_ttl(from.client.ttl_max + 1ms, from.client);
        CHECK(why.find("--ttl 60001ms is above") == 0);
    }
}

TEST_CASE("where no ttl is long enough that is said") {
    configuration from;
    from.client.ttl_max = 3ms;
    const auto why = refused({}, from);
    CHECK(why.find("and so is the longest that the nodes take, 3ms") != std::string::npos);
}

TEST_CASE("slots are refused beside --shared, and where nodes keep no fences") {
    CHECK(settled({}).slots == 0);
    CHECK(settled({.slots = 7}).slots == 7);
    CHECK(refused({.slots = 7, .shared = true}).find("--slots and --shared") != std::string::npos);
    configuration from;
    from.client.fencing = false;
    CHECK(refused({.slots = 7}, from).find("--slots needs fences") != std::string::npos);
    CHECK(settled({.slots = 7}).permits == 1);
    CHECK(settled({.slots = 7, .permits = 7}).permits == 7);
    CHECK(refused({.slots = 2, .permits = 3}).find("--permits 3 is above --slots 2") !=
          std::string::npos);
    CHECK(refused({.permits = 2}).find("give --slots, too") != std::string::npos);
}
