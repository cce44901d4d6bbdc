// Tests readers of one client and of others, from acquiring to loss; knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/waiting.hpp"
#include "support/catch.hpp"
#include "wire/request.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

constexpr acquire_options reader{.ttl = 10s, .mode = lock_mode::shared};
constexpr acquire_options patient_reader{.ttl = 10s, .wait = 30s, .mode = lock_mode::shared};
constexpr acquire_options patient_writer{.ttl = 10s, .wait = 30s};

// How many share the key there; 0 also where the set is left over.
std::size_t readers_on(world& w, std::size_t node) {
    auto& on = w.nodes[node];
    const auto keys = on.keys(w.now);
    const auto key = keys.find("r");
    if (key == keys.end() || key->second.value != "redlock:shared") return 0;
    const stored* const set = on.database().find(wire::readers_key("", "r"), on.wall.ms(w.now));
    if (set == nullptr) return 0;
    return std::get<sorted_set>(set->value).all().size() - 1;  // and the base
}

std::vector<std::size_t> readers_on_all(world& w) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < w.nodes.size(); ++i) out.push_back(readers_on(w, i));
    return out;
}

bool has_set(world& w, std::size_t node) {
    auto& on = w.nodes[node];
    return on.database().find(wire::readers_key("", "r"), on.wall.ms(w.now)) != nullptr;
}

std::size_t commands_of(const world& w, std::size_t node) {
    return static_cast<std::size_t>(
        std::count_if(w.nodes[node].seen.begin(), w.nodes[node].seen.end(),
                      [](const command& c) { return testing::requests_of(c).has_value(); }));
}

}  // namespace

TEST_CASE("readers that ask in one turn are one command") {
    world w(fenced_options_for(3));
    w.start();
    std::vector<ending_ptr> all;
    for (int i = 0; i < 5; ++i) all.push_back(w.acquire("r", reader));
    for (const auto& e : all) {
        REQUIRE(w.run_until_over(*e));
        CHECK(e->held);
    }
    w.run_for(1ms);
    for (std::size_t i = 0; i < 3; ++i) CHECK(commands_of(w, i) == 1);
    CHECK(readers_on_all(w) == std::vector<std::size_t>{5, 5, 5});
}

TEST_CASE("readers of one client hold a resource together") {
    const bool waits = GENERATE(true, false);
    connected_world w(fenced_options_for(3));
    std::vector<ending_ptr> all;
    for (int i = 0; i < 5; ++i) all.push_back(w.acquire("r", waits ? patient_reader : reader));
    const auto began = w.now;
    for (const auto& e : all) {
        REQUIRE(w.run_until_over(*e));
        CHECK(e->outcome() == error_code());
        CHECK(e->held);
        CHECK(e->held.fence() > 0);
    }
    CHECK(w.now - began == trip);
    w.run_for(1ms);
    CHECK(readers_on_all(w) == std::vector<std::size_t>{5, 5, 5});
    // A writer finds the key held by readers, and one of another library finds it held.
    const auto writer = w.granted("r");
    CHECK(writer->outcome() == errc::contended);
    for (const node_vote& v : writer->held.votes()) {
        if (v.answer == vote::held) CHECK(v.detail == "readers");
    }
    CHECK(readers_on_all(w) == std::vector<std::size_t>{5, 5, 5});
}

TEST_CASE("readers give the key back one by one, and the last one leaves nothing") {
    connected_world w(fenced_options_for(3));
    std::vector<ending_ptr> all;
    for (int i = 0; i < 3; ++i) all.push_back(w.granted("r", reader));
    for (std::size_t left = 3; left > 0; --left) {
        CHECK(readers_on_all(w) == std::vector<std::size_t>(3, left));
        CHECK(w.granted("r")->outcome() == errc::contended);
        const auto released = w.release(std::move(all[left - 1]->held));
        REQUIRE(w.run_until_over(*released));
        CHECK(released->outcome() == error_code());
        w.run_for(1ms);
    }
    CHECK(w.ours("r") == 0);
    for (std::size_t i = 0; i < 3; ++i) CHECK_FALSE(has_set(w, i));
    const auto writer = w.granted("r");
    CHECK(writer->held);
    for (const auto& e : all) CHECK_FALSE(e->held);
    // A reader after it has a higher fence.
    const auto fence = writer->held.fence();
    w.run_until_over(*w.release(std::move(writer->held)));
    CHECK(w.granted("r", reader)->held.fence() > fence);
}

TEST_CASE("readers' leases are renewed, together, for as long as they are held") {
    connected_world w(fenced_options_for(3));
    const auto a = w.granted("r", reader);
    const auto b = w.granted("r", reader);
    const auto writer = w.granted("other");
    const auto before = commands_of(w, 0);
    w.run_for(60s);
    CHECK(a->held);
    CHECK(b->held);
    CHECK(writer->held);
    CHECK(a->held.remaining() > 5s);
    CHECK(readers_on_all(w) == std::vector<std::size_t>{2, 2, 2});
    // Every third of a ttl, and all in one command.
    CHECK(commands_of(w, 0) - before <= 60 / 3 + 2);
    const auto extended = w.extend(a->held, 30s);
    REQUIRE(w.run_until_over(*extended));
    CHECK(extended->outcome() == error_code());
    CHECK(a->held.remaining() > 25s);
}

TEST_CASE("a reader whose lease is not renewed loses it, and keeps nobody out any longer") {
    connected_world w(fenced_options_for(3));
    const auto dead =
        w.granted("r", {.ttl = 2s, .renew = false, .mode = lock_mode::shared});
    const auto alive = w.granted("r", reader);
    const auto lost = w.lost(dead->held);
    REQUIRE(w.run_until_over(*lost));
    CHECK(lost->lost_for == loss::expired);
    CHECK_FALSE(dead->held);
    CHECK(alive->held);
    w.run_for(100ms);
    const auto writer = w.acquire("r", patient_writer);
    w.run_for(1s);
    CHECK_FALSE(writer->is_over());
    w.release(std::move(alive->held));
    CHECK(time_until_over(w, *writer) <= 2 * trip);
    CHECK(writer->held);
}

TEST_CASE("a reader loses its lease where another has the keys, and takes back what is gone") {
    connected_world w(fenced_options_for(3));
    const auto a = w.granted("r", reader);
    const auto b = w.granted("r", reader);
    SECTION("a writer has a quorum of the keys") {
        w.take_elsewhere("r", 2);
        const auto lost = w.lost(a->held);
        REQUIRE(w.run_until_over(*lost));
        w.run_for(1s);
        CHECK_FALSE(a->held);
        CHECK_FALSE(b->held);
        w.run_for(10s);
        CHECK(w.nodes[0].keys(w.now).at("r").value == world::elsewhere);  // not touched
        CHECK(w.nodes[1].keys(w.now).at("r").value == world::elsewhere);
        CHECK_FALSE(w.nodes[2].keys(w.now).contains("r"));  // run out
    }
    SECTION("the key is gone on one: both take it again under their fences") {
        w.nodes[0].remove("r");
        w.run_for(20s);
        CHECK(a->held);
        CHECK(b->held);
        CHECK(readers_on_all(w) == std::vector<std::size_t>{2, 2, 2});
    }
    SECTION("the keys are gone: a writer may have come and gone") {
        const auto lost = w.lost(a->held);
        for (auto& node : w.nodes) node.remove("r");
        w.run_for(20s);
        CHECK(lost->lost_for == loss::taken);
        CHECK_FALSE(a->held);
        CHECK_FALSE(b->held);
        CHECK(readers_on_all(w) == std::vector<std::size_t>{0, 0, 0});
    }
    SECTION("a node is back empty") {
        w.crash(1, redis_model::data::lost);
        w.run_for(20s);
        CHECK(a->held);
        CHECK(b->held);
        CHECK(readers_on(w, 0) == 2);
        CHECK(readers_on(w, 2) == 2);
    }
}

TEST_CASE("readers that wait for a writer here go together, with what frees the resource") {
    connected_world w(fenced_options_for(3));
    const auto writer = w.granted("r", {.wait = 1s});
    REQUIRE(writer->held);
    const auto a = w.acquire("r", patient_reader);
    const auto b = w.acquire("r", patient_reader);
    w.run_for(100ms);
    CHECK_FALSE(a->is_over());
    const auto before = commands_of(w, 1);
    w.release(std::move(writer->held));
    CHECK(time_until_over(w, *a) == trip);
    CHECK(time_until_over(w, *b) == 0us);
    CHECK(a->held);
    CHECK(b->held);
    CHECK(commands_of(w, 1) == before + 1);
    w.run_for(1ms);
    CHECK(readers_on_all(w) == std::vector<std::size_t>{2, 2, 2});
}

TEST_CASE("a writer behind readers is known to the nodes, and no reader passes it") {
    connected_world w(fenced_options_for(3));
    const auto a = w.granted("r", patient_reader);
    const auto b = w.granted("r", patient_reader);
    const auto writer = asleep(w, "r", patient_writer);
    const auto late = w.acquire("r", patient_reader);
    w.run_for(1s);
    CHECK_FALSE(writer->is_over());
    CHECK_FALSE(late->is_over());
    // One that does not wait is refused at once.
    const auto hasty = w.granted("r", reader);
    CHECK(hasty->outcome() == errc::contended);
    CHECK(hasty->held.votes()[0].answer == vote::queued);
    // Nor does one of another client.
    CHECK(readers_on_all(w) == std::vector<std::size_t>{2, 2, 2});
    SECTION("the readers go") {
        w.release(std::move(a->held));
        w.run_for(100ms);
        CHECK_FALSE(writer->is_over());
        w.release(std::move(b->held));
        CHECK(time_until_over(w, *writer) <= 2 * trip);
        CHECK(writer->held);
        CHECK(writer->held.fence() > a->held.fence());
        CHECK_FALSE(late->is_over());
        const auto fence = writer->held.fence();
        w.release(std::move(writer->held));
        CHECK(time_until_over(w, *late) <= 2 * trip);
        CHECK(late->held.fence() > fence);
    }
    SECTION("the writer gives up") {
        w.cancel(*writer);
        CHECK(time_until_over(w, *late) <= 2 * trip);
        CHECK(late->held);
        w.run_for(1ms);
        CHECK(readers_on_all(w) == std::vector<std::size_t>{3, 3, 3});
    }
    SECTION("the late reader gives up") {
        w.cancel(*late);
        w.run_for(100ms);
        CHECK(readers_on_all(w) == std::vector<std::size_t>{2, 2, 2});
        CHECK(queued_in_all(w, "r") == 3);
    }
}

TEST_CASE("readers that wait for another client's key are woken together") {
    connected_world w(fenced_options_for(3));
    stranger other(w);
    w.take_elsewhere("r", 3);
    const auto a = w.acquire("r", patient_reader);
    const auto b = w.acquire("r", patient_reader);
    w.run_for(100ms);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto entries = queue_of(w, i, "r");
        REQUIRE(entries.size() == 2);
        for (const auto& e : entries) CHECK(e.id.find(":r") != std::string::npos);
    }
    other.release_all("r");
    CHECK(time_until_over(w, *a) <= 2 * trip);
    CHECK(time_until_over(w, *b) <= trip);
    CHECK(a->held);
    CHECK(b->held);
    w.run_for(1ms);
    CHECK(queued_in_all(w, "r") == 0);
    CHECK(readers_on_all(w) == std::vector<std::size_t>{2, 2, 2});
}

TEST_CASE("a reader stands behind another client's writer in line, until that is gone") {
    connected_world w(fenced_options_for(3));
    const auto a = w.granted("r", reader);
    stranger other(w);
    other.listen();
    other.enter_all("r", 1);
    const auto behind = w.acquire("r", patient_reader);
    w.run_for(1s);
    CHECK_FALSE(behind->is_over());
    CHECK(readers_on_all(w) == std::vector<std::size_t>{1, 1, 1});
    SECTION("it leaves") {
        for (std::size_t i = 0; i < 3; ++i) other.leave(i, "r", 1);
        CHECK(time_until_over(w, *behind) <= 2 * trip);
    }
    SECTION("it dies: what it costs is its entry's life") {
        CHECK(time_until_over(w, *behind) <= 1s + refresh);
    }
    CHECK(behind->held);
    CHECK(a->held);
}

TEST_CASE("an inspection names the readers that a quorum of nodes knows") {
    connected_world w(fenced_options_for(3));
    const auto a = w.granted("r", reader);
    const auto b = w.granted("r", {.ttl = 2s, .renew = false, .mode = lock_mode::shared});
    w.run_for(100ms);
    auto seen = w.inspect("r");
    REQUIRE(w.run_until_over(*seen));
    CHECK(seen->state.held);
    CHECK(seen->state.owner.empty());
    CHECK_FALSE(seen->state.held_for);
    CHECK(seen->state.fence == b->held.fence());
    CHECK(seen->state.readers.size() == 2);
    for (const node_state& n : seen->state.nodes) {
        CHECK(n.state == key_state::shared);
        CHECK(n.readers.size() == 2);
        for (const auto& name : n.readers) {
            CHECK(name.ends_with("...@tester"));
            CHECK(name.find(a->held.owner().to_string()) == std::string::npos);
        }
    }
    // One without it is no quorum's loss, and two are.
    auto& on = w.nodes[0];
    on.database().erase(wire::readers_key("", "r"), on.wall.ms(w.now));
    seen = w.inspect("r");
    REQUIRE(w.run_until_over(*seen));
    CHECK(seen->state.readers.size() == 2);
    CHECK(seen->state.nodes[0].readers.empty());
    w.nodes[1].remove("r");
    seen = w.inspect("r");
    REQUIRE(w.run_until_over(*seen));
    CHECK(seen->state.readers.empty());
    CHECK(seen->state.nodes[1].state == key_state::free);
    CHECK(seen->state.nodes[1].readers.empty());  // what is left of the set is not shown
    CHECK(seen->state.nodes[2].readers.size() == 2);
    // A dead reader is not shown either, though its entry is there.
    w.run_for(2s);
    seen = w.inspect("r");
    REQUIRE(w.run_until_over(*seen));
    CHECK(seen->state.nodes[2].readers.size() == 1);
}
