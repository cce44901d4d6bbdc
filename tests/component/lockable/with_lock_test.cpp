// Sections and guards of a blocking client, on masters in memory: how each of their ends is reported,
// and what stays on the nodes; knows no internals.
// SPDX-License-Identifier: MIT
#include <redlock/with_lock.hpp>

#include "component/support/passing_time.hpp"
#include "support/catch.hpp"
#include "support/has_text.hpp"

#include <redlock/event.hpp>
#include <redlock/guard.hpp>

#include <boost/system/errc.hpp>

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

using namespace redlock;
using namespace redlock::testing;

namespace {

/// Nobody holds "r" any more, as soon as the releases that are on their way have arrived.
bool becomes_free(masters& nodes) {
    return pass_until(nodes, [&] { return is_untouched(nodes, "r"); });
}

}  // namespace

static_assert(!std::is_move_constructible_v<guard> && !std::is_copy_constructible_v<guard>);
static_assert(
    std::is_nothrow_constructible_v<guard, blocking_client&, std::string, acquire_options>);
static_assert(std::is_nothrow_destructible_v<guard>);

TEST_CASE_METHOD(one_client, "a section returns what its function returns, and releases the lock",
                 "[with_lock]") {
    const result<int, refusal> value =
        with_lock(client, "r", {.ttl = 5s}, [&](const lease& held, std::stop_token lost) {
            CHECK(held);
            CHECK(lost.stop_possible());
            CHECK_FALSE(lost.stop_requested());
            return static_cast<int>(nodes.holding("r"));
        });
    REQUIRE(value.has_value());
    CHECK(*value == 3);
    CHECK(is_untouched(nodes, "r"));
    std::uint64_t fence = 0;
    const result<void, refusal> nothing = with_lock(
        client, "r", [&](const lease& held, const std::stop_token&) { fence = held.fence(); });
    CHECK(nothing.has_value());
    CHECK(fence > 0);
    const auto moved = with_lock(client, "r", [](const lease&, std::stop_token) {
        return std::make_unique<int>(4);
    });
    CHECK(**moved == 4);
    const result<refusal, refusal> odd =
        with_lock(client, "r", [](const lease&, std::stop_token) { return refusal{errc::lost, {}}; });
    CHECK(odd.has_value());
    const auto both = with_lock(client, resource_list("r", "s"), {},
                                [](const lease& held, std::stop_token) {
                                    return held.resources().size();
                                });
    CHECK(both.value() == 2);
    CHECK(is_untouched(nodes, "r"));
    CHECK(is_untouched(nodes, "s"));
}

TEST_CASE_METHOD(one_client, "a section without a lock says why, and its function is not called",
                 "[with_lock]") {
    bool is_called = false;
    const auto f = [&](const lease&, std::stop_token) { is_called = true; };
    nodes.occupy("r", 1h);
    const auto contended = with_lock(client, "r", f);
    REQUIRE(contended.has_error());
    CHECK(contended.error() == errc::contended);
    CHECK(contended.error().votes.size() == 3);
    CHECK(has_text(contended.error().message(), "0 of 3 nodes granted"));
    CHECK(with_lock(client, "", f).error() == errc::invalid_argument);
    REQUIRE(client.close().has_value());
    CHECK(with_lock(client, "r", f).error() == errc::client_closed);
    CHECK_FALSE(is_called);
}

TEST_CASE_METHOD(one_client, "an exception of the function passes through after the release",
                 "[with_lock]") {
    const bool is_lost = GENERATE(false, true);
    try {
        static_cast<void>(with_lock(client, "r", [&](const lease&, const std::stop_token& lost) {
            if (is_lost) CHECK(lose(nodes, "r", lost));
            throw std::out_of_range("sold out");
        }));
        FAIL("it returned");
    } catch (const std::out_of_range& e) {
        CHECK(e.what() == std::string("sold out"));
        CHECK(nodes.holding("r") <= 1);  // a quorum has answered the release
    }
    CHECK(becomes_free(nodes));
}

TEST_CASE_METHOD(one_client, "a lost section is an error, whatever its function returned",
                 "[with_lock]") {
    SECTION("taken") {
        const auto done =
            with_lock(client, "r", {.ttl = 3s}, [&](const lease& held, const std::stop_token& lost) {
                CHECK(lose(nodes, "r", lost));
                CHECK_FALSE(held);
                return 1;
            });
        REQUIRE(done.has_error());
        CHECK(done.error() == errc::lost);
        CHECK(done.error().detail.starts_with("taken: "));
        CHECK(has_text(done.error().message(), "taken"));
    }
    SECTION("unreachable") {
        const auto done =
            with_lock(client, "r", {.ttl = 3s}, [&](const lease&, const std::stop_token& lost) {
                nodes.shut_down(0);
                nodes.shut_down(1);
                CHECK(pass_until(nodes, [&] { return lost.stop_requested(); }));
                nodes.resume(0);
                nodes.resume(1);
            });
        REQUIRE(done.has_error());
        CHECK(done.error() == errc::lost);
        CHECK(done.error().detail.starts_with("unreachable: "));
    }
    SECTION("held for too long") {
        const auto done =
            with_lock(client, "r", {.max_hold = 9s}, [&](const lease&, const std::stop_token& lost) {
                CHECK(pass_until(nodes, [&] { return lost.stop_requested(); }));
            });
        REQUIRE(done.has_error());
        CHECK(done.error().detail.starts_with("max_hold: "));
    }
    SECTION("stalled") {
        const auto done = with_lock(client, "r", {.ttl = 3s, .watchdog = 5s},
                                    [&](const lease& held, const std::stop_token& lost) {
                                        for (int i = 0; i < 30; ++i) {
                                            nodes.advance(1s);
                                            held.touch();
                                        }
                                        CHECK_FALSE(lost.stop_requested());
                                        CHECK(pass_until(nodes, [&] { return lost.stop_requested(); }));
                                    });
        REQUIRE(done.has_error());
        CHECK(done.error() == errc::lost);
        CHECK(done.error().detail.starts_with("stalled: "));
    }
    SECTION("not renewed") {
        const auto done = with_lock(client, "r", {.ttl = 3s, .renew = false},
                                    [&](const lease&, const std::stop_token& lost) {
                                        CHECK(pass_until(nodes, [&] { return lost.stop_requested(); }));
                                    });
        REQUIRE(done.has_error());
        CHECK(done.error().detail.starts_with("expired: "));
    }
    SECTION("seen at the release only") {
        const auto done = with_lock(client, "r", [&](const lease& held, std::stop_token) {
            nodes.vacate("r");
            CHECK(held);
        });
        REQUIRE(done.has_error());
        CHECK(done.error() == errc::lost);
        CHECK(has_text(done.error().detail, "at the release"));
    }
    SECTION("by the end of the client") {
        const auto done = with_lock(client, "r", [&](const lease& held, std::stop_token lost) {
            CHECK(client.close().has_value());
            CHECK_FALSE(held);
            CHECK(lost.stop_requested());
        });
        REQUIRE(done.has_error());
        CHECK(done.error() == errc::client_closed);
    }
    CHECK(becomes_free(nodes));
}

TEST_CASE_METHOD(one_client, "a section whose release reaches no quorum has succeeded",
                 "[with_lock]") {
    {
        std::optional<passing_time> time;
        const auto done = with_lock(client, "r", [&](const lease&, std::stop_token) {
            nodes.hang(0);
            nodes.hang(1);
            time.emplace(nodes);
            return 1;
        });
        REQUIRE(done.has_value());
        CHECK(*done == 1);
    }
    nodes.resume(0);
    nodes.resume(1);
    CHECK(becomes_free(nodes));
}

TEST_CASE("a section in the client's own thread would wait for itself", "[with_lock]") {
    masters nodes;
    auto options = nodes.options();
    blocking_client* user = nullptr;
    std::promise<error_code> seen;
    std::atomic<bool> is_first = true;
    options.on_event = [&](const event& e) {
        if (e.kind != event_kind::released || !is_first.exchange(false)) return;
        seen.set_value(with_lock(*user, "s", [](const lease&, std::stop_token) {}).error().code);
    };
    blocking_client client(options);
    user = &client;
    CHECK(with_lock(client, "r", [](const lease&, std::stop_token) {}).has_value());
    CHECK(seen.get_future().get() == errc::would_deadlock);
}

TEST_CASE_METHOD(one_client, "a guard holds the lock for its scope", "[guard]") {
    {
        const guard held(client, "r");
        REQUIRE(held);
        CHECK(held.held());
        CHECK(held.fence() > 0);
        CHECK(held.lost_token().stop_possible());
        CHECK_FALSE(held.why().code);
        CHECK(nodes.holding("r") == 3);
        const guard second(client, "r");
        CHECK_FALSE(second);
        CHECK(second.why() == errc::contended);
        CHECK(second.why().votes.size() == 3);
        CHECK(second.fence() == 0);
        CHECK_FALSE(second.lost_token().stop_possible());
    }
    CHECK(becomes_free(nodes));
    CHECK(guard(client, "").why() == errc::invalid_argument);
}

TEST_CASE_METHOD(one_client, "a guard is released before its scope ends, and says whether it held",
                 "[guard]") {
    SECTION("that it held until then") {
        guard held(client, "r");
        REQUIRE(held);
        CHECK(held.release());
        CHECK(is_untouched(nodes, "r"));
        CHECK_FALSE(held);
        CHECK(held.why() == errc::not_held);
        CHECK_FALSE(held.release());
        CHECK(held.why() == errc::not_held);
    }
    SECTION("that it was lost") {
        guard held(client, "r", {.ttl = 3s});
        CHECK(lose(nodes, "r", held.lost_token()));
        CHECK_FALSE(held.release());
        CHECK(held.why() == errc::lost);
        CHECK(held.why().detail.starts_with("taken: "));
    }
    SECTION("that it was never acquired") {
        guard held(client, "");
        CHECK_FALSE(held.release());
        CHECK(held.why() == errc::invalid_argument);
    }
}

TEST_CASE_METHOD(one_client, "a stop ends the wait of a guard and of a section",
                 "[guard][with_lock]") {
    const auto mine = client.acquire("r");
    REQUIRE(mine.has_value());
    std::stop_source stop;
    const auto wait_of_guard = [&] {
        return guard(client, "r", {.wait = 1h}, stop.get_token()).why().code;
    };
    const auto wait_of_section = [&] {
        return with_lock(client, "r", {.wait = 1h}, [](const lease&, std::stop_token) {},
                         stop.get_token())
            .error()
            .code;
    };
    auto waiting = GENERATE(true, false) ? std::async(std::launch::async, wait_of_guard)
                                         : std::async(std::launch::async, wait_of_section);
    REQUIRE(pass_until(nodes, [&] { return nodes.waiting("r") == 1; }));
    stop.request_stop();
    CHECK(waiting.get() == boost::system::errc::operation_canceled);
    CHECK(with_lock(client, resource_list("r", "s"), {.wait = 1h},
                    [](const lease&, std::stop_token) {}, stop.get_token())
              .error()
              .code == boost::system::errc::operation_canceled);
}

TEST_CASE_METHOD(one_client, "a guard that lost its lock says why, and its scope ends as usual",
                 "[guard]") {
    SECTION("taken") {
        const guard held(client, "r", {.ttl = 3s});
        const auto fence = held.fence();
        REQUIRE(held);
        CHECK(lose(nodes, "r", held.lost_token()));
        CHECK_FALSE(held);
        CHECK(held.why() == errc::lost);
        CHECK(held.why().detail.starts_with("taken: "));
        CHECK(held.fence() == fence);
    }
    SECTION("seen by the clock before the client reports it") {
        const guard held(client, "r", {.ttl = 3s, .renew = false});
        CHECK(pass_until(nodes, [&] { return !held.held(); }));
        CHECK(held.why() == errc::lost);
        CHECK(held.why().detail.starts_with("expired: "));
    }
    SECTION("the client was closed") {
        const guard held(client, "r");
        REQUIRE(held);
        REQUIRE(client.close().has_value());
        CHECK_FALSE(held);
        CHECK(held.why() == errc::client_closed);
    }
    SECTION("with an exception on its way") {
        CHECK_THROWS_AS(([&] {
                            const guard held(client, "r", {.ttl = 3s});
                            CHECK(lose(nodes, "r", held.lost_token()));
                            throw std::out_of_range("sold out");
                        }()),
                        std::out_of_range);
    }
    CHECK(becomes_free(nodes));
}
