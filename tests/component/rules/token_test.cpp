// Tests leases that several programs know by their token, and what is left of them; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/waiting.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "wire/owner_value.hpp"
#include "wire/request.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

std::size_t noted_on(world& w, std::size_t node, const std::string& resource = "r") {
    auto& on = w.nodes[node];
    const stored* const set = on.database().find(wire::revoked_of("", resource), on.wall.ms(w.now));
    return set == nullptr ? 0 : std::get<sorted_set>(set->value).all().size();
}

std::string value_on(const world& w, std::size_t node) {
    const auto keys = w.nodes[node].keys(w.now);
    const auto at = keys.find("r");
    return at == keys.end() ? "" : at->second.value;
}

std::uint64_t fence_on(const world& w, std::size_t node) {
    const auto all = w.nodes[node].all_keys(w.now);
    const auto at = all.find(wire::fence_key("", "r"));
    return at == all.end() ? 0 : std::stoull(at->second.value);
}

time_point expiry_on(const world& w, std::size_t node) {
    return w.nodes[node].keys(w.now).at("r").expires;
}

ending_ptr released(world& w, lease held) {
    const auto e = w.release(std::move(held));
    w.run_until_over(*e);
    w.run_for(1ms);
    return e;
}

/// As another program does by the lease's token, whose requests reach this node alone.
void note_released(world& w, std::size_t node, const lease& held) {
    client_state way;
    auto& on = w.nodes[node];
    on.remove("r");
    on.execute(way, {"ZADD", std::string(std::string_view(wire::revoked_of("", "r"))),
                     std::to_string(on.wall.ms(w.now) + 60'000),
                     state_of(held)->proof.value.c_str()},
               w.now);
}

/// The token as it would be where the acquirer's cluster time was `behind` that of this client.
std::string token_of_slow_clocks(const std::string& token, std::chrono::microseconds behind) {
    auto known = wire::read_token(token).value();
    known.fence -= static_cast<std::uint64_t>(behind.count());
    return wire::write_token(known.resources, known.fence, known.proof);
}

}  // namespace

TEST_CASE("a lease is lost as taken when a node says too late that it was released") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s});
    const auto lost = w.lost(e->held);
    note_released(w, 2, e->held);
    w.set_mode(2, mode::mute);
    w.run_for(1300ms);
    REQUIRE(w.engine->stats().renewals == 1);
    w.set_mode(2, mode::up);
    w.run_for(100ms);  // before the next renewal
    REQUIRE(lost->is_over());
    CHECK(lost->lost_for == loss::taken);
}

TEST_CASE("a lease that another program released by its token is lost as taken") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s});
    const std::string token = e->held.token();
    const auto lost = w.lost(e->held);
    auto other = w.adopted(token, {.ttl = 3s, .renew = false});
    REQUIRE(other->held);
    CHECK(released(w, std::move(other->held))->outcome() == error_code());
    REQUIRE(w.ours("r") == 0);
    SECTION("where the key is free again") {
        w.take_elsewhere("r", 3, 100ms);
        w.run_for(200ms);
    }
    SECTION("where it was never taken") {}
    w.run_for(1500ms);
    REQUIRE(lost->is_over());
    CHECK(lost->lost_for == loss::taken);
    CHECK_FALSE(e->held);
    CHECK(w.ours("r") == 0);
    CHECK(w.adopted(token)->outcome() == errc::not_held);
    w.run_for(3s);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("a lease whose holder released it is not taken again by one that adopted it") {
    connected_world w(fenced_options_for(3));
    const auto mode = GENERATE(lock_mode::exclusive, lock_mode::shared);
    const auto e = w.granted("r", {.ttl = 3s, .renew = false, .mode = mode});
    const auto other = w.adopted(e->held.token(), {.ttl = 3s});
    REQUIRE(other->held);
    const auto lost = w.lost(other->held);
    SECTION("released") { CHECK(released(w, std::move(e->held))->outcome() == error_code()); }
    SECTION("destroyed") { e->held = lease(); }
    w.run_for(1ms);
    CHECK(w.ours("r") == 0);
    for (std::size_t i = 0; i < 3; ++i) CHECK(noted_on(w, i) == 1);
    w.run_for(1500ms);
    REQUIRE(lost->is_over());
    CHECK(lost->lost_for == loss::taken);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("a lost lease leaves its keys to the process that adopted it") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 2s, .max_hold = 100ms});
    const auto lost = w.lost(e->held);
    const std::string token = e->held.token();
    w.run_until_over(*lost);
    CHECK(lost->lost_for == loss::max_hold);
    const auto other = w.adopted(token, {.ttl = 6s});
    REQUIRE(other->held);
    SECTION("when its holder drops it") { e->held = lease(); }
    SECTION("when its holder gives it back") {
        CHECK(released(w, std::move(e->held))->outcome() == errc::lost);
    }
    SECTION("when its validity is over") {}
    w.run_for(4s);
    CHECK(other->held);
    CHECK(w.ours("r") == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(noted_on(w, i) == 0);
}

TEST_CASE("a lease that was dropped before its loss was noticed is released") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 2s, .max_hold = 500ms});
    const std::string token = e->held.token();
    w.run_for(100ms);
    w.now += 1s;  // the thread stands still, and the message comes behind the timer
    e->held = lease();
    w.run_for(1ms);
    for (std::size_t i = 0; i < 3; ++i) CHECK(noted_on(w, i) == 1);
    CHECK(w.ours("r") == 0);
    CHECK(w.adopted(token)->outcome() == errc::not_held);
}

// Its keys were deleted, and another program may have had the lock since.
TEST_CASE("a lease that was lost as taken is handed on by no token") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s});
    const std::string token = e->held.token();
    ending_ptr other = e;
    SECTION("by the one that handed it out") {}
    SECTION("by the one that took it over by its token") {
        other = w.adopted(token, {.ttl = 3s});
        REQUIRE(other->held);
        e->held.detach();
    }
    const auto lost = w.lost(other->held);
    for (std::size_t i = 0; i < 3; ++i) w.nodes[i].remove("r");
    w.run_until_over(*lost);
    CHECK(lost->lost_for == loss::taken);
    w.run_for(1ms);
    CHECK(w.ours("r") == 0);
    CHECK(w.adopted(token)->outcome() == errc::not_held);
}

TEST_CASE("a lease of several resources is noted as released for each of them") {
    connected_world w(fenced_options_for(3));
    const auto e = w.acquire_all({"a", "b"}, {.ttl = 3s});
    w.run_until_over(*e);
    REQUIRE(e->held);
    auto other = w.adopted(e->held.token(), {.renew = false});
    REQUIRE(other->held);
    released(w, std::move(other->held));
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(noted_on(w, i, "a") == 1);
        CHECK(noted_on(w, i, "b") == 1);
    }
    w.run_for(1500ms);
    CHECK_FALSE(e->held);
    CHECK(w.ours("a") + w.ours("b") == 0);
}

TEST_CASE("a lease of which nobody has the token is released without a note") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s});
    released(w, std::move(e->held));
    for (std::size_t i = 0; i < 3; ++i) CHECK(noted_on(w, i) == 0);
}

TEST_CASE("one node that knows of the release ends the lease") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s});
    const auto lost = w.lost(e->held);
    note_released(w, 0, e->held);
    w.run_for(1500ms);
    REQUIRE(lost->is_over());
    CHECK(lost->lost_for == loss::taken);
}

TEST_CASE("one node that knows of the release ends an adopted lease, however late it answers") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 30s});
    note_released(w, 2, e->held);
    const bool is_in_time = GENERATE(true, false);
    w.latency[2] = 20ms;
    if (!is_in_time) w.set_mode(2, mode::mute);
    const auto other = w.adopted(e->held.token(), {.ttl = 30s});
    REQUIRE(other->held);
    const auto lost = w.lost(other->held);
    e->held.detach();
    if (!is_in_time) w.run_for(300ms);
    w.set_mode(2, mode::up);
    w.run_for(100ms);
    REQUIRE(lost->is_over());
    CHECK(lost->lost_for == loss::taken);
}

TEST_CASE("one node that knows of the release ends an adoption that waits for another, in time or not") {
    auto options = fenced_options_for(3);
    options.node_timeout = 0ms;  // by measurement: the far node has longer to answer
    fakes::world w(options);
    w.latency[1] = 200ms;
    w.connected();
    const auto e = w.granted("r", {.ttl = 30s});
    note_released(w, 2, e->held);
    w.run_for(1s);
    if (GENERATE(true, false)) w.set_mode(2, mode::mute);
    const auto other = w.adopt(e->held.token(), {.ttl = 30s});
    w.run_for(300ms);
    w.set_mode(2, mode::up);
    w.run_for(10ms);
    REQUIRE(other->is_over());
    CHECK(other->outcome() == errc::not_held);
    CHECK_FALSE(other->held);
}

TEST_CASE("a note that has run out hinders nobody") {
    connected_world w(fenced_options_for(3, 5s));
    auto e = w.granted("r", {.ttl = 1s});
    e->held.token();
    released(w, std::move(e->held));
    e = w.granted("r", {.ttl = 1s});
    const std::string other = e->held.token();
    w.run_for(4s);
    released(w, std::move(e->held));
    for (std::size_t i = 0; i < 3; ++i) CHECK(noted_on(w, i) == 2);
    w.run_for(1100ms);
    e = w.granted("r", {.ttl = 1s});
    e->held.token();
    released(w, std::move(e->held));
    for (std::size_t i = 0; i < 3; ++i) CHECK(noted_on(w, i) == 2);  // the first one went
    w.run_for(5100ms);
    for (std::size_t i = 0; i < 3; ++i) CHECK(noted_on(w, i) == 0);
}

TEST_CASE("a release that is owed is noted on all nodes again when it goes out") {
    connected_world w(fenced_options_for(3, 5s));
    const auto e = w.granted("r", {.ttl = 4s});
    e->held.token();
    w.set_mode(0, mode::refuses);
    w.run_for(1ms);
    w.release(std::move(e->held));
    w.run_for(6s);
    REQUIRE(noted_on(w, 1) + noted_on(w, 2) == 0);
    w.set_mode(0, mode::up);
    w.run_for(1500ms);
    for (std::size_t i = 0; i < 3; ++i) CHECK(noted_on(w, i) == 1);
}

TEST_CASE("a node that can't note a release does not carry it out") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 30s});
    e->held.token();
    w.nodes[0].forbid("ZADD");
    CHECK(released(w, std::move(e->held))->outcome() == error_code());
    CHECK(w.ours("r") == 1);
    CHECK(value_on(w, 0) != "");
}

TEST_CASE("a release by token frees the key where memory has run out") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 30s});
    e->held.token();
    for (auto& node : w.nodes) node.set_out_of_memory(true);
    CHECK(released(w, std::move(e->held))->outcome() == error_code());
    CHECK(w.ours("r") == 0);
    for (std::size_t i = 0; i < 3; ++i) CHECK(noted_on(w, i) == 1);
}

TEST_CASE("an adoption that a quorum denies leaves no key") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s, .renew = false});
    const std::string token = e->held.token();
    e->held.detach();
    w.run_for(1ms);
    w.nodes[0].remove("r");
    w.nodes[1].remove("r");
    CHECK(w.adopted(token, {.ttl = 30s})->outcome() == errc::not_held);
    w.run_for(10ms);
    CHECK(w.ours("r") == 0);
}

TEST_CASE("an adoption that a quorum denies keeps what has to be kept, and as long as it was") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s, .renew = false, .min_hold = 10s});
    const time_point granted = w.now;
    std::string token = e->held.token();
    e->held.detach();
    w.run_for(2s);
    w.nodes[0].remove("r");
    w.nodes[1].remove("r");
    if (GENERATE(false, true)) token = token_of_slow_clocks(token, 14s);
    CHECK(w.adopted(token, {.ttl = 3s})->outcome() == errc::not_held);
    w.run_for(10ms);
    REQUIRE(w.ours("r") == 1);
    CHECK(value_on(w, 2).ends_with("#kept"));
    CHECK(expiry_on(w, 2) >= granted + 10s);
}

TEST_CASE("a fence that nobody would have drawn goes from a token to no node") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s, .renew = false});
    auto known = wire::read_token(e->held.token()).value();
    const auto drawn = known.fence;
    known.fence += 3'600'000'000;
    const auto token = wire::write_token(known.resources, known.fence, known.proof);
    auto other = w.adopted(token, {.renew = false});
    if (other->held) released(w, std::move(other->held));
    for (std::size_t i = 0; i < 3; ++i) {
        INFO(fence_on(w, i) << " " << drawn);
        CHECK(fence_on(w, i) < drawn + 15'000'000);
    }
    released(w, std::move(e->held));
    CHECK(w.granted("r")->outcome() == error_code());
}

TEST_CASE("a fence that nobody would have drawn goes from one node to no other by a revocation") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s, .renew = false});
    const auto drawn = e->held.fence();
    w.nodes[0].put(wire::fence_key("", "r"), std::to_string(drawn + 3'600'000'000),
                   time_point::max());
    const auto seen = w.inspect("r");
    w.run_until_over(*seen);
    const auto done = w.revoke(seen->state);
    w.run_until_over(*done);
    CHECK(done->outcome() == error_code());
    CHECK(w.ours("r") == 0);
    for (std::size_t i = 1; i < 3; ++i) {
        CHECK(fence_on(w, i) > drawn);
        CHECK(fence_on(w, i) < drawn + 15'000'000);
    }
    CHECK(w.granted("r")->outcome() == error_code());
}

namespace {

// Of a resource of which the operator was shown no readers.
ending_ptr revoked(world& w, const std::string& resource) {
    const auto seen = w.inspect(resource);
    w.run_until_over(*seen);
    for (node_state& node : seen->state.nodes) node.readers.clear();
    seen->state.readers.clear();
    auto done = w.revoke(seen->state);
    w.run_until_over(*done);
    CHECK(done->outcome() == error_code());
    return done;
}

}  // namespace

TEST_CASE("a revocation removes a key of which nobody is the holder, whatever its value says") {
    const std::string value = GENERATE("", "redlock:shared", "{}");
    connected_world w(fenced_options_for(3));
    for (auto& node : w.nodes) node.put("r", value, time_point::max());
    const auto done = revoked(w, "r");
    CHECK(done->revoked.revoked.size() == 1);
    CHECK(done->revoked.holders.empty());
    for (const auto& node : w.nodes) CHECK_FALSE(node.keys(w.now).contains("r"));
}

TEST_CASE("a revocation of a shared key without readers leaves it where there are some") {
    connected_world w(fenced_options_for(3));
    const auto reader =
        w.granted("r", {.ttl = 30s, .renew = false, .mode = lock_mode::shared});
    SECTION("that came since") {
        const auto done = revoked(w, "r");
        CHECK(done->revoked.revoked.empty());
        CHECK(done->revoked.holders.size() == 1);
        CHECK(w.ours("r") == 3);
    }
    SECTION("on other nodes") {
        w.nodes[0].remove(std::string(std::string_view(wire::readers_key("", "r"))));
        const auto done = revoked(w, "r");
        CHECK(done->revoked.revoked == std::vector<std::string>{"readers"});
        CHECK(done->revoked.holders.size() == 1);
        CHECK_FALSE(w.nodes[0].keys(w.now).contains("r"));
        CHECK(w.ours("r") == 2);
    }
}

TEST_CASE("an adopter whose clocks are ahead does not shorten min_hold") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 3s, .renew = false, .min_hold = 12s});
    const time_point granted = w.now;
    const auto token = token_of_slow_clocks(e->held.token(), 14s);
    e->held.detach();
    w.run_for(1s);
    auto other = w.adopted(token, {.ttl = 3s, .renew = false});
    REQUIRE(other->held);
    released(w, std::move(other->held));
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(value_on(w, i).ends_with("#kept"));
        CHECK(expiry_on(w, i) >= granted + 12s);
        CHECK(expiry_on(w, i) <= granted + 12s + 300ms);
    }
}

TEST_CASE("an adopter frees the keys where min_hold is over by all clocks") {
    connected_world w(fenced_options_for(3));
    const auto e = w.granted("r", {.ttl = 50s, .renew = false, .min_hold = 2s});
    w.run_for(33s);
    auto other = w.adopted(e->held.token(), {.ttl = 50s, .renew = false});
    REQUIRE(other->held);
    released(w, std::move(other->held));
    CHECK(w.ours("r") == 0);
}

TEST_CASE("a key that is kept is nobody's") {
    client_options o = fenced_options_for(3);
    o.fencing = GENERATE(true, false);
    connected_world w(std::move(o));
    const auto e = w.granted("r", {.ttl = 3s, .min_hold = 10s});
    const std::string token = e->held.token();
    const std::string value(state_of(e->held)->proof.value);
    SECTION("of a lease that was released") {
        CHECK(released(w, std::move(e->held))->outcome() == error_code());
    }
    SECTION("of one that was destroyed") {
        e->held = lease();
        w.run_for(1ms);
    }
    SECTION("where memory has run out") {
        for (auto& node : w.nodes) node.set_out_of_memory(true);
        CHECK(released(w, std::move(e->held))->outcome() == error_code());
    }
    for (std::size_t i = 0; i < 3; ++i) CHECK(value_on(w, i) == value + "#kept");
    CHECK(w.adopted(token)->outcome() == errc::not_held);
    const auto seen = w.inspect("r");
    w.run_until_over(*seen);
    CHECK_FALSE(seen->state.held);
    CHECK(seen->state.decided);
    CHECK(seen->state.kept);
    CHECK(seen->state.valid_for > 9s);
    CHECK(seen->state.owner == abbreviate_owner(value));
    CHECK(seen->state.nodes[1].state == key_state::kept);
    for (auto& node : w.nodes) node.set_out_of_memory(false);
    CHECK(w.granted("r")->outcome() == errc::contended);
}

TEST_CASE("a grant that comes so late that its keys could run out before min_hold is none") {
    connected_world w(fenced_options_for(3));
    const auto e = w.acquire("r", {.ttl = 3s, .min_hold = 4s});
    const auto stood_still = GENERATE(50ms, 150ms, 2s);
    w.turn();
    w.turn();
    w.turn();
    w.now += stood_still;  // the machine, while the answers were on their way
    w.run_until_over(*e);
    const time_point over = w.now;
    w.run_for(1ms);
    if (e->held) {
        for (std::size_t i = 0; i < 3; ++i) CHECK(expiry_on(w, i) >= over + 4s);
        CHECK(stood_still <= 150ms);
    } else {
        CHECK(e->outcome() == errc::validity_exhausted);
        CHECK(stood_still >= 150ms);
        CHECK(w.ours("r") == 0);
    }
}
