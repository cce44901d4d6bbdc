// One lease: what its client does for it, and what all threads may see of it.
// SPDX-License-Identifier: MIT
#include "client/lease.hpp"

#include "support/catch.hpp"

#include <redlock/detail/access.hpp>
#include <redlock/lease.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Tests what a lease and its client share: which ends it first, which learns it; knows no nodes.
namespace lease_state_test {

using namespace redlock;
using namespace std::chrono_literals;
using detail::farewell;
using detail::lease_state;

namespace {

std::shared_ptr<lease_state> live() {
    owner_id id;
    id.bytes[0] = 1;
    return std::make_shared<lease_state>("r", id, 7, clock::now() + 1h, detail::cast_votes(3));
}

// With what a token needs.
std::shared_ptr<lease_state> proven() {
    owner_id id;
    id.bytes[0] = 1;
    return std::make_shared<lease_state>("r", id, 7, clock::now() + 1h, detail::cast_votes(3),
                                         wire::lease_proof{"AAAAAAAAAAAAAAAAAAAAAA@here:1"});
}

struct house final : detail::lease_home {
    void part(std::shared_ptr<lease_state> state, farewell::kind what) noexcept override {
        if (!state->part()) return;
        (what == farewell::kind::give_back ? given : let_go)++;
    }
    void on_farewell(lease_state&, farewell::kind) override {}
    int given = 0;
    int let_go = 0;
};

}  // namespace

TEST_CASE("a lease ends once, by whichever comes first") {
    const auto s = live();
    CHECK(s->is_live());
    SECTION("its holder") {
        CHECK(s->end());
        CHECK_FALSE(s->end());
        CHECK_FALSE(s->lose(loss::taken));
        CHECK(s->state() == lease_state::status::ended);
        CHECK_FALSE(s->lost_token().stop_requested());
    }
    SECTION("its loss") {
        CHECK(s->lose(loss::taken));
        CHECK_FALSE(s->end());
        CHECK(s->lost_for() == loss::taken);
        CHECK(s->lost_token().stop_requested());
    }
}

TEST_CASE("of a holder and a loss on two threads one is first") {
    for (int i = 0; i < 200; ++i) {
        const auto s = live();
        std::atomic<int> firsts{0};
        std::thread other([&] { firsts += s->lose(loss::expired) ? 1 : 0; });
        firsts += s->end() ? 1 : 0;
        const bool stopped = s->lost_token().stop_requested();
        other.join();
        CHECK(firsts == 1);
        if (stopped) CHECK(s->state() == lease_state::status::lost);
    }
}

TEST_CASE("a callback may ask for the token again") {
    const auto s = live();
    bool again = false;
    const std::stop_callback note(s->lost_token(),
                                  [&] { again = s->lost_token().stop_requested(); });
    s->lose(loss::expired);
    CHECK(again);
}

TEST_CASE("a token that is taken while the lease is lost reports the loss") {
    for (int round = 0; round < 500; ++round) {
        const auto s = live();
        std::stop_token first;
        std::stop_token second;
        std::thread one([&] { first = s->lost_token(); });
        std::thread two([&] { second = s->lost_token(); });
        s->lose(loss::taken);
        one.join();
        two.join();
        REQUIRE(first.stop_requested());
        REQUIRE(second.stop_requested());
        REQUIRE(first == second);
        REQUIRE(s->lost_token() == first);
    }
}

TEST_CASE("a token that is taken after the loss has reported it already") {
    for (int round = 0; round < 500; ++round) {
        const auto s = live();
        s->lose(loss::taken);
        bool seen[2] = {};
        std::thread other([&] { seen[1] = s->lost_token().stop_requested(); });
        seen[0] = s->lost_token().stop_requested();
        other.join();
        REQUIRE(seen[0]);
        REQUIRE(seen[1]);
    }
}

TEST_CASE("the handle says goodbye once") {
    const auto h = std::make_shared<house>();
    const auto s = live();
    s->home = h;
    SECTION("when it goes") {
        { const lease l = detail::access::lease_of(s); }
        CHECK(h->given == 1);
    }
    SECTION("when another takes its place") {
        lease l = detail::access::lease_of(s);
        l = lease();
        CHECK(h->given == 1);
    }
    SECTION("when a lease takes its place whose own handle lives on") {
        lease l = detail::access::lease_of(s);
        lease next = detail::access::lease_of(live());
        l = std::move(next);
        CHECK(h->given == 1);
        CHECK(l);
    }
    SECTION("when it is moved, only the last") {
        lease l = detail::access::lease_of(s);
        lease m(std::move(l));
        CHECK_FALSE(l);
        CHECK(m);
        CHECK(h->given == 0);
        lease& self = m;
        m = std::move(self);
        CHECK(m);
        m = lease();
        CHECK(h->given == 1);
    }
    SECTION("when it is detached") {
        lease l = detail::access::lease_of(s);
        l.detach();
        CHECK_FALSE(l);
        CHECK(l.votes().empty());
        CHECK(h->let_go == 1);
        CHECK(h->given == 0);
    }
    SECTION("not when it was surrendered") {
        lease l = detail::access::lease_of(s);
        detail::access::surrender(std::move(l));
        l = lease();
        CHECK(h->given == 0);
    }
    SECTION("also when it was lost: only then its keys may go early") {
        lease l = detail::access::lease_of(s);
        s->lose(loss::taken);
        l = lease();
        CHECK(h->given == 1);
    }
}

TEST_CASE("the handle asks the clock") {
    const auto s = live();
    const lease l = detail::access::lease_of(s);
    CHECK(l);
    CHECK(l.remaining() > 59min);
    s->set_end(clock::now() - 1ns);
    CHECK_FALSE(l);
    CHECK(l.remaining() == 0ms);
    CHECK(l.fence() == 7);
}

TEST_CASE("a lease that was denied does not come to life again") {
    const auto s = live();
    const auto end = s->valid_until();
    CHECK(s->is_valid(end - 1ms));
    CHECK(s->set_end(end + 1h));
    CHECK(s->is_valid(end));
    CHECK_FALSE(s->is_valid(end + 1h));
    CHECK_FALSE(s->is_valid(end));
    CHECK_FALSE(s->set_end(end + 2h));
    CHECK_FALSE(s->is_valid(end));
    CHECK(s->valid_until() == end + 1h);
    const lease l = detail::access::lease_of(s);
    CHECK_FALSE(l);
    CHECK(l.remaining() == 0ms);
}

TEST_CASE("of a denial and an extension on two threads one is first") {
    for (int i = 0; i < 200; ++i) {
        const auto s = live();
        const auto end = s->valid_until();
        std::atomic<bool> is_prolonged = false;
        std::jthread strand([&] { is_prolonged = s->set_end(end + 1h); });
        const bool was_valid = s->is_valid(end);
        strand.join();
        CHECK(is_prolonged == was_valid);
        CHECK(s->is_valid(end) == was_valid);
    }
}

TEST_CASE("a lease is shared only before its token is out, and its token says so from then on") {
    const auto s = proven();
    SECTION("before") {
        CHECK(s->share());
        CHECK(s->share());
        CHECK_FALSE(s->is_known_elsewhere());
        const auto known = wire::read_token(s->token());
        REQUIRE(known);
        CHECK(known->proof.is_shared);
        CHECK(known->proof.value == s->proof.value);
        CHECK(s->is_known_elsewhere());
        CHECK(s->share());  // again
    }
    SECTION("after") {
        const auto token = s->token();
        CHECK_FALSE(s->share());
        CHECK(s->token() == token);
        CHECK_FALSE(wire::read_token(token)->proof.is_shared);
    }
}

TEST_CASE("of a token and a change to shared on two threads one is first") {
    for (int i = 0; i < 200; ++i) {
        const auto s = proven();
        std::atomic<bool> is_shared = false;
        std::jthread strand([&] { is_shared = s->share(); });
        const auto known = wire::read_token(s->token());
        strand.join();
        REQUIRE(known);
        CHECK(known->proof.is_shared == is_shared);
    }
}

TEST_CASE("an empty handle answers everything") {
    lease l;
    CHECK_FALSE(l);
    CHECK(l.resource().empty());
    CHECK(l.owner().is_zero());
    CHECK(l.votes().empty());
    CHECK(l.remaining() == 0ms);
    CHECK_FALSE(l.lost_token().stop_possible());
    l.detach();
    CHECK(detail::access::surrender(std::move(l)) == nullptr);
}

}  // namespace lease_state_test

// Tests that the votes of a lease stay as they were cast, in either form; knows no nodes.
namespace kept_votes_test {

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

}  // namespace kept_votes_test
