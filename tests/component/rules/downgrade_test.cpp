// Tests leases that are shared by their holder, from the request to the release; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/records.hpp"
#include "component/support/waiting.hpp"
#include "support/catch.hpp"
#include "wire/request.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

constexpr acquire_options writing{.ttl = 10s};
constexpr acquire_options waiting_writer{.ttl = 10s, .wait = 30s};
constexpr acquire_options beside{.ttl = 10s, .mode = lock_mode::shared};
constexpr acquire_options waiting_reader{.ttl = 10s, .wait = 30s, .mode = lock_mode::shared};

// "shared", "alone" or "free", and how many readers there are.
std::string form_on(world& w, std::size_t node) {
    auto& on = w.nodes[node];
    const auto keys = on.keys(w.now);
    const auto key = keys.find("r");
    if (key == keys.end()) return "free";
    if (key->second.value != "redlock:shared") return "alone";
    const stored* const set = on.database().find(wire::readers_key("", "r"), on.wall.ms(w.now));
    return "shared by " +
           std::to_string(set == nullptr ? 0 : std::get<sorted_set>(set->value).all().size() - 1);
}

std::vector<std::string> forms(world& w) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < w.nodes.size(); ++i) out.push_back(form_on(w, i));
    return out;
}
using on_each = std::vector<std::string>;

std::size_t commands_in_all(const world& w) { return w.count_sent("EVALSHA"); }

error_code downgraded(world& w, const lease& held) {
    const auto e = w.downgrade(held);
    REQUIRE(w.run_until_over(*e));
    w.run_for(1ms);
    return e->outcome();
}

}  // namespace

TEST_CASE("a writer shares its lease in one trip, and stays the same holder") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", writing);
    REQUIRE(held->held);
    w.run_for(2s);
    const auto owner = held->held.owner();
    const auto fence = held->held.fence();
    const auto until = held->held.valid_until();
    const auto sent = w.now;
    const auto e = w.downgrade(held->held);
    CHECK(time_until_over(w, *e) == trip);
    CHECK(e->outcome() == error_code());
    CHECK(held->held.owner() == owner);
    CHECK(held->held.fence() == fence);
    CHECK(held->held.valid_until() > until);
    CHECK(held->held.valid_until() - sent < 10s);  // less the drift allowance
    w.run_for(1ms);
    CHECK(forms(w) == on_each(3, "shared by 1"));
    const auto reader = w.granted("r", beside);
    CHECK(reader->held);
    CHECK(reader->held.fence() > fence);
    CHECK(w.granted("r")->outcome() == errc::contended);
    w.run_for(60s);
    CHECK(held->held);
    CHECK(forms(w) == on_each(3, "shared by 2"));
    // Each goes by itself, the last one with the keys.
    REQUIRE(w.run_until_over(*w.release(std::move(held->held))));
    w.run_for(1ms);
    CHECK(forms(w) == on_each(3, "shared by 1"));
    REQUIRE(w.run_until_over(*w.release(std::move(reader->held))));
    w.run_for(1ms);
    CHECK(forms(w) == on_each(3, "free"));
    const auto writer = w.granted("r");
    CHECK(writer->held.fence() > reader->held.fence());
}

TEST_CASE("readers of this client that wait come in with the request, and no writer does") {
    connected_world w(fenced_options_for(3));
    const bool has_waited = GENERATE(false, true);
    const auto held = w.granted("r", has_waited ? waiting_writer : writing);
    const auto a = w.acquire("r", waiting_reader);
    const auto b = w.acquire("r", waiting_reader);
    w.run_for(100ms);
    const auto writer = w.acquire("r", waiting_writer);
    const auto behind = w.acquire("r", waiting_reader);
    w.run_for(100ms);
    CHECK(downgraded(w, held->held) == error_code());
    CHECK(a->held);
    CHECK(b->held);
    CHECK(a->held.fence() > held->held.fence());
    w.run_for(1s);
    CHECK_FALSE(writer->is_over());
    CHECK_FALSE(behind->is_over());
    CHECK(forms(w) == on_each(3, "shared by 3"));
    for (auto* one : {&held, &a, &b}) w.release(std::move((*one)->held));
    CHECK(time_until_over(w, *writer) <= 2 * trip);
    CHECK(writer->held.fence() > b->held.fence());
    CHECK_FALSE(behind->is_over());
    w.release(std::move(writer->held));
    CHECK(time_until_over(w, *behind) <= 2 * trip);
}

TEST_CASE("readers of another client that wait are woken, and a writer is not") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", writing);
    w.run_for(1ms);
    stranger reader(w, "reader", "r1");
    stranger writer(w, "writer");
    for (stranger* one : {&reader, &writer}) one->listen();
    const bool is_writer_first = GENERATE(false, true);
    reader.enter_all("r", is_writer_first ? 2 : 1, 30s);
    writer.enter_all("r", is_writer_first ? 1 : 2, 30s);
    CHECK(downgraded(w, held->held) == error_code());
    CHECK(reader.nodes_heard() == (is_writer_first ? 0 : 3));
    CHECK(writer.nodes_heard() == 0);
    const auto heard = reader.heard;
    w.run_for(10s);
    CHECK(reader.heard == heard);  // no renewal wakes it again
    w.release(std::move(held->held));
    w.run_for(1ms);
    CHECK(reader.nodes_heard() == (is_writer_first ? 0 : 3));
    CHECK(writer.nodes_heard() == (is_writer_first ? 3 : 0));
}

TEST_CASE("a waiter that is the first and a writer stays so, and no reader passes it") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", waiting_writer);
    const auto writer = w.acquire("r", waiting_writer);
    const auto reader = w.acquire("r", waiting_reader);
    w.run_for(100ms);
    CHECK(downgraded(w, held->held) == error_code());
    w.run_for(1s);
    CHECK_FALSE(writer->is_over());
    CHECK_FALSE(reader->is_over());
    // Now it waits at the nodes, where readers of other programs find it.
    for (std::size_t i = 0; i < 3; ++i) CHECK(queue_of(w, i, "r").size() == 1);
    CHECK(w.granted("r", beside)->outcome() == errc::contended);
    w.release(std::move(held->held));
    CHECK(time_until_over(w, *writer) <= 2 * trip);
}

TEST_CASE("a node that was away is turned by a renewal, and until then keeps readers out") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", writing);
    w.run_for(1ms);
    w.set_mode(2, mode::refuses);
    w.run_for(10ms);
    CHECK(downgraded(w, held->held) == error_code());
    CHECK(forms(w) == on_each{"shared by 1", "shared by 1", "alone"});
    w.set_mode(2, mode::up);
    const auto reader = w.granted("r", beside);
    CHECK(reader->held);  // by the other two
    w.run_for(4s);
    CHECK(form_on(w, 2) == "shared by 2");
    CHECK(held->held);
    CHECK(reader->held);
}

TEST_CASE("a release frees the nodes that share the resource, and those that do not yet") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", writing);
    w.run_for(1ms);
    w.set_mode(2, mode::refuses);
    w.run_for(10ms);
    CHECK(downgraded(w, held->held) == error_code());
    const bool is_away = GENERATE(false, true);
    if (!is_away) {
        w.set_mode(2, mode::up);
        w.run_for(1s);
        REQUIRE(form_on(w, 2) == "alone");
    }
    const auto released = w.release(std::move(held->held));
    REQUIRE(w.run_until_over(*released));
    CHECK(released->outcome() == error_code());
    w.set_mode(2, mode::up);
    w.run_for(2s);
    CHECK(forms(w) == on_each(3, "free"));
    for (auto& node : w.nodes) {
        CHECK(node.database().find(wire::readers_key("", "r"), node.wall.ms(w.now)) == nullptr);
    }
}

TEST_CASE("a request that too few nodes got is an error, and the lease is shared all the same") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", {.ttl = 10s, .renew = false});
    w.run_for(1s);
    const auto until = held->held.valid_until();
    const bool is_cancelled = GENERATE(false, true);
    for (const std::size_t i : {1U, 2U}) w.set_mode(i, is_cancelled ? mode::mute : mode::refuses);
    w.run_for(10ms);
    if (is_cancelled) {
        const auto e = w.downgrade(held->held);
        w.run_for(1ms);
        w.cancel(*e);
        CHECK(e->outcome() == boost::asio::error::operation_aborted);
    } else {
        CHECK(downgraded(w, held->held) == errc::no_quorum);
    }
    CHECK(held->held);
    CHECK(held->held.valid_until() == until);
    CHECK(forms(w) == on_each{"shared by 1", "alone", "alone"});
    for (const std::size_t i : {1U, 2U}) w.set_mode(i, mode::up);
    w.run_for(1s);
    // Its token is a reader's.
    const auto adopted = w.adopted(held->held.token(), {.ttl = 10s, .renew = false});
    CHECK(adopted->held);
    w.run_for(1ms);
    CHECK(forms(w) == on_each(3, "shared by 1"));
    // Again: until a quorum is known to share it, the client queries the nodes.
    CHECK(downgraded(w, held->held) == error_code());
    const auto before = commands_in_all(w);
    CHECK(downgraded(w, held->held) == error_code());
    CHECK(commands_in_all(w) == before);
}

TEST_CASE("what is shared already is success, and nothing is sent") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", beside);
    w.run_for(1ms);
    const auto before = commands_in_all(w);
    const auto e = w.downgrade(held->held);
    CHECK(e->is_over());
    CHECK(e->outcome() == error_code());
    w.run_for(1ms);
    CHECK(commands_in_all(w) == before);
}

TEST_CASE("leases that can't be shared are refused, nothing is sent, and they stay as they were") {
    const bool is_fenced = GENERATE(true, false);
    connected_world w(is_fenced ? fenced_options_for(3) : options_for(3));
    ending_ptr held;
    if (!is_fenced) {
        held = w.granted("r", writing);
    } else {
        const int which = GENERATE(0, 1, 2, 3, 4);
        if (which == 0) {
            held = w.acquire_all({"r", "s"}, writing);
            w.run_until_over(*held);
        }
        if (which == 1) held = w.granted("r", {.ttl = 10s, .slots = 2});
        if (which == 2) held = w.granted("r", {.ttl = 10s, .min_hold = 5s});
        if (which == 3) {
            held = w.granted("r", writing);
            CHECK_FALSE(held->held.token().empty());
        }
        if (which == 4) {
            const auto first = w.granted("r", writing);
            held = w.adopted(first->held.token(), writing);
            first->held.detach();
        }
    }
    REQUIRE(held->held);
    w.run_for(1ms);
    const auto before = commands_in_all(w);
    const auto e = w.downgrade(held->held);
    CHECK(e->is_over());
    CHECK(e->outcome() == errc::invalid_argument);
    w.run_for(1ms);
    CHECK(commands_in_all(w) == before);
    CHECK(held->held);
    for (std::size_t i = 0; i < 3; ++i) CHECK(form_on(w, i).find("shared") == std::string::npos);
    w.run_for(20s);
    CHECK(held->held);
    REQUIRE(w.run_until_over(*w.release(std::move(held->held))));
}

TEST_CASE("a lease whose min_hold is over is shared, and released without a rest of it") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", {.ttl = 10s, .min_hold = 5s});
    w.run_for(4s);
    CHECK(downgraded(w, held->held) == errc::invalid_argument);
    w.run_for(2s);
    CHECK(downgraded(w, held->held) == error_code());
    CHECK(forms(w) == on_each(3, "shared by 1"));
    REQUIRE(w.run_until_over(*w.release(std::move(held->held))));
    w.run_for(1ms);
    CHECK(forms(w) == on_each(3, "free"));
}

TEST_CASE("a lease that is over, or none, is not shared") {
    connected_world w(fenced_options_for(3));
    const lease none;
    CHECK(w.downgrade(none)->outcome() == errc::invalid_argument);
    const auto held = w.granted("r", {.ttl = 1s, .renew = false});
    SECTION("lost before") {
        w.run_for(2s);
        CHECK(downgraded(w, held->held) == errc::lost);
    }
    SECTION("lost during the call") {
        w.run_for(970ms);
        for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::mute);
        const auto e = w.downgrade(held->held);
        w.run_for(2s);
        CHECK(e->outcome() == errc::lost);
    }
    SECTION("unanswered before it is lost") {
        for (std::size_t i = 0; i < 3; ++i) w.set_mode(i, mode::mute);
        CHECK(downgraded(w, held->held) == errc::no_quorum);
        CHECK(held->held);
        w.run_for(2s);
        CHECK_FALSE(held->held);
    }
    SECTION("a quorum denies it: it is lost as taken") {
        w.take_elsewhere("r", 2);
        const auto lost = w.lost(held->held);
        CHECK(downgraded(w, held->held) == errc::not_held);
        CHECK(lost->lost_for == loss::taken);
        CHECK(w.nodes[0].keys(w.now).at("r").value == world::elsewhere);
    }
    SECTION("given back") {
        const auto state = state_of(held->held);
        const lease other = detail::access::lease_of(state);
        REQUIRE(w.run_until_over(*w.release(std::move(held->held))));
        CHECK(w.downgrade(other)->outcome() == errc::not_held);
    }
}

TEST_CASE("where a key is gone, the request takes it as a reader does") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", writing);
    w.run_for(1ms);
    SECTION("it was evicted") {
        w.nodes[1].remove("r");
        CHECK(downgraded(w, held->held) == error_code());
        CHECK(forms(w) == on_each(3, "shared by 1"));
    }
    SECTION("an operator took it") {
        const auto shown = w.inspect("r");
        REQUIRE(w.run_until_over(*shown));
        REQUIRE(w.run_until_over(*w.revoke(shown->state)));
        CHECK(downgraded(w, held->held) == errc::not_held);
        CHECK(forms(w) == on_each(3, "free"));
    }
}

TEST_CASE("an operator takes a lease that was shared, and it does not come back") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", writing);
    w.run_for(1ms);
    w.set_mode(2, mode::refuses);
    w.run_for(10ms);
    REQUIRE(downgraded(w, held->held) == error_code());
    w.set_mode(2, mode::up);
    w.run_for(1s);
    const auto shown = w.inspect("r");
    REQUIRE(w.run_until_over(*shown));
    CHECK(shown->state.readers.size() == 1);
    const auto revoked = w.revoke(shown->state);
    REQUIRE(w.run_until_over(*revoked));
    CHECK(revoked->outcome() == error_code());
    CHECK(forms(w) == on_each(3, "free"));
    const auto lost = w.lost(held->held);
    REQUIRE(w.run_until_over(*lost));
    CHECK(lost->lost_for == loss::taken);
    w.run_for(20s);
    CHECK(forms(w) == on_each(3, "free"));
}

TEST_CASE("a renewal that was on its way as a writer's does no harm") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", {.ttl = 3s});
    SECTION("it is answered after the request was sent") {
        const auto before = w.engine->stats().renewals;
        while (calls_of(w, ask::extend, 0) == 0) w.turn();
        REQUIRE(w.engine->stats().renewals == before);
        CHECK(downgraded(w, held->held) == error_code());
        CHECK(forms(w) == on_each(3, "shared by 1"));
    }
    SECTION("the nodes lost their scripts: each is sent again as it has to be now") {
        for (auto& node : w.nodes) node.flush_scripts();
        while (calls_of(w, ask::extend, 0) == 0) w.turn();
        CHECK(downgraded(w, held->held) == error_code());
        w.run_for(10ms);
        CHECK(forms(w) == on_each(3, "shared by 1"));
    }
    SECTION("it is executed when its sender has long hung up") {
        w.set_mode(2, mode::mute);
        w.run_for(1500ms);  // by then it lies in a connection that was given up
        CHECK(downgraded(w, held->held) == error_code());
        w.set_mode(2, mode::up);
        w.run_for(1ms);
        CHECK(form_on(w, 2) == "alone");
        w.run_for(3s);
        CHECK(form_on(w, 2) == "shared by 1");
        w.release(std::move(held->held));
        w.run_for(1s);
        CHECK(forms(w) == on_each(3, "free"));
    }
    w.run_for(10s);
}

TEST_CASE("a node that is connected after a downgrade gets a reader's key") {
    connected_world before(fenced_options_for(3));
    before.run_for(5s);
    const auto w = latecomer(before, fenced_options_for(3));
    w->set_mode(2, mode::mute);
    w->connected();
    const auto held = w->granted("r", {.ttl = 9s});
    REQUIRE(held->held);
    CHECK(downgraded(*w, held->held) == error_code());
    w->set_mode(2, mode::up);
    w->run_for(50ms);
    CHECK(form_on(*w, 2) == "shared by 1");
}

TEST_CASE("the watchdog and max_hold end a lease that was shared as any other") {
    connected_world w(fenced_options_for(3));
    const bool is_watched = GENERATE(false, true);
    const auto held = w.granted("r", is_watched ? acquire_options{.ttl = 3s, .watchdog = 4s}
                                                : acquire_options{.ttl = 3s, .max_hold = 4s});
    const auto lost = w.lost(held->held);
    w.run_for(1s);
    REQUIRE(downgraded(w, held->held) == error_code());
    REQUIRE(w.run_until_over(*lost));
    CHECK(lost->lost_for == (is_watched ? loss::stalled : loss::max_hold));
    w.run_for(5s);
    CHECK(forms(w) == on_each(3, "free"));
}
