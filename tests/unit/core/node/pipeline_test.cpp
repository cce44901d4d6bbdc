// The commands under way on one connection: their order, their expiry, and the ring they stand in.
// SPDX-License-Identifier: MIT
#include "core/node/pipeline.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

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
        return ::expire(pipeline_, now_) == want;
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
