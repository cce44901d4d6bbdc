// Tests that the votes of a lease stay as they were cast, in either form; knows no nodes.
// SPDX-License-Identifier: MIT
#include "client/lease/kept_votes.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using detail::cast_votes;
using detail::kept_votes;

namespace {

cast_votes plain_votes() {
    cast_votes votes(3);
    for (std::size_t i = 0; i < votes.size(); ++i) {
        votes[i].node = node_name("n" + std::to_string(i));
        votes[i].answer = i < 2 ? vote::granted : vote::pending;
        votes[i].elapsed = std::chrono::microseconds(100 + i);
        votes[i].change = i < 2 ? list_change::none : list_change::leaving;
        votes[i].fence = i < 2 ? 1'700'000'000'000'000 : 0;
    }
    return votes;
}

bool is_same(const node_vote& a, const node_vote& b) {
    return a.node == b.node && a.answer == b.answer && a.error == b.error &&
           a.detail == b.detail && a.elapsed == b.elapsed && a.retry_in == b.retry_in &&
           a.fence == b.fence && a.resource == b.resource && a.held_for == b.held_for &&
           a.note == b.note && a.change == b.change;
}

void check_kept(const cast_votes& votes) {
    const kept_votes kept(votes);
    const auto all = kept.all();
    REQUIRE(all.size() == votes.size());
    for (std::size_t i = 0; i < votes.size(); ++i) CHECK(is_same(all[i], votes[i]));
    CHECK(kept.all().data() == all.data());
}

}  // namespace

TEST_CASE("votes that only grant are kept") {
    check_kept(plain_votes());
    check_kept({});
}

TEST_CASE("whatever else a vote tells is kept, too") {
    for (int member = 0; member < 8; ++member) {
        cast_votes votes = plain_votes();
        node_vote& v = votes[1];
        switch (member) {
            case 0: v.error = errc::no_quorum; break;
            case 1: v.detail = "LOADING"; break;
            case 2: v.elapsed = std::chrono::microseconds(std::int64_t{1} << 32); break;
            case 3: v.elapsed = -1us; break;
            case 4: v.retry_in = 1ms; break;
            case 5: v.resource = "r"; break;
            case 6: v.held_for = 1ms; break;
            case 7: v.note = "n"; break;
        }
        check_kept(votes);
    }
    cast_votes longest = plain_votes();
    longest[0].elapsed = std::chrono::microseconds(std::numeric_limits<std::uint32_t>::max());
    check_kept(longest);
}

TEST_CASE("threads that ask for votes at once see the same ones", "[threads]") {
    for (int round = 0; round < 200; ++round) {
        const kept_votes kept(plain_votes());
        const node_vote* seen[2] = {};
        std::thread other([&] { seen[1] = kept.all().data(); });
        seen[0] = kept.all().data();
        other.join();
        REQUIRE(seen[0] == seen[1]);
        REQUIRE(seen[0][2].node == "n2");
    }
}
