// What the parts of one client share: options, names, timers, events, counts, messages of other
// threads.
// SPDX-License-Identifier: MIT
#include "client/context.hpp"

#include "support/catch.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

// What is due when: order, arming again, and what may happen while it is called.
namespace timers_test {

using namespace redlock;
using namespace std::chrono_literals;
using detail::timers;

namespace {

constexpr time_point start = time_point(72h);
constexpr time_point never = time_point::max();

class bell final : public detail::timer {
public:
    explicit bell(std::function<void(time_point)> ring) : ring_(std::move(ring)) {}

private:
    void on_due(time_point now) override { ring_(now); }
    std::function<void(time_point)> ring_;
};

// Bells with numbers, and which of them rang.
struct tower {
    explicit tower(int count) {
        for (int i = 0; i < count; ++i) {
            bells.emplace_back([this, i](time_point) { rang.push_back(i); });
        }
    }
    std::vector<int> at(time_point now) {
        rang.clear();
        list.on_time(now);
        return rang;
    }
    std::deque<bell> bells;
    std::vector<int> rang;
    timers list;
};

}  // namespace

TEST_CASE("an empty timers has no deadline") {
    timers a;
    CHECK(a.deadline() == never);
    a.on_time(never);
    CHECK(a.deadline() == never);
}

TEST_CASE("appointments ring at their instant, in order, and once") {
    tower t(4);
    t.list.set(t.bells[0], start + 30ms);
    t.list.set(t.bells[1], start + 10ms);
    t.list.set(t.bells[2], start + 20ms);
    t.list.set(t.bells[3], start + 40ms);
    CHECK(t.list.deadline() == start + 10ms);
    CHECK(t.bells[1].when() == start + 10ms);
    CHECK(t.at(start + 10ms - 1ns).empty());
    CHECK(t.at(start + 10ms) == std::vector<int>{1});
    CHECK(t.list.deadline() == start + 20ms);
    CHECK(t.at(start + 35ms) == std::vector<int>{2, 0});
    CHECK(t.at(start + 35ms).empty());
    CHECK(t.at(never) == std::vector<int>{3});
    CHECK(t.list.deadline() == never);
}

TEST_CASE("of timers set to one instant the one that was armed first rings first") {
    tower t(5);
    for (const int i : {3, 1, 4, 0, 2}) t.list.set(t.bells[static_cast<std::size_t>(i)], start);
    t.list.set(t.bells[3], start);  // as it was: it keeps its place
    CHECK(t.at(start) == std::vector<int>{3, 1, 4, 0, 2});
}

TEST_CASE("arming again moves an timer, forwards and back") {
    tower t(2);
    t.list.set(t.bells[0], start + 10ms);
    t.list.set(t.bells[1], start + 20ms);
    t.list.set(t.bells[0], start + 30ms);
    CHECK(t.list.deadline() == start + 20ms);
    CHECK(t.at(start + 20ms) == std::vector<int>{1});
    t.list.set(t.bells[0], start + 25ms);
    CHECK(t.list.deadline() == start + 25ms);
    CHECK(t.at(start + 30ms) == std::vector<int>{0});
}

TEST_CASE("the end of time disarms, and a disarmed one can be armed again") {
    tower t(1);
    t.list.set(t.bells[0], never);
    CHECK(t.list.deadline() == never);
    CHECK(t.at(never).empty());
    t.list.set(t.bells[0], start);
    t.list.set(t.bells[0], never);
    CHECK(t.list.deadline() == never);
    CHECK(t.at(never).empty());
    t.list.set(t.bells[0], start);
    CHECK(t.at(start) == std::vector<int>{0});
}

TEST_CASE("a cancelled timer does not ring, and may be armed for the same instant again") {
    tower t(2);
    t.list.set(t.bells[0], start);
    t.list.set(t.bells[1], start + 1ms);
    t.bells[0].cancel();
    t.bells[0].cancel();
    CHECK(t.list.deadline() == start + 1ms);
    CHECK(t.at(start).empty());
    t.list.set(t.bells[0], start);
    CHECK(t.list.deadline() == start);
    CHECK(t.at(start + 1ms) == std::vector<int>{0, 1});
    t.bells[0].cancel();
}

TEST_CASE("timers ring in order, whether they are near, wait in a list or are far beyond") {
    std::mt19937_64 random(31);
    constexpr int count = 400;
    tower t(count);
    std::vector<time_point> due(count, never);
    std::vector<std::uint64_t> armed(count, 0);
    std::uint64_t order = 0;
    time_point now = start;
    const auto some_time = [&] {
        // From a microsecond to some hours, each order of magnitude as often.
        const auto longest = static_cast<std::int64_t>(1'000ULL << random() % 34);
        const duration exact(
            static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest)));
        return random() % 4 == 0 ? std::chrono::floor<std::chrono::seconds>(exact) : exact;
    };
    for (int step = 0; step < 20'000; ++step) {
        const auto i = static_cast<std::size_t>(random() % count);
        switch (random() % 8) {
            case 0:
                t.bells[i].cancel();
                due[i] = never;
                break;
            case 1:
            case 2: {
                now += some_time();
                std::vector<std::tuple<time_point, std::uint64_t, int>> expected;
                for (int k = 0; k < count; ++k) {
                    const auto at = static_cast<std::size_t>(k);
                    if (due[at] <= now) expected.emplace_back(due[at], armed[at], k);
                }
                std::sort(expected.begin(), expected.end());
                const auto rang = t.at(now);
                REQUIRE(rang.size() == expected.size());
                for (std::size_t k = 0; k < rang.size(); ++k) {
                    REQUIRE(rang[k] == std::get<2>(expected[k]));
                    due[static_cast<std::size_t>(rang[k])] = never;
                }
                break;
            }
            default: {
                const time_point when = now + some_time() - (random() % 16 == 0 ? 1h : 0h);
                if (due[i] != when) armed[i] = ++order;
                due[i] = when;
                t.list.set(t.bells[i], when);
            }
        }
        REQUIRE(t.list.deadline() == *std::min_element(due.begin(), due.end()));
    }
}

TEST_CASE("a timer that is due may arm itself and others") {
    timers list;
    std::vector<int> rang;
    std::optional<bell> later;
    std::optional<bell> again;
    later.emplace([&](time_point) { rang.push_back(2); });
    again.emplace([&](time_point now) {
        rang.push_back(1);
        if (rang.size() < 4) list.set(*again, now);
        list.set(*later, now + 1ms);
    });
    list.set(*again, start);
    list.on_time(start);
    CHECK(rang == std::vector<int>{1, 1, 1, 1});
    CHECK(list.deadline() == start + 1ms);
    list.on_time(start + 1ms);
    CHECK(rang == std::vector<int>{1, 1, 1, 1, 2});
}

TEST_CASE("what is armed for the past meanwhile rings in the same call, in order") {
    timers list;
    std::vector<int> rang;
    bell early([&](time_point) { rang.push_back(2); });
    bell late([&](time_point) { rang.push_back(3); });
    bell first([&](time_point) {
        rang.push_back(1);
        list.set(early, start - 1h);
    });
    list.set(first, start);
    list.set(late, start + 1ms);
    list.on_time(start + 1ms);
    CHECK(rang == std::vector<int>{1, 2, 3});
}

TEST_CASE("a timer that is due may cancel, disarm or destroy the others") {
    timers list;
    std::vector<int> rang;
    std::optional<bell> cancelled;
    std::optional<bell> disarmed;
    std::optional<bell> destroyed;
    std::optional<bell> last;
    cancelled.emplace([&](time_point) { rang.push_back(10); });
    disarmed.emplace([&](time_point) { rang.push_back(11); });
    destroyed.emplace([&](time_point) { rang.push_back(12); });
    last.emplace([&](time_point) { rang.push_back(2); });
    bell first([&](time_point) {
        rang.push_back(1);
        cancelled->cancel();
        list.set(*disarmed, never);
        destroyed.reset();
    });
    list.set(first, start);
    list.set(*cancelled, start);
    list.set(*disarmed, start);
    list.set(*destroyed, start);
    list.set(*last, start);
    list.on_time(start);
    CHECK(rang == std::vector<int>{1, 2});
    CHECK(list.deadline() == never);
}

namespace {

// Deletes itself when it is due, as an operation does that ends.
class one_shot final : public detail::timer {
public:
    explicit one_shot(int& alive) : alive_(&alive) { ++alive; }

private:
    ~one_shot() { --*alive_; }
    void on_due(time_point) override { delete this; }
    int* alive_;
};

}  // namespace

TEST_CASE("an timer may delete itself when it is due") {
    timers list;
    int alive = 0;
    for (int i = 0; i < 10; ++i) list.set(*new one_shot(alive), start + i * 1ms);
    list.on_time(start + 4ms);
    CHECK(alive == 5);
    CHECK(list.deadline() == start + 5ms);
    list.on_time(never);
    CHECK(alive == 0);
}

TEST_CASE("an timer destroyed while armed leaves the timers") {
    timers list;
    int rang = 0;
    bell kept([&](time_point) { ++rang; });
    list.set(kept, start + 1ms);
    {
        bell gone([&](time_point) { ++rang; });
        list.set(gone, start);
        CHECK(list.deadline() == start);
    }
    CHECK(list.deadline() == start + 1ms);
    list.on_time(start + 1ms);
    CHECK(rang == 1);
}

TEST_CASE("an timers destroyed while appointments are armed leaves them disarmed") {
    int rang = 0;
    std::deque<bell> bells;
    for (int i = 0; i < 20; ++i) bells.emplace_back([&](time_point) { ++rang; });
    {
        timers first;
        for (bell& b : bells) first.set(b, start);
    }
    timers second;
    for (bell& b : bells) second.set(b, start);
    second.on_time(start);
    CHECK(rang == 20);
}

TEST_CASE("random arming, cancelling and waking is as in a plain list") {
    constexpr std::size_t count = 40;
    std::mt19937 random(5);
    tower t(static_cast<int>(count));
    // When each is due, and how many were armed before; nothing where it is not armed.
    std::vector<std::optional<std::pair<time_point, std::uint64_t>>> model(count);
    std::uint64_t armed = 0;
    time_point now = start;
    for (int step = 0; step < 50'000; ++step) {
        const std::size_t i = random() % count;
        const auto dice = random() % 10;
        if (dice < 7) {
            const auto when = now + duration(static_cast<duration::rep>(random() % 20));
            t.list.set(t.bells[i], when);
            if (!model[i] || model[i]->first != when) model[i] = {when, armed++};
        } else if (dice == 7) {
            t.bells[i].cancel();
            model[i].reset();
        } else if (dice == 8) {
            t.list.set(t.bells[i], never);
            model[i].reset();
        } else {
            now += duration(static_cast<duration::rep>(random() % 6));
            std::vector<std::tuple<time_point, std::uint64_t, int>> due;
            for (std::size_t k = 0; k < count; ++k) {
                if (!model[k] || model[k]->first > now) continue;
                due.emplace_back(model[k]->first, model[k]->second, static_cast<int>(k));
                model[k].reset();
            }
            std::sort(due.begin(), due.end());
            std::vector<int> expected;
            for (const auto& d : due) expected.push_back(std::get<2>(d));
            REQUIRE(t.at(now) == expected);
        }
        time_point first = never;
        for (const auto& m : model) {
            if (m) first = std::min(first, m->first);
        }
        if (t.list.deadline() != first) REQUIRE(t.list.deadline() == first);
    }
}

}  // namespace timers_test

// Tests what other threads leave for the strand; knows nothing of clients.
namespace mailbox_test {

using redlock::detail::mail;
using redlock::detail::mailbox;

namespace {

struct letter final : mail {
    explicit letter(std::vector<int>* l = nullptr, int n = 0) : log(l), number(n) {}
    void deliver() override {
        if (log != nullptr) log->push_back(number);
        ++delivered;
        if (then) then();
    }
    void discard() noexcept override { ++discarded; }

    std::vector<int>* log;
    int number;
    int delivered = 0;
    int discarded = 0;
    std::function<void()> then{};
};

}  // namespace

TEST_CASE("messages come in order, for one collector") {
    mailbox box;
    std::vector<int> log;
    letter a(&log, 1), b(&log, 2), c(&log, 3);
    int collectors = 0;
    for (letter* l : {&a, &b, &c}) CHECK(box.put(*l, [&] { ++collectors; }));
    CHECK(collectors == 1);
    box.collect();
    CHECK(log == std::vector<int>{1, 2, 3});
    box.collect();
    CHECK(log.size() == 3);
}

TEST_CASE("what is left during a delivery comes with the next collector") {
    mailbox box;
    letter a, b;
    int collectors = 0;
    a.then = [&] { box.put(b, [&] { ++collectors; }); };
    box.put(a, [&] { ++collectors; });
    box.collect();
    CHECK(collectors == 2);
    CHECK(b.delivered == 0);
    box.collect();
    CHECK(b.delivered == 1);
}

TEST_CASE("a collector that can't be sent loses no message") {
    mailbox box;
    letter a, b;
    CHECK(box.put(a, [] { throw std::bad_alloc(); }));
    int collectors = 0;
    CHECK(box.put(b, [&] { ++collectors; }));
    CHECK(collectors == 1);
    box.collect();
    CHECK(a.delivered == 1);
    CHECK(b.delivered == 1);
}

TEST_CASE("a closed box takes nothing, and discards what it has") {
    mailbox box;
    letter a, b;
    box.put(a, [] {});
    box.close();
    CHECK(a.discarded == 1);
    bool sent = false;
    CHECK_FALSE(box.put(b, [&] { sent = true; }));
    CHECK_FALSE(sent);
    CHECK(b.delivered + b.discarded == 0);
    box.collect();
    CHECK(a.delivered == 0);
}

TEST_CASE("many threads put, every message comes once") {
    mailbox box;
    constexpr int threads = 4, each = 500;
    std::vector<letter> letters(static_cast<std::size_t>(threads * each));
    std::atomic<int> collectors{0};
    std::atomic<int> running{threads};
    std::vector<std::thread> senders;
    for (int t = 0; t < threads; ++t) {
        senders.emplace_back([&, t] {
            for (int i = 0; i < each; ++i) {
                box.put(letters[static_cast<std::size_t>(t * each + i)], [&] { ++collectors; });
            }
            --running;
        });
    }
    while (running > 0) {
        if (collectors.exchange(0) > 0) box.collect();
    }
    for (auto& s : senders) s.join();
    if (collectors > 0) box.collect();
    for (const auto& l : letters) REQUIRE(l.delivered == 1);
}

}  // namespace mailbox_test

// Claims on owners: for all resources or none, passed on, and ended once.
namespace owner_claims_test {

using namespace redlock;
using detail::owner_claims;

namespace {

owner_id owner_of(std::uint8_t number) {
    owner_id out;
    out.bytes[0] = number;
    return out;
}

const std::array<std::string, 2> both{"a", "b"};
const std::array<std::string, 1> second{"b"};

}  // namespace

TEST_CASE("an owner is claimed for all of its resources, or for none") {
    owner_claims all;
    owner_claims::claim one = all.begin(owner_of(1), second);
    REQUIRE(one);
    CHECK_FALSE(all.begin(owner_of(1), both));
    CHECK(all.begin(owner_of(2), both));
    one.reset();
    CHECK(all.begin(owner_of(1), both));  // "a" was not left claimed
}

TEST_CASE("a claim that is passed on ends with the one that has it") {
    owner_claims all;
    owner_claims::claim first = all.begin(owner_of(1), both);
    {
        const owner_claims::claim later = std::move(first);
        first.reset();
        CHECK_FALSE(all.begin(owner_of(1), second));
    }
    CHECK(all.begin(owner_of(1), second));
}

TEST_CASE("a claim may outlive the client") {
    std::optional<owner_claims> all(std::in_place);
    owner_claims::claim one = all->begin(owner_of(1), both);
    all.reset();
    one.reset();
    CHECK_FALSE(one);
}

}  // namespace owner_claims_test
