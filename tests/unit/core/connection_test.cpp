// The connection to one node: open, greet, serve, rest; commands in order, owed releases, round
// trips.
// SPDX-License-Identifier: MIT
#include "core/connection.hpp"

#include "support/catch.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

// The life of one connection: every fact in every phase, and the rests between its tries.
namespace reconnection_test {

using namespace redlock;
using namespace std::chrono_literals;
using action = core::reconnection::action;
using phase = core::reconnection::phase;

namespace {

constexpr time_point start = time_point(72h);
constexpr duration patience = 500ms;
constexpr time_point never = time_point::max();
constexpr std::uint64_t all_ones = std::numeric_limits<std::uint64_t>::max();

// A link in a phase, reached at `start` on the shortest way.
core::reconnection in(phase wanted) {
    core::reconnection l(patience);
    if (wanted == phase::idle) return l;
    l.start(start);
    if (wanted == phase::connecting) return l;
    if (wanted == phase::resting) {
        l.down(start, false, 0);
        return l;
    }
    if (wanted == phase::closed) {
        l.close();
        return l;
    }
    l.opened(start);
    if (wanted == phase::ready) l.greeted(start);
    return l;
}

const std::vector<phase> all_phases{phase::idle,  phase::connecting, phase::greeting,
                                    phase::ready, phase::resting,    phase::closed};

struct expected {
    phase after;
    action what = action::none;
    time_point deadline = never;
};

// Tells a fact to a link in each phase, in the order of `all_phases`.
void check(const std::string& fact, const std::function<action(core::reconnection&)>& tell,
           const std::vector<expected>& each) {
    REQUIRE(each.size() == all_phases.size());
    for (std::size_t i = 0; i < each.size(); ++i) {
        core::reconnection l = in(all_phases[i]);
        REQUIRE(l.state() == all_phases[i]);
        INFO(fact << " in phase " << i);
        CHECK(tell(l) == each[i].what);
        CHECK(l.state() == each[i].after);
        CHECK(l.deadline() == each[i].deadline);
        CHECK(l.is_ready() == (each[i].after == phase::ready));
    }
}

// Fails the link `failures` times before it greets, and returns the last rest.
duration rest_after(int failures, std::uint64_t random) {
    core::reconnection l(patience);
    time_point now = start;
    l.start(now);
    for (int i = 1; i < failures; ++i) {
        l.down(now, false, random);
        now = l.deadline();
        l.on_time(now);
    }
    l.down(now, false, random);
    return l.deadline() - now;
}

}  // namespace

TEST_CASE("each fact in each phase of a link has its one consequence") {
    const time_point limit = start + patience;
    const time_point rest = start + 5ms;
    const time_point later = start + 100ms;
    const expected idle{phase::idle};
    const expected connecting{phase::connecting, action::none, limit};
    const expected greeting{phase::greeting, action::none, limit};
    const expected ready{phase::ready};
    const expected resting{phase::resting, action::none, rest};
    const expected closed{phase::closed};
    const expected to_rest{phase::resting, action::none, later + 5ms};

    check("start", [&](core::reconnection& l) { return l.start(later); },
          {{phase::connecting, action::open, later + patience},
           connecting, greeting, ready, resting, closed});
    const expected answering{phase::greeting, action::none, later + patience};
    check("opened", [&](core::reconnection& l) { return l.opened(later), action::none; },
          {idle, answering, answering, ready, resting, closed});
    check("answered", [&](core::reconnection& l) { return l.answered(later), action::none; },
          {idle, {phase::connecting, action::none, later + patience}, answering, ready, resting,
           closed});
    check("greeted", [&](core::reconnection& l) { return l.greeted(later), action::none; },
          {idle, connecting, ready, ready, resting, closed});
    check("down", [&](core::reconnection& l) { return l.down(later, false, 0); },
          {idle, to_rest, to_rest, to_rest, resting, closed});
    check("stalled", [&](core::reconnection& l) { return l.down(later, true, 0); },
          {idle, to_rest, to_rest, to_rest, resting, closed});
    check("too early", [&](core::reconnection& l) { return l.on_time(rest - 1ns); },
          {idle, connecting, greeting, ready, resting, closed});
    check("end of the rest", [&](core::reconnection& l) { return l.on_time(rest); },
          {idle, connecting, greeting, ready,
           {phase::connecting, action::open, rest + patience}, closed});
    check("end of patience", [&](core::reconnection& l) { return l.on_time(limit); },
          {idle,
           {phase::connecting, action::give_up, limit},
           {phase::greeting, action::give_up, limit},
           ready,
           {phase::connecting, action::open, limit + patience},
           closed});
    check("end of time", [&](core::reconnection& l) { return l.on_time(never - patience); },
          {idle,
           {phase::connecting, action::give_up, limit},
           {phase::greeting, action::give_up, limit},
           ready,
           {phase::connecting, action::open, never},
           closed});
    check("close", [](core::reconnection& l) { return l.close(), action::none; },
          {closed, closed, closed, closed, closed, closed});
}

TEST_CASE("a node has its time to be reached, and again before each answer to its greeting") {
    core::reconnection l(patience);
    CHECK(l.start(start) == action::open);
    const duration nearly = patience - 1ns;
    time_point now = start + nearly;
    CHECK(l.on_time(now) == action::none);
    l.opened(now);
    for (int answers = 0; answers < 2; ++answers) {
        CHECK(l.deadline() == now + patience);
        now += nearly;
        CHECK(l.on_time(now) == action::none);
        l.answered(now);
    }
    SECTION("of four times as long for all") {
        l.answered(now + nearly);
        CHECK(l.deadline() == start + 4 * patience);
    }
    SECTION("and no longer") { CHECK(l.deadline() == now + patience); }
    CHECK(l.on_time(l.deadline()) == action::give_up);
    l.down(l.deadline(), true, 0);
    CHECK(l.state() == phase::resting);
}

TEST_CASE("a connection that served for a while is opened again at once") {
    core::reconnection l = in(phase::ready);
    CHECK(l.down(start + patience, false, all_ones) == action::open);
    CHECK(l.state() == phase::connecting);
    CHECK(l.deadline() == start + 2 * patience);
    CHECK(l.is_hopeful());
}

TEST_CASE("a connection that served for less than that rests first") {
    core::reconnection l = in(phase::ready);
    CHECK(l.down(start + patience - 1ns, false, 0) == action::none);
    CHECK(l.state() == phase::resting);
    CHECK(l.deadline() == start + patience - 1ns + 5ms);
}

TEST_CASE("a connection that stalled rests, however long it had served") {
    core::reconnection l = in(phase::ready);
    CHECK(l.down(start + 24h, true, 0) == action::none);
    CHECK(l.state() == phase::resting);
    CHECK(l.deadline() == start + 24h + 5ms);
}

TEST_CASE("the rest doubles from 10 ms to a second, and up to half of it is jitter") {
    const std::vector<duration> rests{10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1s, 1s, 1s};
    for (std::size_t i = 0; i < rests.size(); ++i) {
        const auto failures = static_cast<int>(i + 1);
        const auto spread = static_cast<std::uint64_t>((rests[i] / 2).count());
        INFO("failures: " << failures);
        CHECK(rest_after(failures, 0) == rests[i] / 2);
        CHECK(rest_after(failures, spread) == rests[i]);
        CHECK(rest_after(failures, spread + 1) == rests[i] / 2);
        CHECK(rest_after(failures, all_ones) >= rests[i] / 2);
        CHECK(rest_after(failures, all_ones) <= rests[i]);
    }
    for (const int failures : {32, 33, 64, 65, 1000}) CHECK(rest_after(failures, 0) == 500ms);
}

TEST_CASE("a node that greets and hangs up is dialled ever more seldom") {
    core::reconnection l(patience);
    time_point now = start;
    l.start(now);
    std::vector<duration> rests;
    for (int i = 0; i < 9; ++i) {
        l.opened(now);
        l.greeted(now);
        REQUIRE(l.is_ready());
        REQUIRE(l.down(now, false, 0) == action::none);
        rests.push_back(l.deadline() - now);
        now = l.deadline();
        REQUIRE(l.on_time(now) == action::open);
    }
    CHECK(rests == std::vector<duration>{5ms, 10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 500ms, 500ms});
}

TEST_CASE("the rests begin again after a connection that served for a while") {
    core::reconnection l(patience);
    time_point now = start;
    l.start(now);
    for (int i = 0; i < 6; ++i) {
        l.down(now, false, 0);
        now = l.deadline();
        l.on_time(now);
    }
    l.opened(now);
    l.greeted(now);
    now += patience;
    SECTION("it ended") {
        CHECK(l.down(now, false, 0) == action::open);
        CHECK(l.is_hopeful());
        CHECK(l.down(now, false, 0) == action::none);
        CHECK(l.deadline() == now + 5ms);
    }
    SECTION("it stalled") {
        CHECK(l.down(now, true, 0) == action::none);
        CHECK(l.deadline() == now + 5ms);
    }
}

TEST_CASE("a link is hopeful while it is on its way and nothing has gone wrong") {
    for (const phase p : all_phases) {
        INFO("phase " << static_cast<int>(p));
        CHECK(in(p).is_hopeful() == (p == phase::connecting || p == phase::greeting));
    }
    core::reconnection l = in(phase::resting);
    REQUIRE(l.on_time(start + 5ms) == action::open);
    CHECK_FALSE(l.is_hopeful());
    l.opened(start + 6ms);
    CHECK_FALSE(l.is_hopeful());
    l.greeted(start + 6ms);
    REQUIRE(l.is_ready());
    REQUIRE(l.down(start + 6ms + patience, false, 0) == action::open);
    CHECK(l.is_hopeful());
}

TEST_CASE("nothing opens a link that was closed") {
    for (const phase p : all_phases) {
        core::reconnection l = in(p);
        l.close();
        CHECK(l.start(start) == action::none);
        l.opened(start);
        l.greeted(start);
        CHECK(l.down(start, false, 0) == action::none);
        CHECK(l.on_time(never) == action::none);
        CHECK(l.state() == phase::closed);
        CHECK(l.deadline() == never);
        CHECK_FALSE(l.is_hopeful());
    }
}

}  // namespace reconnection_test

// The commands under way on one connection: their order, their expiry, and the ring they stand in.
namespace pipeline_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::pipeline;

namespace {

constexpr time_point start = time_point(72h);

std::vector<int> expire(pipeline<int>& p, time_point now) {
    std::vector<int> out;
    p.expire(now, [&](int what) { out.push_back(what); });
    return out;
}

}  // namespace

TEST_CASE("an empty pipeline waits for nothing") {
    pipeline<int> p;
    CHECK(p.empty());
    CHECK(p.size() == 0);
    CHECK(p.deadline() == time_point::max());
    CHECK(p.waiting_since() == time_point::max());
    CHECK(expire(p, time_point::max()).empty());
}

TEST_CASE("replies belong to the commands in their order") {
    pipeline<int> p;
    for (int i = 0; i < 200; ++i) p.push(i, start + i * 1us, start + i * 1us + 50ms);
    CHECK(p.size() == 200);
    for (int i = 0; i < 200; ++i) {
        CHECK(p.waiting_since() == start + i * 1us);
        CHECK(p.deadline() == start + i * 1us + 50ms);
        const auto first = p.pop();
        REQUIRE(first.what == i);
        REQUIRE(first.sent == start + i * 1us);
        REQUIRE(first.deadline == start + i * 1us + 50ms);
        REQUIRE_FALSE(first.expired);
    }
    CHECK(p.empty());
    CHECK(p.deadline() == time_point::max());
}

TEST_CASE("a command expires at its deadline, once, and keeps its place") {
    pipeline<int> p;
    p.push(1, start, start + 50ms);
    p.push(2, start, start + 60ms);
    p.push(3, start, start + 60ms);
    p.push(4, start, start + 70ms);
    CHECK(expire(p, start + 50ms - 1ns).empty());
    CHECK(expire(p, start + 50ms) == std::vector<int>{1});
    CHECK(expire(p, start + 50ms).empty());
    CHECK(p.deadline() == start + 60ms);
    CHECK(expire(p, start + 65ms) == std::vector<int>{2, 3});
    CHECK(p.size() == 4);
    CHECK(p.waiting_since() == start);
    CHECK(p.deadline() == start + 70ms);
    for (int i = 1; i <= 4; ++i) {
        const auto first = p.pop();
        CHECK(first.what == i);
        CHECK(first.expired == (i <= 3));
    }
}

TEST_CASE("the late reply to an expired command is matched to nothing else") {
    pipeline<int> p;
    p.push(1, start, start + 50ms);
    p.push(2, start + 1ms, start + 51ms);
    REQUIRE(expire(p, start + 50ms) == std::vector<int>{1});
    CHECK(p.pop().expired);
    CHECK(p.waiting_since() == start + 1ms);
    CHECK(p.deadline() == start + 51ms);
    CHECK(expire(p, start + 51ms) == std::vector<int>{2});
    CHECK(p.pop().expired);
    p.push(3, start + 60ms, start + 61ms);
    CHECK(p.deadline() == start + 61ms);
    CHECK_FALSE(p.pop().expired);
}

TEST_CASE("a reply before the deadline leaves the next one its own") {
    pipeline<int> p;
    p.push(1, start, start + 50ms);
    p.push(2, start, start + 60ms);
    CHECK_FALSE(p.pop().expired);
    CHECK(expire(p, start + 50ms).empty());
    CHECK(expire(p, start + 60ms) == std::vector<int>{2});
}

TEST_CASE("each command is due at its own deadline, also before one that was sent before it") {
    pipeline<int> p;
    p.push(1, start, start + 50ms);
    p.push(2, start, start + 40ms);
    p.push(3, start, start + 45ms);
    p.push(4, start, start + 40ms);
    CHECK(p.deadline() == start + 40ms);
    CHECK(expire(p, start + 39ms).empty());
    CHECK(expire(p, start + 40ms) == std::vector<int>{2, 4});
    CHECK(p.deadline() == start + 45ms);
    CHECK(expire(p, start + 60ms) == std::vector<int>{3, 1});
    for (int i = 1; i <= 4; ++i) {
        const auto first = p.pop();
        CHECK(first.what == i);
        CHECK(first.expired);
    }
}

TEST_CASE("a command that was answered is not due, also where a later one was due before it") {
    pipeline<int> p;
    p.push(1, start, start + 50ms);
    p.push(2, start, start + 40ms);
    p.push(3, start, start + 60ms);
    CHECK(p.pop().what == 1);
    CHECK(expire(p, start + 40ms) == std::vector<int>{2});
    CHECK(p.deadline() == start + 60ms);
    CHECK(expire(p, start + 59ms).empty());
    CHECK(expire(p, start + 60ms) == std::vector<int>{3});
}

TEST_CASE("the ring grows in order while expired commands stand in it") {
    for (const int offset : {0, 1, 31, 63}) {
        pipeline<int> p;
        for (int i = 0; i < offset; ++i) {  // so that the ring is turned when it grows
            p.push(-1, start, start + 1ms);
            p.pop();
        }
        int pushed = 0;
        for (; pushed < 60; ++pushed) p.push(pushed, start, start + duration(pushed));
        CHECK(expire(p, start + 39ns).size() == 40);
        for (; pushed < 300; ++pushed) p.push(pushed, start, start + duration(pushed));
        CHECK(p.deadline() == start + 40ns);
        CHECK(expire(p, start + 49ns).size() == 10);
        INFO("offset: " << offset);
        for (int i = 0; i < 300; ++i) {
            const auto first = p.pop();
            REQUIRE(first.what == i);
            REQUIRE(first.expired == (i < 50));
        }
        CHECK(p.empty());
    }
}

TEST_CASE("the handler of an expiry may push more commands") {
    pipeline<int> p;
    for (int i = 0; i < 64; ++i) p.push(i, start, start + 50ms);
    int told = 0;
    p.expire(start + 50ms, [&](int) {
        ++told;
        p.push(1000 + told, start + 50ms, start + 100ms);
    });
    CHECK(told == 64);
    CHECK(p.size() == 128);
    CHECK(p.deadline() == start + 100ms);
    for (int i = 0; i < 64; ++i) CHECK(p.pop().expired);
    for (int i = 0; i < 64; ++i) {
        const auto first = p.pop();
        CHECK(first.what == 1001 + i);
        CHECK_FALSE(first.expired);
    }
}

TEST_CASE("the handler of an expiry may take the whole pipeline away") {
    pipeline<int> p;
    for (int i = 0; i < 10; ++i) p.push(i, start, start + 50ms);
    pipeline<int> taken;
    int told = 0;
    p.expire(start + 50ms, [&](int) {
        ++told;
        taken = std::exchange(p, {});
    });
    CHECK(told == 1);
    CHECK(p.empty());
    CHECK(p.deadline() == time_point::max());
    CHECK(taken.size() == 10);
    CHECK(taken.pop().expired);
    CHECK_FALSE(taken.pop().expired);
    p.push(1, start, start + 50ms);
    CHECK(p.deadline() == start + 50ms);
}

TEST_CASE("a command is let go with its reply, and the rest with the pipeline") {
    const auto counted = std::make_shared<int>(0);
    {
        pipeline<std::shared_ptr<int>> p;
        for (int i = 0; i < 100; ++i) p.push(counted, start, start + 50ms);
        CHECK(counted.use_count() == 101);
        for (int i = 0; i < 30; ++i) p.pop();
        CHECK(counted.use_count() == 71);
    }
    CHECK(counted.use_count() == 1);
}

TEST_CASE("commands that can only be moved are moved") {
    pipeline<std::unique_ptr<int>> p;
    for (int i = 0; i < 70; ++i) p.push(std::make_unique<int>(i), start, start + 50ms);
    for (int i = 0; i < 70; ++i) CHECK(*p.pop().what == i);
}

namespace {

// A pipeline beside a plain queue that does the same in the obvious way.
class twins {
public:
    explicit twins(std::uint32_t seed) : random_(seed) {}

    bool step() {
        now_ += duration(static_cast<duration::rep>(random_() % 3));
        // Long spells of more pushes than replies, and of fewer, make the ring grow and run empty.
        if (random_() % 2000 == 0) busy_ = !busy_;
        const auto dice = random_() % 10;
        if (dice == 9) return expire() && same();
        if (dice < (busy_ ? 6U : 3U)) push();
        else if (!model_.empty()) return pop() && same();
        return same();
    }

    std::size_t largest() const { return largest_; }

private:
    struct command {
        int what;
        time_point sent;
        time_point deadline;
        bool expired;
    };

    void push() {
        const time_point due = now_ + duration(static_cast<duration::rep>(1 + random_() % 500));
        pipeline_.push(next_, now_, due);
        model_.push_back({next_++, now_, due, false});
        largest_ = std::max(largest_, model_.size());
    }

    bool pop() {
        const auto got = pipeline_.pop();
        const command want = model_.front();
        model_.pop_front();
        return got.what == want.what && got.sent == want.sent && got.deadline == want.deadline &&
               got.expired == want.expired;
    }

    bool expire() {
        std::vector<std::pair<time_point, int>> due;
        for (command& c : model_) {
            if (c.expired || c.deadline > now_) continue;
            c.expired = true;
            due.emplace_back(c.deadline, c.what);
        }
        std::sort(due.begin(), due.end());
        std::vector<int> want;
        for (const auto& d : due) want.push_back(d.second);
        return pipeline_test::expire(pipeline_, now_) == want;
    }

    bool same() const {
        time_point due = time_point::max();
        for (const command& c : model_) {
            if (!c.expired) due = std::min(due, c.deadline);
        }
        const time_point since = model_.empty() ? time_point::max() : model_.front().sent;
        return pipeline_.size() == model_.size() && pipeline_.empty() == model_.empty() &&
               pipeline_.deadline() == due && pipeline_.waiting_since() == since;
    }

    std::mt19937 random_;
    time_point now_ = start;
    bool busy_ = true;
    int next_ = 0;
    std::size_t largest_ = 0;
    pipeline<int> pipeline_;
    std::deque<command> model_;
};

}  // namespace

TEST_CASE("a hundred thousand random steps leave a pipeline as the plain queue") {
    for (const std::uint32_t seed : {1U, 2U, 3U}) {
        twins t(seed);
        INFO("seed: " << seed);
        for (int i = 0; i < 100'000; ++i) {
            if (t.step()) continue;
            INFO("step: " << i);
            REQUIRE(false);
        }
        CHECK(t.largest() > 256);
    }
}

}  // namespace pipeline_test

// What is owed to a node: nothing is dropped, the oldest goes first, and one asks for all.
namespace debts_test {

using namespace redlock;
using namespace std::chrono_literals;
using numbers = core::debts<int>;

namespace {

constexpr time_point start = time_point(72h);
constexpr time_point never = time_point::max();

std::vector<int> pay_all(numbers& d, time_point now) {
    std::vector<int> paid;
    d.pay(now, [] { return true; }, [&](int n) { paid.push_back(n); });
    return paid;
}

}  // namespace

TEST_CASE("what is owed is paid once, the oldest first") {
    numbers d;
    for (int n : {1, 2, 3}) d.owe(n);
    CHECK(d.size() == 3);
    CHECK(d.due() == never);  // there is no connection yet
    CHECK(pay_all(d, start) == std::vector{1, 2, 3});
    CHECK(d.empty());
    CHECK(pay_all(d, start).empty());
    CHECK(d.due() == never);
}

TEST_CASE("however much is owed none of it is dropped") {
    numbers d;
    constexpr int many = 200'000;
    for (int n = 0; n < many; ++n) d.owe(n);
    CHECK(d.size() == many);
    CHECK(pay_all(d, start).size() == many);
}

TEST_CASE("what finds no room is due at once, and the first of it asks for the rest") {
    numbers d;
    for (int n : {1, 2, 3, 4}) d.owe(n);
    std::vector<int> paid;
    d.pay(start, [&] { return paid.size() < 2; }, [&](int n) { paid.push_back(n); });
    CHECK(paid == std::vector{1, 2});
    CHECK(d.due() == start);
    CHECK(d.take_first() == 3);
    CHECK(d.due() == never);
    CHECK(pay_all(d, start) == std::vector{4});
}

TEST_CASE("a node that refuses is tried again after a rest, by one debt") {
    numbers d;
    for (int n : {1, 2}) d.owe(n);
    CHECK(pay_all(d, start) == std::vector{1, 2});
    d.refused(1, start);
    d.refused(2, start + 10ms);
    CHECK(d.due() == start + numbers::rest);  // the first refusal counts
    CHECK(d.take_first() == 1);
    d.refused(1, start + 2s);
    CHECK(d.due() == start + 2s + numbers::rest);
    CHECK(d.take_first() == 2);
    CHECK(pay_all(d, start + 3s) == std::vector{1});
}

TEST_CASE("without a connection nothing is due") {
    numbers d;
    d.refused(1, start);
    d.disconnected();
    CHECK(d.due() == never);
    CHECK(d.size() == 1);
}

TEST_CASE("where nothing is owed nobody asks") {
    numbers d;
    CHECK(d.take_first() == std::nullopt);
    CHECK(pay_all(d, start).empty());
}

}  // namespace debts_test

// What follows a refusal: which request is sent again, and which release is still owed.
namespace failed_request_test {

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

}  // namespace failed_request_test

// Which failures of a connection are reported: each cause once, then a summary each minute.
namespace outage_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::outage;

namespace {

const error_code gone = errc::timed_out;
const error_code refused = errc::auth_failed;

constexpr time_point start{1h};

}  // namespace

TEST_CASE("a cause is reported once, and each minute with the number of tries", "[outage]") {
    outage o;
    CHECK(o.failed(gone, start) == 1);
    for (int s = 1; s < 60; ++s) CHECK(o.failed(gone, start + s * 1s) == 0);
    CHECK(o.failed(gone, start + 60s) == 60);
    CHECK(o.failed(gone, start + 61s) == 0);
}

TEST_CASE("another cause is news, and two that alternate are no flood", "[outage]") {
    outage o;
    CHECK(o.failed(gone, start) == 1);
    CHECK(o.failed(refused, start + 1s) == 1);
    CHECK(o.failed(gone, start + 2s) == 0);
    CHECK(o.failed(refused, start + 3s) == 0);
}

TEST_CASE("what fails again after it was over is news", "[outage]") {
    outage o;
    CHECK(o.failed(gone, start) == 1);
    CHECK(o.failed(gone, start + 1s) == 0);
    o.ended();
    CHECK(o.failed(gone, start + 2s) == 1);
}

TEST_CASE("no number of causes is a flood", "[outage]") {
    outage o;
    int reported = 0;
    for (int i = 1; i <= 50; ++i) {
        if (o.failed({i, boost::system::generic_category()}, start) != 0) ++reported;
    }
    CHECK(reported == static_cast<int>(outage::most_causes));
}

}  // namespace outage_test

// How late a client's own timers ring, and for how long that counts.
namespace own_delay_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::own_delay;

namespace {

constexpr auto start = time_point(72h);

void await(own_delay& d, time_point due, time_point now) {
    d.awaits([&] { return due; }, now);
}

// A node has until `due`, and what is added.
void await_node(own_delay& d, time_point due, time_point now) {
    d.awaits([&] { return d.extended(due); }, now);
}

// A client whose first timer was to ring at `due`, and rang at `now`.
own_delay rung(time_point due, time_point now) {
    own_delay d;
    await(d, due, start);
    d.rang(now);
    return d;
}

}  // namespace

TEST_CASE("a client whose timers ring in time waits no longer than the time-out") {
    own_delay d;
    CHECK(d.extra() == 0ms);
    CHECK(d.extended(start) == start);
    d.rang(start);  // nothing was due
    CHECK(d.extra() == 0ms);
    CHECK(rung(start + 1s, start + 1s).extra() == 0ms);
    CHECK(rung(start + 1s, start + 500ms).extra() == 0ms);
}

TEST_CASE("a client whose timer rings late waits from then on for as long again") {
    const auto d = rung(start + 250ms, start + 400ms);
    CHECK(d.extra() == 300ms);
    CHECK(d.extended(start + 250ms) == start + 400ms + 150ms);
    CHECK(d.extended(time_point::max()) == time_point::max());
}

TEST_CASE("a timer that is armed for an instant in the past is late from when it is armed") {
    CHECK(rung(start - 10s, start + 30ms).extra() == 60ms);
}

TEST_CASE("a timer is late also where turns of the loop end before it rings") {
    own_delay d;
    await(d, start + 1s, start);
    await(d, start + 1s, start + 1100ms);
    d.rang(start + 1200ms);
    CHECK(d.extra() == 400ms);
}

TEST_CASE("the latest timer counts, and no more than a second is added") {
    auto d = rung(start + 1s, start + 1s + 100ms);
    await(d, start + 2s, start + 1200ms);
    d.rang(start + 2s + 20ms);
    CHECK(d.extra() == 200ms);
    await(d, start + 2100ms, start + 2050ms);
    d.rang(start + 2100ms + 300ms);
    CHECK(d.extra() == 600ms);
    await(d, start + 3s, start + 2500ms);
    d.rang(start + 1h);
    CHECK(d.extra() == 1s);
    CHECK(rung(start, time_point::max()).extra() == 1s);
}

TEST_CASE("that a timer was late is forgotten after two seconds") {
    auto d = rung(start + 1s, start + 1s + 100ms);
    await(d, start + 9s, start + 3s);
    CHECK(d.extra() == 200ms);
    await(d, start + 9s, start + 3s + 100ms);
    CHECK(d.extra() == 0ms);
    d.rang(start + 9s + 10ms);
    CHECK(d.extra() == 20ms);
}

TEST_CASE("the timer rings at the time-out and again when the longer time is over") {
    auto d = rung(start + 1s, start + 1200ms);
    await_node(d, start + 2s, start + 1300ms);
    CHECK(d.extended(start + 2s) == start + 2s);
    d.rang(start + 2s);
    CHECK(d.extended(start + 2s) == start + 2400ms);
}

TEST_CASE("a client that sleeps past the longer time, too, reads what came meanwhile") {
    auto d = rung(start + 1s, start + 1100ms);
    await_node(d, start + 2s, start + 1900ms);
    SECTION("its timers ring first") {
        d.rang(start + 2900ms);
        CHECK(d.extended(start + 2s) == start + 3s);
    }
    SECTION("the lateness before that is forgotten meanwhile") {
        await_node(d, start + 2s, start + 3200ms);
        d.rang(start + 3200ms);
        CHECK(d.extra() == 1s);
    }
}

}  // namespace own_delay_test

// How far a node is away, and what time it is given by that.
namespace round_trip_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::node_timeout;

namespace {

constexpr auto start = time_point(72h);

}  // namespace

TEST_CASE("a node has four round trips, at least 250 ms and at most 1 s, unless a time is given") {
    CHECK(node_timeout(0ms, 0ms) == 250ms);
    CHECK(node_timeout(0ms, 200us) == 250ms);
    CHECK(node_timeout(0ms, 62ms) == 250ms);
    CHECK(node_timeout(0ms, 63ms) == 252ms);
    CHECK(node_timeout(0ms, 80ms) == 320ms);
    CHECK(node_timeout(0ms, 251ms) == 1s);
    CHECK(node_timeout(0ms, 1h) == 1s);
    CHECK(node_timeout(20ms, 80ms) == 20ms);
    CHECK(node_timeout(5s, 80ms) == 5s);
    CHECK(core::enough_for(2s) == 8s);
    CHECK(core::enough_for(1ms) == 250ms);
}

TEST_CASE("a node has a tenth of a short ttl, at least 50 ms, and no less than four round trips") {
    CHECK(node_timeout(0ms, 1ms, 1h) == 250ms);
    CHECK(node_timeout(0ms, 1ms, 2500ms) == 250ms);
    CHECK(node_timeout(0ms, 1ms, 2s) == 200ms);
    CHECK(node_timeout(0ms, 1ms, 500ms) == 50ms);
    CHECK(node_timeout(0ms, 1ms, 10ms) == 50ms);
    CHECK(node_timeout(0ms, 40ms, 500ms) == 160ms);
    CHECK(node_timeout(0ms, 1h, 500ms) == 1s);
    CHECK(node_timeout(300ms, 1ms, 500ms) == 300ms);
    CHECK(core::shortest_timeout(0ms, 1ms) == 50ms);
    CHECK(core::shortest_timeout(0ms, 60ms) == 240ms);
    CHECK(core::shortest_timeout(300ms, 1ms) == 300ms);
}

TEST_CASE("the round trip is the shortest from a question to the first reply") {
    core::round_trip r;
    CHECK_FALSE(r.is_known());
    CHECK(r.get() == 0ms);
    r.begin();
    r.queried(start);
    r.answered(start + 90ms);
    r.answered(start + 95ms);  // of what went out with it
    CHECK(r.get() == 90ms);
    r.queried(start + 100ms);
    r.answered(start + 180ms);
    CHECK(r.get() == 80ms);
    r.queried(start + 200ms);
    r.answered(start + 300ms);
    CHECK(r.is_known());
    CHECK(r.get() == 80ms);
    SECTION("of the latest handshake") {
        r.begin();
        CHECK_FALSE(r.is_known());
        r.queried(start + 1s);
        r.answered(start + 1s + 200ms);
        CHECK(r.get() == 200ms);
    }
}

}  // namespace round_trip_test

// The scripts that a node is sent in a handshake.
namespace script_search_test {

using redlock::core::script_search;

TEST_CASE("a node is sent the scripts that it lacks, and no other") {
    script_search search;
    for (const bool is_there : {true, false, true, false}) search.note(is_there);
    CHECK(search.lacks_any());
    CHECK(search.missing() == std::vector<std::size_t>{1, 3});
    CHECK(search.loaded() == 1);
    CHECK(search.loaded() == 3);
    CHECK_FALSE(search.sends_text());
}

TEST_CASE("a node that has all scripts is sent none") {
    script_search search;
    search.note(true);
    CHECK_FALSE(search.lacks_any());
}

TEST_CASE("a node that lost its scripts gets that of the record with its text, once") {
    script_search search;
    search.note(false);
    CHECK(search.lost());
    CHECK(search.sends_text());
    CHECK_FALSE(search.lacks_any());
    CHECK_FALSE(search.lost());
}

}  // namespace script_search_test
