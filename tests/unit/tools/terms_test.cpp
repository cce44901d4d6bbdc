// What a run asks of its lease; knows no client and no child.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"

#include "tools/terms.hpp"

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

TEST_CASE("a lock is shared where that is asked for, and nodes keep fences") {
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
    CHECK(refused({.min_hold = 58'199ms}).find("ttl_max_ms") != std::string::npos);
}

TEST_CASE("terms that can't be kept are refused with a remedy") {
    CHECK(refused({.ttl = 0ms}).find("longer than 0") != std::string::npos);
    CHECK(refused({.margin = 0ms}).find("longer than 0") != std::string::npos);
    CHECK(refused({.ttl = 61s}).find("ttl_max_ms") != std::string::npos);
    CHECK(refused({.ttl = 10s, .margin = 5001ms}).find("half") != std::string::npos);
    CHECK(refused({.ttl = 10s, .margin = 5s}).empty());
    CHECK(refused({.ttl = 1ms}).find("--ttl 1ms is too short") == 0);
    CHECK(refused({.max_hold = 1s, .margin = 1s}).find("--max-hold 1s") != std::string::npos);
}

TEST_CASE("one of so many slots is held where that is asked for, and nodes keep fences") {
    CHECK(settled({}).slots == 0);
    CHECK(settled({.slots = 7}).slots == 7);
    CHECK(refused({.slots = 7, .shared = true}).find("--slots and --shared") != std::string::npos);
    configuration from;
    from.client.fencing = false;
    CHECK(refused({.slots = 7}, from).find("--slots needs fences") != std::string::npos);
}
