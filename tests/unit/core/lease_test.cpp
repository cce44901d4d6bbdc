// The life of a lease from grant to loss: its fence, its renewals, and what it left on the nodes.
// SPDX-License-Identifier: MIT
#include "core/lease.hpp"

#include "value/options.hpp"

#include "tests/support/catch.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

// The life of a lease: when it is renewed, and that its loss is reported before the validity ends.
namespace renewal_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::renewal;
using action = core::renewal::action;

namespace {

constexpr time_point start = time_point(72h);
constexpr std::uint64_t all_ones = std::numeric_limits<std::uint64_t>::max();

renewal nine_seconds() { return renewal(start, start + 8900ms, {.ttl = 9s}); }

// The last instant not after `t` that a power of two nanoseconds divides.
time_point on_grid(time_point t, int power) {
    return time_point(duration(t.time_since_epoch().count() >> power << power));
}

// The third of 9 s comes on a grid of 2^29 ns: the largest power of two in a twelfth of it.
time_point third_of_nine(time_point sent) { return on_grid(sent + 3s, 29); }

}  // namespace

TEST_CASE("a lease is renewed within the twelfth of the ttl that ends at a third, once") {
    renewal h = nine_seconds();
    const time_point at = third_of_nine(start);
    CHECK(at > start + 2250ms);
    CHECK(h.deadline() == at);
    CHECK(h.on_time(at - 1ns) == action::none);
    CHECK(h.on_time(at) == action::renew);
    CHECK(h.on_time(at) == action::none);
    CHECK(h.on_time(start + 4s) == action::none);
    CHECK(h.deadline() == h.report_at());
}

TEST_CASE("leases of one ttl that were granted at about the same time are renewed together") {
    std::vector<time_point> instants;
    for (int ms = 0; ms < 9000; ++ms) {
        const time_point sent = start + ms * 1ms;
        const renewal h(sent, redlock::valid_until(sent, 9s, {}), {.ttl = 9s});
        const duration after = h.deadline() - sent;
        if (after <= 2250ms || after > 3s) REQUIRE(after == 0ns);
        if (instants.empty() || instants.back() != h.deadline()) instants.push_back(h.deadline());
    }
    CHECK(instants.size() <= 18);  // 9 s have 16.8 times 2^29 ns
    CHECK(std::is_sorted(instants.begin(), instants.end()));
}

TEST_CASE("the leases of a client that has few are renewed together") {
    for (const std::uint64_t leases : {1U, 1'023U, 1'024U}) {
        renewal h = nine_seconds();
        h.spread(leases, all_ones);
        CHECK(h.deadline() == third_of_nine(start));
    }
}

TEST_CASE("one of many leases is renewed once at its place, and then when a third has passed") {
    std::mt19937_64 random(12);
    for (const std::uint64_t leases : {1'025U, 4'000U, 100'000U, 4'000'000'000U}) {
        for (int i = 0; i < 1'000; ++i) {
            const std::uint64_t place = random();
            renewal h = nine_seconds();
            h.spread(leases, place);
            REQUIRE(h.deadline() > start);
            REQUIRE(h.deadline() <= start + 3s);
            for (int n = 0; n < 3; ++n) {
                const time_point due = h.deadline();
                const time_point sent = due + duration(random() % 1'000'000);
                REQUIRE(h.on_time(sent) == action::renew);
                h.extended(sent, sent + 8900ms, {});
                h.spread(leases, place);
                REQUIRE(h.deadline() == due + 3s);
            }
        }
    }
}

TEST_CASE("a lease that its holder extends is renewed no more often than once in its time") {
    std::mt19937_64 random(14);
    for (int i = 0; i < 1'000; ++i) {
        const std::uint64_t place = random();
        renewal h = nine_seconds();
        int renewals = 0;
        time_point now = start;
        for (int n = 0; n < 100; ++n) {
            now += duration(random() % 500'000'000);
            if (h.deadline() <= now) {
                REQUIRE(h.on_time(now) == action::renew);
                ++renewals;
            }
            h.extended(now, now + 8900ms, 9s);
            h.spread(100'000, place);
            REQUIRE(h.deadline() > now);
            REQUIRE(h.deadline() <= now + 3s);
        }
        REQUIRE(renewals <= (now - start) / 3s + 1);
    }
}

TEST_CASE("to spread leases moves no renewal that is under way, failed, or not wanted") {
    renewal h = nine_seconds();
    REQUIRE(h.on_time(start + 3s) == action::renew);
    h.spread(100'000, all_ones);
    CHECK(h.deadline() == h.report_at());
    h.renewal_failed(errc::no_quorum, start + 3s, 0);
    const time_point again = h.deadline();
    h.spread(100'000, all_ones);
    CHECK(h.deadline() == again);
    for (const auto& terms :
         {renewal::terms{.ttl = 9s, .renew = false}, renewal::terms{.ttl = 9s, .max_hold = 5s}}) {
        renewal unrenewed(start, start + 8900ms, terms);
        const time_point loss = unrenewed.deadline();
        unrenewed.spread(100'000, all_ones);
        CHECK(unrenewed.deadline() == loss);
    }
}

TEST_CASE("many leases that were granted together are renewed in a trickle of small groups") {
    constexpr std::size_t leases = 20'000;
    std::vector<renewal> held;
    for (std::size_t i = 0; i < leases; ++i) {
        held.push_back(nine_seconds());
        held.back().spread(leases, renewal::place_of(i));
    }
    std::map<time_point, std::size_t> groups;
    for (std::size_t i = 0; i < leases; ++i) {
        renewal& h = held[i];
        while (h.deadline() < start + 60s) {
            const time_point now = h.deadline();
            ++groups[now];
            REQUIRE(h.on_time(now) == action::renew);
            h.extended(now, now + 8900ms, {});
            h.spread(leases, renewal::place_of(i));
        }
    }
    std::vector<std::size_t> in_second(60);
    std::size_t largest = 0;
    for (const auto& [at, size] : groups) {
        in_second[static_cast<std::size_t>((at - start) / 1s)] += size;
        largest = std::max(largest, size);
    }
    // Some 6,667 are due in each second, in groups of 64 or 128.
    for (const std::size_t in_this : in_second) {
        CHECK(in_this >= 6'200);
        CHECK(in_this <= 7'200);
    }
    CHECK(largest <= 2 * renewal::group);
}

TEST_CASE("no lease is renewed before its round was sent or over and over however it was made") {
    std::mt19937_64 random(11);
    const auto part_of = [&](duration d) {
        return duration(static_cast<duration::rep>(
            random() % static_cast<std::uint64_t>(std::max<duration>(d, 1ns).count())));
    };
    for (int i = 0; i < 50'000; ++i) {
        const duration ttl = i % 3 == 0 ? 1ms + part_of(20ms) : 10ms + part_of(60s);
        const time_point sent = start + part_of(1h);
        const time_point until = redlock::valid_until(sent, ttl, {0.01, 0ns});
        const duration margin = i % 2 == 0 ? 0ns : part_of(until - sent);
        const time_point granted = sent + (i % 5 == 0 ? part_of(until - sent) : 0ns);
        const renewal h(granted, until, {.ttl = ttl, .loss_margin = margin});
        if (h.report_at() <= granted) continue;  // it is not handed out
        const duration room = std::min(ttl / 3, (h.report_at() - granted) / 3 * 2);
        const duration after = h.deadline() - granted;
        const bool good = after >= room / 4 * 3 && after <= room;
        if (good) continue;
        INFO("ttl " << ttl.count() << ", margin " << margin.count() << ", granted after "
                    << (granted - sent).count() << ", renewed after " << after.count());
        REQUIRE(good);
    }
}

TEST_CASE("a long margin makes renewals frequent and not incessant") {
    // 98 ms are left between the sending of a round and the report of the loss.
    renewal h(start, start + 9898ms, {.ttl = 10s, .loss_margin = 9800ms});
    time_point now = start;
    int renewals = 0;
    while (now < start + 10s) {
        now = h.deadline();
        REQUIRE(h.on_time(now) == action::renew);
        REQUIRE(++renewals < 250);
        h.extended(now, now + 9898ms, 10s);
    }
    CHECK(renewals > 100);
}

TEST_CASE("a renewal moves the validity and the next renewal on from its sending") {
    renewal h = nine_seconds();
    REQUIRE(h.on_time(start + 3s) == action::renew);
    h.extended(start + 3s, start + 11900ms, 9s);
    CHECK(h.valid_until() == start + 11900ms);
    const time_point next = third_of_nine(start + 3s);
    CHECK(h.deadline() == next);
    CHECK(h.on_time(next - 1ns) == action::none);
    CHECK(h.on_time(next) == action::renew);
}

TEST_CASE("the loss is reported ahead of the end, by 5 ms or a twentieth of a short ttl") {
    CHECK(nine_seconds().report_at() == start + 8895ms);
    CHECK(renewal(start, start + 95ms, {.ttl = 100ms}).report_at() == start + 90ms);
    CHECK(renewal(start, start + 35ms, {.ttl = 40ms}).report_at() == start + 33ms);
    CHECK(renewal(start, start + 900us, {.ttl = 1ms}).report_at() == start + 850us);
}

TEST_CASE("a given loss_margin counts when it is the longer one") {
    const auto report_at = [](duration margin) {
        return renewal(start, start + 8900ms, {.ttl = 9s, .loss_margin = margin}).report_at();
    };
    CHECK(report_at(0ms) == start + 8895ms);
    CHECK(report_at(4ms) == start + 8895ms);
    CHECK(report_at(5ms) == start + 8895ms);
    CHECK(report_at(6ms) == start + 8894ms);
    CHECK(report_at(2s) == start + 6900ms);
}

TEST_CASE("the loss is reported at its instant to the nanosecond, and once") {
    renewal h(start, start + 8900ms, {.ttl = 9s, .renew = false});
    CHECK(h.deadline() == start + 8895ms);
    CHECK(h.on_time(start + 8895ms - 1ns) == action::none);
    CHECK_FALSE(h.is_lost());
    CHECK(h.on_time(start + 8895ms) == action::lost);
    CHECK(h.is_lost());
    CHECK(h.reason() == loss::expired);
    CHECK(h.deadline() == time_point::max());
    CHECK(h.on_time(start + 9s) == action::none);
    CHECK(h.on_time(time_point::max()) == action::none);
}

TEST_CASE("a lease that is lost stays lost") {
    renewal h = nine_seconds();
    REQUIRE(h.on_time(start + 1h) == action::lost);
    h.extended(start + 1h, start + 2h, 9s);
    CHECK(h.is_lost());
    CHECK(h.valid_until() == start + 8900ms);
    CHECK(h.deadline() == time_point::max());
    CHECK(h.renewal_failed(errc::not_held, start + 1h, 0) == action::none);
    CHECK(h.reason() == loss::expired);
    CHECK(h.deadline() == time_point::max());
}

TEST_CASE("a lease that is not to be renewed is not, also after the holder extended it") {
    renewal h(start, start + 8900ms, {.ttl = 9s, .renew = false});
    h.extended(start + 5s, start + 13900ms, 9s);
    CHECK(h.deadline() == start + 13895ms);
    CHECK(h.on_time(start + 9s) == action::none);
    CHECK(h.on_time(h.deadline()) == action::lost);
    CHECK(h.reason() == loss::expired);
}

TEST_CASE("a pause beyond the validity is an expiry where no renewal was under way") {
    renewal h = nine_seconds();
    CHECK(h.on_time(start + 1h) == action::lost);
    CHECK(h.reason() == loss::expired);
}

TEST_CASE("a renewal without an answer ends as unreachable") {
    renewal h = nine_seconds();
    REQUIRE(h.on_time(h.deadline()) == action::renew);
    CHECK(h.on_time(h.deadline()) == action::lost);
    CHECK(h.reason() == loss::unreachable);
}

TEST_CASE("renewals that fail until the end are unreachable, whatever they failed with") {
    const error_code aborted = boost::asio::error::operation_aborted;
    for (const error_code why : {error_code(errc::no_quorum), error_code(errc::lost), aborted,
                                 error_code(errc::validity_exhausted)}) {
        renewal h = nine_seconds();
        time_point now = start;
        int renewals = 0;
        for (;;) {
            REQUIRE(h.deadline() > now);
            REQUIRE(h.deadline() <= h.report_at());
            now = h.deadline();
            const action a = h.on_time(now);
            if (a == action::lost) break;
            REQUIRE(a == action::renew);
            ++renewals;
            REQUIRE(h.renewal_failed(why, now, all_ones) == action::none);
        }
        CHECK(now == start + 8895ms);
        CHECK(h.reason() == loss::unreachable);
        CHECK(renewals >= 7);
        CHECK(renewals <= 20);
    }
}

TEST_CASE("a renewal that succeeds clears the failures before it") {
    renewal h = nine_seconds();
    REQUIRE(h.on_time(start + 3s) == action::renew);
    h.renewal_failed(errc::no_quorum, start + 3s, 0);
    REQUIRE(h.on_time(h.deadline()) == action::renew);
    h.extended(start + 4s, start + 12900ms, 9s);
    CHECK(h.on_time(start + 1h) == action::lost);
    CHECK(h.reason() == loss::expired);
}

TEST_CASE("a quorum of denials ends the lease at once, whichever sent the extension") {
    SECTION("the renewal") {
        renewal h = nine_seconds();
        REQUIRE(h.on_time(start + 3s) == action::renew);
        CHECK(h.renewal_failed(errc::not_held, start + 3s, 0) == action::lost);
        CHECK(h.reason() == loss::taken);
        CHECK(h.deadline() == time_point::max());
    }
    SECTION("the holder") {
        renewal h(start, start + 8900ms, {.ttl = 9s, .renew = false, .max_hold = 2s});
        CHECK(h.renewal_failed(errc::not_held, start + 1s, 0) == action::lost);
        CHECK(h.reason() == loss::taken);
    }
}

TEST_CASE("a failed renewal is tried again after a bounded and growing back-off") {
    const auto delays = [](duration ttl, std::uint64_t random) {
        renewal h(start, start + 240h, {.ttl = ttl});
        std::vector<duration> out;
        for (int i = 0; i < 40; ++i) {
            h.renewal_failed(errc::no_quorum, start + 1h, random);
            out.push_back(h.deadline() - (start + 1h));
        }
        return out;
    };
    const auto check = [&](duration ttl, std::vector<duration> longest) {
        longest.resize(40, longest.back());
        const auto least = delays(ttl, 0);
        const auto some = delays(ttl, all_ones);
        const auto more = delays(ttl, 0x9e3779b97f4a7c15);
        for (std::size_t i = 0; i < 40; ++i) {
            INFO("failure " << i << ", ttl " << ttl.count() << " ns");
            CHECK(least[i] == longest[i] / 2);
            CHECK(some[i] >= longest[i] / 2);
            CHECK(some[i] <= longest[i]);
            CHECK(more[i] >= longest[i] / 2);
            CHECK(more[i] <= longest[i]);
            const auto most = static_cast<std::uint64_t>((longest[i] / 2).count());
            CHECK(delays(ttl, most)[i] == longest[i]);
            CHECK(delays(ttl, most + 1)[i] == longest[i] / 2);
        }
    };
    check(10s, {200ms, 400ms, 800ms, 1s});
    check(100ms, {2ms, 4ms, 8ms, 10ms});
    check(20ms, {1ms, 2ms});
    check(1ms, {1ms});
}

TEST_CASE("the back-off begins again after a success") {
    renewal h(start, start + 240h, {.ttl = 10s});
    for (int i = 0; i < 5; ++i) h.renewal_failed(errc::no_quorum, start, 0);
    CHECK(h.deadline() == start + 500ms);
    h.extended(start, start + 241h, 10s);
    h.renewal_failed(errc::no_quorum, start, 0);
    CHECK(h.deadline() == start + 100ms);
}

TEST_CASE("a retry never waits beyond the loss") {
    renewal h = nine_seconds();
    REQUIRE(h.on_time(start + 3s) == action::renew);
    h.renewal_failed(errc::no_quorum, start + 8894ms, all_ones);
    CHECK(h.deadline() == start + 8895ms);
    CHECK(h.on_time(h.deadline()) == action::lost);
    CHECK(h.reason() == loss::unreachable);
}

TEST_CASE("an extension never moves the validity back") {
    renewal h = nine_seconds();
    h.extended(start + 1s, start + 2s, 1s);
    CHECK(h.valid_until() == start + 8900ms);
    h.extended(start + 2s, start + 8900ms - 1ns, 9s);
    CHECK(h.valid_until() == start + 8900ms);
    h.extended(start + 2s, start + 8900ms + 1ns, 9s);
    CHECK(h.valid_until() == start + 8900ms + 1ns);
}

TEST_CASE("renewal keeps the ttl to which the holder extended") {
    renewal h = nine_seconds();
    h.extended(start + 1s, start + 30s, 30s);
    CHECK(h.ttl() == 30s);
    CHECK(h.deadline() == on_grid(start + 11s, 31));
}

TEST_CASE("a round that was sent before the holder's extension does not undo its ttl") {
    renewal h = nine_seconds();
    REQUIRE(h.on_time(start + 3s) == action::renew);
    h.extended(start + 4s, start + 33700ms, 30s);  // the holder's, sent second, answered first
    h.extended(start + 3s, start + 11900ms, {});   // the renewal's own
    CHECK(h.valid_until() == start + 33700ms);
    CHECK(h.ttl() == 30s);
}

TEST_CASE("a renewal that crosses the holder's extension leaves its ttl, in whatever order") {
    for (const duration ttl : {duration(30s), duration(2s)}) {
        for (const duration renewed_after : {duration(-1s), duration(0ns), duration(1s)}) {
            for (const bool is_renewal_first : {true, false}) {
                renewal h = nine_seconds();
                REQUIRE(h.on_time(start + 3s) == action::renew);
                const time_point sent = start + 3s;
                const auto renewed = [&] {
                    h.extended(sent + renewed_after, sent + renewed_after + 8900ms, {});
                };
                if (is_renewal_first) renewed();
                h.extended(sent, sent + ttl - 100ms, ttl);
                if (!is_renewal_first) renewed();
                CHECK(h.ttl() == ttl);
                const duration longest = std::max(ttl - 100ms, renewed_after + 8900ms);
                CHECK(h.valid_until() == sent + longest);
                // From the last that was sent, for the ttl that the holder wants.
                const time_point last = sent + std::max(renewed_after, duration(0ns));
                CHECK(h.deadline() <= last + ttl / 3);
                CHECK(h.deadline() >= last + ttl / 4);
            }
        }
    }
}

TEST_CASE("of two extensions by the holder that cross the one sent last sets the ttl") {
    renewal h = nine_seconds();
    h.extended(start + 2s, start + 21700ms, 20s);
    h.extended(start + 1s, start + 30700ms, 30s);
    CHECK(h.ttl() == 20s);
    CHECK(h.valid_until() == start + 30700ms);
}

TEST_CASE("an extension by the holder that failed leaves the ttl") {
    renewal h = nine_seconds();
    h.renewal_failed(errc::no_quorum, start + 1s, 0);
    CHECK(h.ttl() == 9s);
    h.extended(start + 2s, start + 10900ms, {});
    CHECK(h.ttl() == 9s);
}

TEST_CASE("the validity never passes grant + max_hold") {
    SECTION("from the beginning") {
        renewal h(start, start + 8900ms, {.ttl = 9s, .max_hold = 5s});
        CHECK(h.valid_until() == start + 5s);
        CHECK(h.deadline() == start + 4995ms);
        CHECK(h.on_time(start + 4995ms - 1ns) == action::none);
        CHECK(h.on_time(start + 4995ms) == action::lost);
        CHECK(h.reason() == loss::max_hold);
    }
    SECTION("by renewal") {
        renewal h(start, start + 8900ms, {.ttl = 9s, .max_hold = 10s});
        REQUIRE(h.on_time(start + 3s) == action::renew);
        h.extended(start + 3s, start + 11900ms, 9s);
        CHECK(h.valid_until() == start + 10s);
        CHECK(h.deadline() == start + 9995ms);
        CHECK(h.on_time(start + 9s) == action::none);
        CHECK(h.on_time(start + 9995ms) == action::lost);
        CHECK(h.reason() == loss::max_hold);
    }
    SECTION("by the holder") {
        renewal h(start, start + 8900ms, {.ttl = 9s, .renew = false, .max_hold = 10s});
        h.extended(start + 1s, start + 31s, 30s);
        CHECK(h.valid_until() == start + 10s);
        CHECK(h.on_time(h.deadline()) == action::lost);
        CHECK(h.reason() == loss::max_hold);
    }
    SECTION("to the nanosecond") {
        const renewal below(start, start + 5s - 1ns, {.ttl = 9s, .max_hold = 5s});
        CHECK(below.deadline() == third_of_nine(start));
        const renewal exactly(start, start + 5s, {.ttl = 9s, .max_hold = 5s});
        CHECK(exactly.deadline() == start + 4995ms);
    }
}

TEST_CASE("a lease is renewed as long as its holder gives signs of life, and then lost") {
    renewal h(start, start + 8900ms, {.ttl = 9s, .watchdog = 4s});
    REQUIRE(h.on_time(third_of_nine(start)) == action::renew);
    h.extended(third_of_nine(start), start + 11s, {});
    CHECK(h.deadline() == start + 4s);  // the grant counts as the first sign
    h.touched(start + 3500ms);
    h.touched(start + 3s);  // a thread that was slow
    CHECK(h.on_time(start + 4s) == action::none);
    const time_point second = h.deadline();
    CHECK(second < start + 7500ms);
    REQUIRE(h.on_time(second) == action::renew);
    CHECK(h.deadline() == start + 7500ms);  // also while a round is under way
    h.extended(second, start + 14s, {});
    CHECK(h.on_time(start + 7500ms - 1ns) == action::none);
    REQUIRE(h.on_time(start + 7500ms) == action::lost);
    CHECK(h.reason() == loss::stalled);
    CHECK(h.valid_until() == start + 14s);  // until then its keys stay
    CHECK(h.deadline() == time_point::max());
}

TEST_CASE("a sign of life brings no lost lease back") {
    renewal h(start, start + 8900ms, {.ttl = 9s, .watchdog = 1s});
    REQUIRE(h.on_time(start + 1s) == action::lost);
    h.touched(start + 1s);
    h.extended(start + 500ms, start + 9400ms, {});
    CHECK(h.is_lost());
    CHECK(h.reason() == loss::stalled);
    CHECK(h.on_time(start + 3s) == action::none);
    CHECK(h.valid_until() == start + 8900ms);
}

TEST_CASE("of a validity and a watchdog the one that is over first names the loss") {
    const auto reason = [](duration watchdog, time_point now) {
        renewal h(start, start + 8900ms, {.ttl = 9s, .loss_margin = 900ms, .watchdog = watchdog});
        REQUIRE(h.on_time(third_of_nine(start)) == action::renew);  // and is not answered
        REQUIRE(h.on_time(now) == action::lost);
        return h.reason();
    };
    CHECK(reason(8s - 1ns, start + 8s) == loss::stalled);
    CHECK(reason(8s, start + 8s) == loss::unreachable);
    CHECK(reason(9s, start + 8s) == loss::unreachable);
    CHECK(reason(9s, start + 20s) == loss::unreachable);  // by a timer that is late
    CHECK(reason(5s, start + 20s) == loss::stalled);
}

TEST_CASE("without a watchdog no sign of life is needed, and none matters") {
    renewal h = nine_seconds();
    h.touched(start - 1h);
    CHECK(h.deadline() == third_of_nine(start));
    CHECK(h.on_time(start + 8895ms - 1ns) == action::renew);
}

TEST_CASE("a holder gives no sign of life while its own clock stands still") {
    renewal h(start, start + 8900ms, {.ttl = 9s, .watchdog = 4s});
    h.touched(start + 1s);
    h.shorten(2s);
    CHECK(h.on_time(start + 3s - 1ns) != action::lost);
    REQUIRE(h.on_time(start + 3s) == action::lost);
    CHECK(h.reason() == loss::stalled);
}

TEST_CASE("before the cap is reached a loss has its own reason") {
    renewal h(start, start + 8900ms, {.ttl = 9s, .max_hold = 10s});
    REQUIRE(h.on_time(start + 3s) == action::renew);
    REQUIRE(h.on_time(start + 8895ms) == action::lost);
    CHECK(h.reason() == loss::unreachable);
}

TEST_CASE("a renewal that fails after the cap is reached is not tried again") {
    renewal h(start, start + 8900ms, {.ttl = 9s, .max_hold = 10s});
    REQUIRE(h.on_time(start + 3s) == action::renew);
    h.extended(start + 4s, start + 33700ms, 30s);  // by the holder: nothing is left to gain
    REQUIRE(h.valid_until() == start + 10s);
    REQUIRE(h.renewal_failed(errc::no_quorum, start + 5s, 0) == action::none);
    CHECK(h.deadline() == start + 9995ms);
    CHECK(h.on_time(h.deadline()) == action::lost);
    CHECK(h.reason() == loss::max_hold);
}

TEST_CASE("whatever the margin, a lease that is to be renewed is, before its loss") {
    for (const duration margin : {0ms, 6000ms, 6560ms, 6570ms, 8000ms, 9800ms}) {
        // What validate() accepts: a margin that is shorter than the validity.
        renewal h(start, start + 9898ms, {.ttl = 10s, .loss_margin = margin});
        INFO("margin: " << margin.count() / 1'000'000 << " ms");
        CHECK(h.on_time(h.deadline()) == action::renew);
    }
}

TEST_CASE("whatever the margin, a renewal leaves a third of the time to the loss for its answer") {
    for (int margin = 0; margin < 9890; margin += 10) {
        const renewal h(start, start + 9898ms, {.ttl = 10s, .loss_margin = margin * 1ms});
        const duration left = h.report_at() - h.deadline();
        if (left < (h.report_at() - start) / 3) {
            INFO("margin: " << margin << " ms; left: " << left.count() << " ns");
            REQUIRE(left >= (h.report_at() - start) / 3);
        }
    }
    SUCCEED();
}

TEST_CASE("however late it was granted, a lease that is to be renewed is, before its loss") {
    for (const duration took : {0ms, 50ms, 60ms, 62ms, 80ms, 91ms}) {
        renewal h(start + took, start + 97ms, {.ttl = 100ms});
        INFO("granted after " << took.count() / 1'000'000 << " ms of 100");
        REQUIRE(h.report_at() > start + took);
        CHECK(h.on_time(h.deadline()) == action::renew);
    }
}

namespace {

// A lease in a network of chance: each round of renewal ends well, badly or never.
class life {
public:
    explicit life(std::uint32_t seed) : random_(seed) {
        terms_.ttl = duration(1ms) * static_cast<duration::rep>(10 + below(30'000));
        terms_.renew = below(4) != 0;
        if (below(3) == 0) terms_.max_hold = part_of(terms_.ttl * 5);
        if (below(3) == 0) terms_.loss_margin = part_of(terms_.ttl / 2);
        if (terms_.renew && below(3) == 0) terms_.watchdog = part_of(terms_.ttl * 2);
        now_ = start + part_of(terms_.ttl / 4);
        granted_at_ = now_;
        touched_at_ = now_;
        machine_.emplace(now_, redlock::valid_until(start, terms_.ttl, {0.01, 0ns}), terms_);
    }

    // Lives for `steps` events, then in a dead network until the loss.
    void live(int steps) {
        if (machine_->report_at() <= now_) return;  // it would not have been handed out
        while (!machine_->is_lost()) {
            check();
            step(steps-- > 0);
        }
        REQUIRE(now_ < machine_->valid_until());
        REQUIRE(machine_->reason() == expected_reason());
        REQUIRE(machine_->deadline() == time_point::max());
    }

private:
    struct round {
        time_point sent;
        time_point answered;
        int outcome;
    };

    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    duration part_of(duration d) {
        return duration(static_cast<duration::rep>(
            1 + below(static_cast<std::uint64_t>(std::max<duration>(d, 1ns).count()))));
    }

    void check() {
        REQUIRE(machine_->valid_until() >= last_valid_until_);
        last_valid_until_ = machine_->valid_until();
        REQUIRE(machine_->deadline() <= machine_->report_at());
        REQUIRE(machine_->report_at() < machine_->valid_until());
        if (terms_.max_hold > 0ns) {
            REQUIRE(machine_->valid_until() <= granted_at_ + terms_.max_hold);
        }
    }

    void step(bool alive) {
        if (round_ && round_->answered < machine_->deadline()) {
            now_ = std::max(now_, round_->answered);
            answer(*std::exchange(round_, std::nullopt));
            return;
        }
        now_ = std::max(now_, machine_->deadline());
        if (alive && below(4) != 0) machine_->touched(touched_at_ = now_);
        switch (machine_->on_time(now_)) {
            case action::lost: return;
            case action::none: REQUIRE(machine_->deadline() > now_); return;
            case action::renew: break;
        }
        REQUIRE(terms_.renew);
        REQUIRE_FALSE(round_);
        REQUIRE(machine_->deadline() > now_);
        under_way_ = true;
        const auto fate = static_cast<int>(below(10));
        if (alive && fate < 9) round_ = {now_, now_ + part_of(terms_.ttl / 6), fate};
    }

    void answer(const round& r) {
        under_way_ = false;
        if (r.outcome < 6 && now_ < machine_->valid_until()) {
            failing_ = false;
            machine_->extended(r.sent, redlock::valid_until(r.sent, terms_.ttl, {0.01, 0ns}),
                               terms_.ttl);
        } else if (r.outcome == 8 && below(10) == 0) {
            taken_ = true;
            REQUIRE(machine_->renewal_failed(errc::not_held, now_, random_()) == action::lost);
        } else {
            failing_ = true;
            REQUIRE(machine_->renewal_failed(errc::no_quorum, now_, random_()) == action::none);
            REQUIRE(machine_->deadline() > now_);
        }
    }

    loss expected_reason() const {
        if (taken_) return loss::taken;
        const bool is_watched = terms_.watchdog > 0ns;
        if (is_watched && now_ < machine_->report_at()) {
            REQUIRE(now_ == touched_at_ + terms_.watchdog);
            return loss::stalled;
        }
        if (terms_.max_hold > 0ns && machine_->valid_until() == granted_at_ + terms_.max_hold) {
            return loss::max_hold;
        }
        return under_way_ || failing_ ? loss::unreachable : loss::expired;
    }

    std::mt19937_64 random_;
    renewal::terms terms_;
    time_point now_;
    time_point granted_at_;
    time_point touched_at_;
    time_point last_valid_until_{};
    std::optional<renewal> machine_;
    std::optional<round> round_;
    bool under_way_ = false;
    bool failing_ = false;
    bool taken_ = false;
};

}  // namespace

TEST_CASE("in networks of chance every lease is lost before its validity ends, for its reason") {
    for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
        INFO("seed: " << seed);
        life(seed).live(60);
    }
}

TEST_CASE("leases that were granted one after the other have one place, and groups have others") {
    CHECK(renewal::place_of(renewal::group) == renewal::place_of(2 * renewal::group - 1));
    CHECK(renewal::place_of(renewal::group) != renewal::place_of(2 * renewal::group));
    // Any few groups are spread over the whole: no two of eight are nearer than a 21st of it.
    std::vector<std::uint64_t> places;
    for (std::uint64_t i = 0; i < 8; ++i) places.push_back(renewal::place_of(i * renewal::group));
    std::sort(places.begin(), places.end());
    for (std::size_t i = 1; i < places.size(); ++i) {
        CHECK(places[i] - places[i - 1] > all_ones / 21);
    }
}

}  // namespace renewal_test

// What is left of a lease on the nodes: for how long its keys stay, and whether others know it.
namespace traces_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::traces;

namespace {

constexpr time_point now = time_point(72h);

}  // namespace

TEST_CASE("an extension raises the fence that a release has to be above") {
    traces left;
    left.note_sent(node_mask::only(0), 5);
    left.note_sent(node_mask::only(1), 9);
    CHECK(left.nodes == node_mask::first(2));
    CHECK(left.highest_fence == 9);
}

TEST_CASE("a lease is known elsewhere if its token is out, or if it came by one") {
    traces ours;
    ours.note_token(false);
    CHECK_FALSE(ours.is_known_elsewhere);
    CHECK(ours.ends_with_validity());
    ours.note_token(true);
    CHECK(ours.is_known_elsewhere);
    CHECK_FALSE(ours.ends_with_validity());
    traces adopted{.began_elsewhere = true};
    adopted.note_token(false);
    CHECK(adopted.is_known_elsewhere);
}

TEST_CASE("a key stays until its least time is over, and longer if that is not known exactly") {
    traces left;
    CHECK(left.to_keep(now) == 0s);
    left.keep_until = now + 3s;
    left.keep_error = 1s;
    CHECK(left.to_keep(now) == 3s);
    CHECK(left.to_keep_at_most(now) == 4s);
    CHECK(left.to_keep(now + 3s) == 0s);
    CHECK(left.to_keep_at_most(now + 3s) == 1s);
}

TEST_CASE("a node keeps a fence for 15 s, or for as long as the keys of its request") {
    traces left;
    left.note_keys(now, 10s);
    CHECK(left.fences_until == now + 15s);
    CHECK_FALSE(left.has_long_fences(now));
    left.note_keys(now, 60s);
    CHECK(left.fences_until == now + 60s);
    CHECK(left.has_long_fences(now));
    CHECK(left.has_long_fences(now + 44s));
    CHECK_FALSE(left.has_long_fences(now + 45s));
}

TEST_CASE("a renewal prolongs the fences if the keys would outlive them, for some renewals to come") {
    traces left;
    left.note_keys(now, 10s);
    CHECK_FALSE(left.renew_fences(now + 5s, 10s));
    CHECK(left.fences_until == now + 15s);
    CHECK(left.renew_fences(now + 6s, 10s));
    CHECK(left.fences_until == now + 66s);
    CHECK_FALSE(left.renew_fences(now + 56s, 10s));
    CHECK(left.renew_fences(now + 57s, 60s));
    CHECK(left.fences_until == now + 417s);
}

TEST_CASE("a node that takes the key again by a renewal keeps the fence no longer than that") {
    traces left;
    left.note_keys(now, 60s);
    CHECK(left.renew_fences(now + 20s, 60s));
    CHECK_FALSE(left.renew_fences(now + 21s, 2s));  // the holder made it short
    CHECK(left.fences_until == now + 33s);
    CHECK_FALSE(left.renew_fences(now + 31s, 2s));
    CHECK(left.renew_fences(now + 32s, 2s));
}

TEST_CASE("of a lease from another process the fences may live for long") {
    CHECK(traces{.began_elsewhere = true}.has_long_fences(now));
}

}  // namespace traces_test

// A lease that another process acquired: what it may have left, by its token and the clocks.
namespace adoption_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::adopted_lease;

namespace {

constexpr time_point now = time_point(72h);
constexpr std::uint64_t drawn = 1'700'000'000'000'000;
constexpr std::int64_t drawn_us = 1'700'000'000'000'000;

core::traces left_of(const adopted_lease& what) {
    return core::traces_of_adopted(what, 3, node_mask::first(5), now);
}

}  // namespace

TEST_CASE("an adopted lease may have keys on every node, and is known elsewhere") {
    const auto left = left_of({.fence = drawn, .is_plausible = true});
    CHECK(left.born == 3);
    CHECK(left.nodes == node_mask::first(5));
    CHECK(left.began_elsewhere);
    CHECK(left.is_known_elsewhere);
    CHECK(left.highest_fence == drawn);
    CHECK(left.to_keep_at_most(now) == 0s);
}

TEST_CASE("a fence of a token that no client can have drawn is raised to by no release") {
    CHECK(left_of({.fence = drawn, .is_plausible = false}).highest_fence == 0);
}

TEST_CASE("what is over of a least time is known by the fence, to within twice the tolerance") {
    adopted_lease what{.fence = drawn,
                       .is_plausible = true,
                       .stay = 20s,
                       .node_time_us = drawn_us + 5'000'000,
                       .clock_tolerance = 2s};
    CHECK(left_of(what).to_keep(now) == 15s);
    CHECK(left_of(what).to_keep_at_most(now) == 19s);
    SECTION("a fence ahead of node time makes it no longer") {
        what.node_time_us = drawn_us - 5'000'000;
        CHECK(left_of(what).to_keep(now) == 20s);
    }
    SECTION("without node time or a fence all of it is left") {
        what.node_time_us.reset();
        CHECK(left_of(what).to_keep(now) == 20s);
        what.node_time_us = drawn_us + 5'000'000;
        what.fence = 0;
        CHECK(left_of(what).to_keep(now) == 20s);
    }
}

}  // namespace adoption_test

// The fences that one client draws: above all it knows, and never far from node time.
namespace fence_source_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::fence_limit;
using core::fence_source;

namespace {

constexpr std::int64_t noon = 1'700'000'000'000'000;
constexpr auto noon_fence = static_cast<std::uint64_t>(noon);

}  // namespace

TEST_CASE("a fence is node time where nothing higher is known") {
    fence_source s;
    CHECK(s.next(0, noon, 15s) == noon_fence);
    CHECK(s.next(noon_fence - 1, noon + 7, 15s) == noon_fence + 7);
}

TEST_CASE("a fence is above what was seen and above the last one") {
    fence_source s;
    CHECK(s.next(noon_fence, noon, 15s) == noon_fence + 1);
    CHECK(s.next(0, noon, 15s) == noon_fence + 2);
    CHECK(s.next(0, noon - 1'000'000, 15s) == noon_fence + 3);
    CHECK(s.next(noon_fence + 10, noon, 15s) == noon_fence + 11);
    CHECK(s.next(0, noon + 12, 15s) == noon_fence + 12);
}

TEST_CASE("a fence may lie so far ahead of node time as is tolerated and no further") {
    const std::uint64_t edge = noon_fence + 15'000'000;
    fence_source s;
    CHECK_FALSE(s.next(edge, noon, 15s).has_value());
    CHECK(s.next(edge - 1, noon, 15s) == edge);
    CHECK_FALSE(s.next(0, noon, 15s).has_value());
    CHECK(s.next(0, noon + 1, 15s) == edge + 1);
}

TEST_CASE("a rival's fence is followed half as far ahead of node time as is tolerated") {
    constexpr std::uint64_t second = 1'000'000;
    CHECK(fence_source().next(noon_fence + 10, noon, 15s, noon_fence + 250'010) ==
          noon_fence + 250'010);
    CHECK(fence_source().next(0, noon, 15s, noon_fence + second) == noon_fence + second);
    CHECK(fence_source().next(noon_fence + 10, noon, 15s, noon_fence + 3600 * second) ==
          noon_fence + 7'500'000);
    // The rival's own fence may lie beyond that.
    CHECK(fence_source().next(noon_fence + 9 * second, noon, 15s, noon_fence + 10 * second) ==
          noon_fence + 9'000'001);
    // Nobody is to be passed by it where node time is above it.
    CHECK(fence_source().next(noon_fence - 2 * second, noon, 15s, noon_fence - second) ==
          noon_fence);
}

TEST_CASE("a part of a microsecond is not tolerated") {
    fence_source s;
    CHECK_FALSE(s.next(noon_fence, noon, 999ns).has_value());
    CHECK(s.next(noon_fence, noon, 1us) == noon_fence + 1);
    CHECK_FALSE(fence_source().next(noon_fence, noon, 0ns).has_value());
    CHECK(fence_source().next(0, noon, 0ns) == noon_fence);
}

TEST_CASE("a chain of steps that has outrun the clock is refused until the clock has followed") {
    fence_source s;
    std::uint64_t last = 0;
    for (int i = 0; i <= 1000; ++i) {
        const auto fence = s.next(0, noon, 1ms);
        REQUIRE(fence.has_value());
        REQUIRE(*fence > last);
        last = *fence;
    }
    CHECK(last == noon_fence + 1000);
    for (int i = 0; i < 5; ++i) REQUIRE_FALSE(s.next(0, noon, 1ms).has_value());
    // What was refused has used up nothing.
    CHECK(s.next(0, noon + 1, 1ms) == last + 1);
    CHECK_FALSE(s.next(0, noon + 1, 1ms).has_value());
    CHECK(s.next(0, noon + 60'000'000, 1ms) == noon_fence + 60'000'000);
}

TEST_CASE("a high fence of one resource that is refused does not spoil the others") {
    fence_source s;
    CHECK_FALSE(s.next(noon_fence + 60'000'000, noon, 15s).has_value());
    CHECK(s.next(0, noon, 15s) == noon_fence);
}

TEST_CASE("no fence is drawn that Lua's numbers do not hold exactly") {
    const auto end = static_cast<std::int64_t>(fence_limit);
    fence_source s;
    CHECK(s.next(0, end - 1, 15s) == fence_limit - 1);
    CHECK_FALSE(s.next(0, end - 1, 15s).has_value());
    CHECK_FALSE(s.next(0, end, 15s).has_value());
    CHECK_FALSE(fence_source().next(fence_limit - 1, end - 1, 15s).has_value());
    for (const std::uint64_t seen :
         {fence_limit, std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()}) {
        CHECK_FALSE(fence_source().next(seen, noon, 15s).has_value());
    }
}

TEST_CASE("before the nodes' time is known the fences begin at one") {
    fence_source s;
    CHECK(s.next(0, 0, 15s) == std::uint64_t{1});
    CHECK(s.next(0, -5, 15s) == std::uint64_t{2});
    CHECK_FALSE(s.next(noon_fence, 0, 15s).has_value());
}

TEST_CASE("the tolerance is a quarter of ttl_max, and at most 15 s") {
    STATIC_REQUIRE(core::fence_tolerance(60s) == 15s);
    STATIC_REQUIRE(core::fence_tolerance(60'001ms) == 15s);
    STATIC_REQUIRE(core::fence_tolerance(24h) == 15s);
    STATIC_REQUIRE(core::fence_tolerance(10ms) == 2500us);
}

TEST_CASE("whatever fences and times a client reads, its own fences rise within the tolerance") {
    std::mt19937_64 random(7);
    fence_source s;
    std::uint64_t last = 0;
    std::int64_t time = noon;
    int drawn = 0;
    for (int i = 0; i < 20'000; ++i) {
        time += static_cast<std::int64_t>(random() % 300) - 100;
        const auto now = static_cast<std::uint64_t>(time);
        const std::uint64_t seen = random() % 3 == 0 ? now - 1000 + random() % 4000 : 0;
        const auto fence = s.next(seen, time, 2ms);
        if (fence) {
            ++drawn;
            const bool good = *fence > last && *fence > seen && *fence >= now &&
                              *fence <= now + 2000;
            if (!good) REQUIRE(good);
            last = *fence;
        } else {
            const bool had_to = std::max(seen, last) + 1 > now + 2000;
            if (!had_to) REQUIRE(had_to);
        }
    }
    CHECK(drawn > 10'000);
}

}  // namespace fence_source_test
