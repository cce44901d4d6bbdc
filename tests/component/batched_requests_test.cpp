// Tests that requests do in one command what they do one after the other; knows no client.
// SPDX-License-Identifier: MIT
#include "component/support/script_node.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

model_reply answer_of(script_node& node, const std::vector<asked>& all, time_point now) {
    const requests what{"N", record_epoch, "", "15000000", "0", all};
    return node.carry_out(std::string(resp::requests().text), what, now);
}

/// Draws requests of a few owners for a few keys, of every kind that shares them.
class drawing {
public:
    explicit drawing(std::uint64_t seed) : random_(seed) {}

    std::size_t below(std::size_t n) { return random_() % n; }

    asked next(std::int64_t now_us) {
        asked one;
        const char owner = static_cast<char>('A' + below(4));
        one.value = std::string(22, owner) + "@a:1";
        switch (below(3)) {
            case 0: one.what = ask::acquire; break;
            case 1: one.what = ask::extend; break;
            default: one.what = ask::release;
        }
        one.key = below(4) == 0 ? "L" : "K";
        one.queue = one.key + ":Q";
        const std::size_t kind = below(7);
        if (kind < 3) one.readers = one.key + ":R";
        if (kind > 3) {
            one.slot_set = one.key + ":S";
            one.slot = std::to_string(below(3));
            one.slots = std::to_string(2 + below(2));
            one.key += "#" + one.slot;
        }
        one.fence_key = one.key + ":F";
        if (one.what != ask::release) one.ttl = std::to_string(1'000 * (1 + below(20)));
        const bool is_owed = one.what == ask::release && below(3) == 0;
        if (one.what != ask::release || is_owed) one.fence = std::to_string(fence(now_us));
        if (one.what == ask::release && below(4) == 0) one.keep = std::to_string(1 + below(9'000));
        if (one.shares()) one.keep.clear();
        if (one.what != ask::extend && below(4) == 0) {
            one.id = std::string(1, owner) + ":" + (one.shares() ? "r1" : "1");
            one.ticket = std::to_string(1'000 + below(4));
            one.life = one.what == ask::acquire || below(2) == 0 ? "2000" : "0";
        }
        return one;
    }

private:
    // Mostly above the last one; at times one that has been exceeded.
    std::int64_t fence(std::int64_t now_us) {
        last_ = std::max(last_ + 1, now_us);
        return below(8) == 0 ? last_ - static_cast<std::int64_t>(below(5)) : last_;
    }

    std::mt19937_64 random_;
    std::int64_t last_ = 0;
};

}  // namespace

TEST_CASE("requests do in one command what they do one after the other") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        time_point now{};
        script_node together(now);
        script_node alone(now);
        drawing drawn(seed);
        for (int turn = 0; turn < 12; ++turn) {
            now += std::chrono::microseconds(drawn.below(6'000'000));
            std::vector<asked> all(2 + drawn.below(12));
            std::string words;
            for (asked& one : all) {
                one = drawn.next(together.us(now));
                for (const auto& word : words_of(one)) words += word + " ";
                words += "(" + one.key + ")\n";
            }
            INFO("seed " << seed << ", turn " << turn << ":\n" << words);
            const std::string before = keys_and_times_of(alone, now);
            INFO("before:\n" << before);
            const model_reply answers = answer_of(together, all, now);
            REQUIRE(answers.items.size() == all.size());
            for (std::size_t i = 0; i < all.size(); ++i) {
                INFO("request " << i);
                const model_reply one = answer_of(alone, {all[i]}, now);
                REQUIRE(to_resp2(answers.items[i]) == to_resp2(one));
            }
            REQUIRE(keys_and_times_of(together, now) == keys_and_times_of(alone, now));
        }
    }
}
