// Tests watching a resource: which changes end a watch, what it sends, and what ends it otherwise;
// knows no socket.
// SPDX-License-Identifier: MIT
#include "component/support/waiting.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "wire/request.hpp"
#include "wire/resp/command.hpp"

#include <boost/asio/error.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

constexpr auto long_look = 157ms;  // from one look to the next, at most, after a change

std::size_t looks_at(const world& w, std::size_t node) {
    std::size_t n = 0;
    for (const command& c : w.nodes[node].seen) {
        n += is_call(c, resp::look()) && c.at(5) == "digests" ? 1U : 0U;
    }
    return n;
}
std::size_t inspections_by(const world& w, std::size_t node) {
    std::size_t n = 0;
    for (const command& c : w.nodes[node].seen) {
        n += is_call(c, resp::look()) && c.at(5) == "all" ? 1U : 0U;
    }
    return n;
}
std::size_t asked(const world& w) {
    std::size_t n = 0;
    for (const auto& node : w.nodes) n += node.seen.size();
    return n;
}
void clear_log(world& w) {
    for (auto& node : w.nodes) node.seen.clear();
}

resource_state known_in(world& w, const std::string& resource) {
    const auto first = w.watch(resource);
    w.run_until_over(*first);
    REQUIRE(first->outcome() == error_code());
    return first->state;
}
/// As another program does, in that instant.
void put_everywhere(world& w, const std::string& key, const std::string& value) {
    w.take_elsewhere(key, w.nodes.size(), 1h, value);
}
void remove_everywhere(world& w, const std::string& key) {
    for (auto& node : w.nodes) node.remove(key);
}

const std::string someone = "SomeoneSomeoneSomeone1@x";

}  // namespace

TEST_CASE("a watch that knows nothing completes with the first state", "[watch]") {
    connected_world w(fenced_options_for(3));
    const auto begun = w.now;
    const auto known = known_in(w, "r");
    CHECK(known.decided);
    CHECK_FALSE(known.held);
    CHECK(known.resource == "r");
    CHECK(w.now - begun < 5ms);
}

TEST_CASE("a watch completes when a resource is taken, changes hands, and is free", "[watch]") {
    connected_world w(fenced_options_for(3));
    auto known = known_in(w, "r");
    const auto next = [&](auto change) {
        const auto e = w.watch("r", known);
        w.run_for(1s);
        REQUIRE_FALSE(e->is_over());
        change();
        const auto at = w.now;
        REQUIRE(w.run_until_over(*e));
        CHECK(e->outcome() == error_code());
        CHECK(w.now - at <= long_look + 4 * trip);
        known = e->state;
    };
    next([&] { put_everywhere(w, "r", world::elsewhere); });
    CHECK(known.held);
    CHECK(known.owner.ends_with("@elsewhere"));
    next([&] { put_everywhere(w, "r", someone); });
    CHECK(known.owner.ends_with("@x"));
    next([&] { put_everywhere(w, "r", someone + "#kept"); });
    CHECK(known.kept);
    next([&] { remove_everywhere(w, "r"); });
    CHECK_FALSE(known.held);
    CHECK_FALSE(known.kept);
}

TEST_CASE("a watch is not disturbed by extensions", "[watch]") {
    connected_world w(fenced_options_for(3));
    const auto held = w.granted("r", {.ttl = 1s});
    const auto known = known_in(w, "r");
    w.run_for(1s);  // the nodes got the script
    const auto e = w.watch("r", known);
    clear_log(w);
    w.run_for(10s);
    CHECK_FALSE(e->is_over());
    CHECK(inspections_by(w, 0) == 1);  // the one that it begins with
}

TEST_CASE("a change between two watches is not missed, and two are one", "[watch]") {
    connected_world w(fenced_options_for(3));
    const auto known = known_in(w, "r");
    put_everywhere(w, "r", world::elsewhere);
    const auto missed = w.watch("r", known);
    const auto at = w.now;
    REQUIRE(w.run_until_over(*missed));
    CHECK(missed->state.held);
    CHECK(w.now - at < 5ms);

    w.run_for(1s);
    put_everywhere(w, "r", someone);
    const auto last = w.watch("r", missed->state);
    put_everywhere(w, "r", world::foreign);
    REQUIRE(w.run_until_over(*last));
    CHECK(last->state.owner == abbreviate_owner(world::foreign));
    // There and back is no change.
    const auto idle = w.watch("r", last->state);
    w.run_for(1ms);
    remove_everywhere(w, "r");
    put_everywhere(w, "r", world::foreign);
    w.run_for(1s);
    CHECK_FALSE(idle->is_over());
}

TEST_CASE("what this client itself does with a resource shows at once", "[watch]") {
    connected_world w(fenced_options_for(3));
    const auto taken = w.watch("r", known_in(w, "r"));
    w.run_for(1s);
    auto at = w.now;
    const auto mine = w.acquire("r");
    REQUIRE(w.run_until_over(*taken));
    CHECK(taken->state.held);
    CHECK(w.now - at < 20 * trip);
    const auto freed = w.watch("r", taken->state);
    w.run_for(1s);
    at = w.now;
    w.release(std::move(mine->held));
    REQUIRE(w.run_until_over(*freed));
    CHECK_FALSE(freed->state.held);
    CHECK(w.now - at < 20 * trip);
}

TEST_CASE("readers that come and go end a watch", "[watch]") {
    connected_world w(fenced_options_for(3));
    const auto first = w.granted("r", {.ttl = 10s, .mode = lock_mode::shared});
    auto known = known_in(w, "r");
    REQUIRE(known.readers.size() == 1);
    const auto readers = wire::readers_key("", "r");
    const auto on_all = [&](const command& what) {
        for (auto& node : w.nodes) {
            client_state way;
            node.execute(way, what, w.now);
        }
    };
    const auto joined = w.watch("r", known);
    w.run_for(1s);
    REQUIRE_FALSE(joined->is_over());
    const auto until_ms = w.nodes[0].wall.ms(w.now) + 60'000;
    on_all({"ZADD", readers, std::to_string(until_ms), someone});
    REQUIRE(w.run_until_over(*joined));
    CHECK(joined->state.readers.size() == 2);
    const auto left = w.watch("r", joined->state);
    w.run_for(1s);
    REQUIRE_FALSE(left->is_over());
    on_all({"ZREM", readers, someone});
    REQUIRE(w.run_until_over(*left));
    CHECK(left->state.readers == known.readers);
}

TEST_CASE("slots that change their holders end a watch", "[watch]") {
    connected_world w(fenced_options_for(3));
    auto known = known_in(w, "r");
    const auto first = w.granted("r", {.ttl = 10s, .slots = 1});
    const auto taken = w.watch("r", known);
    REQUIRE(w.run_until_over(*taken));
    REQUIRE(taken->state.slots.size() == 1);
    // Between two looks another program gets the same slot.
    const auto next = w.watch("r", taken->state);
    w.run_for(1s);
    REQUIRE_FALSE(next->is_over());
    put_everywhere(w, "r#0", someone);
    REQUIRE(w.run_until_over(*next));
    CHECK(next->state.slots.at(0).owner.ends_with("@x"));
    const auto freed = w.watch("r", next->state);
    w.run_for(1s);
    remove_everywhere(w, "r#0");
    REQUIRE(w.run_until_over(*freed));
    CHECK(freed->state.slots.empty());
}

TEST_CASE("nothing is sent for watches that have ended", "[watch]") {
    connected_world w(fenced_options_for(3));
    const auto e = w.watch("r", known_in(w, "r"));
    w.run_for(1s);
    w.cancel(*e);
    CHECK(e->outcome() == boost::asio::error::operation_aborted);
    w.run_for(1s);
    clear_log(w);
    w.run_for(2s);
    CHECK(looks_at(w, 0) + inspections_by(w, 0) == 0);
    CHECK(asked(w) <= 3);  // idle connections are probed
}

TEST_CASE("watchers of one resource share each look and each inspection", "[watch]") {
    connected_world w(fenced_options_for(3));
    const auto known = known_in(w, "r");
    std::vector<ending_ptr> all;
    for (int i = 0; i < 100; ++i) all.push_back(w.watch("r", known));
    w.run_for(1s);
    clear_log(w);
    put_everywhere(w, "r", world::elsewhere);
    w.run_for(long_look + 4 * trip);
    for (const auto& e : all) CHECK(e->outcome() == error_code());
    CHECK(looks_at(w, 0) <= 2);
    CHECK(inspections_by(w, 0) == 1);
}

TEST_CASE("many resources are looked at together", "[watch]") {
    connected_world w(fenced_options_for(3));
    std::vector<ending_ptr> all;
    for (int i = 0; i < 200; ++i) all.push_back(w.watch("r" + std::to_string(i)));
    w.run_for(2s);
    for (auto& e : all) {
        REQUIRE(e->is_over());
        e = w.watch(e->state.resource, e->state);
    }
    w.run_for(2s);
    clear_log(w);
    w.run_for(1s);
    CHECK(looks_at(w, 0) >= 4 * 6);
    CHECK(looks_at(w, 0) <= 4 * 11);
    CHECK(inspections_by(w, 0) == 0);
    put_everywhere(w, "r150", world::elsewhere);
    w.run_for(long_look + 4 * trip);
    for (int i = 0; i < 200; ++i) CHECK(all[static_cast<std::size_t>(i)]->is_over() == (i == 150));
    CHECK(inspections_by(w, 0) == 1);
    // Where nothing changes for long they are half as many.
    w.run_for(15s);
    clear_log(w);
    w.run_for(1s);
    CHECK(looks_at(w, 0) >= 4 * 3);
    CHECK(looks_at(w, 0) <= 4 * 6);
}

TEST_CASE("a node that hangs delays no watch once it is known to hang", "[watch]") {
    connected_world w(fenced_options_for(3));
    auto known = known_in(w, "r");
    const auto warm = w.watch("other", known_in(w, "other"));
    w.run_for(1s);
    w.set_mode(2, mode::mute);
    w.run_for(1s);
    const auto e = w.watch("r", known);
    w.run_for(1s);
    w.take_elsewhere("r", 2);
    const auto at = w.now;
    REQUIRE(w.run_until_over(*e));
    CHECK(e->state.held);
    CHECK(w.now - at <= long_look + 4 * trip);
    CHECK(e->state.nodes[2].state == key_state::timed_out);
}

TEST_CASE("a watch goes on while no quorum answers, and shows what came of it", "[watch]") {
    connected_world w(fenced_options_for(3));
    const auto e = w.watch("r", known_in(w, "r"));
    w.run_for(1s);
    w.set_mode(1, mode::refuses);
    w.set_mode(2, mode::refuses);
    w.nodes[0].put("r", world::elsewhere, w.now + 1h);
    w.run_for(20s);
    CHECK_FALSE(e->is_over());
    w.nodes[1].put("r", world::elsewhere, w.now + 1h);
    w.set_mode(1, mode::up);
    REQUIRE(w.run_until_over(*e));
    CHECK(e->state.held);
}

TEST_CASE("what a missing node could change is no news", "[watch]") {
    connected_world w(fenced_options_for(3));
    const auto e = w.watch("r", known_in(w, "r"));
    w.run_for(1s);
    w.set_mode(2, mode::refuses);
    w.nodes[0].put("r", world::elsewhere, w.now + 5s);  // the third may have it, too
    w.run_for(4s);
    CHECK_FALSE(e->is_over());
    w.run_for(5s);
    CHECK_FALSE(e->is_over());  // it ran out
}

TEST_CASE("nodes that refuse looks are inspected as soon as they do not any more", "[watch]") {
    connected_world w(fenced_options_for(3));
    const auto known = known_in(w, "r");
    for (auto& node : w.nodes) node.forbid("EVALSHA");
    const auto e = w.watch("r", known);
    put_everywhere(w, "r", world::elsewhere);
    w.run_for(3s);
    CHECK_FALSE(e->is_over());
    for (auto& node : w.nodes) node.permit("EVALSHA");
    const auto at = w.now;
    REQUIRE(w.run_until_over(*e));
    CHECK(e->state.held);
    CHECK(w.now - at <= 500ms + long_look + 4 * trip);
}

TEST_CASE("plain locks are watched, too", "[watch]") {
    connected_world w;
    const auto e = w.watch("r", known_in(w, "r"));
    w.run_for(1s);
    put_everywhere(w, "r", world::elsewhere);
    REQUIRE(w.run_until_over(*e));
    CHECK(e->state.held);
    const auto freed = w.watch("r", e->state);
    w.run_for(1s);
    put_everywhere(w, "r", "");  // another program's
    REQUIRE(w.run_until_over(*freed));
    CHECK(freed->state.held);
    CHECK(freed->state.owner.empty());
}

TEST_CASE("scripts that were flushed cost a watch nothing", "[watch]") {
    connected_world w(fenced_options_for(3));
    const auto e = w.watch("r", known_in(w, "r"));
    w.run_for(1s);
    for (auto& node : w.nodes) node.flush_scripts();
    w.run_for(1s);
    put_everywhere(w, "r", world::elsewhere);
    w.run_for(long_look + 4 * trip);
    CHECK(e->is_over());
}

TEST_CASE("a watch is ended once, by a cancellation or the client's end", "[watch]") {
    for (std::size_t k = 0; k < 20; ++k) {
        connected_world w(fenced_options_for(3));
        const auto e = w.watch("r");
        const auto of_unused_name = w.watch("");
        CHECK(of_unused_name->outcome() == errc::invalid_argument);
        for (std::size_t i = 0; i < k && !e->is_over(); ++i) w.turn();
        const auto other = w.watch("r");
        w.cancel(*e);
        w.run_for(1s);
        CHECK(e->outcomes.size() == 1);
        CHECK(other->outcome() == error_code());
        const auto at_close = w.watch("r", other->state);
        for (std::size_t i = 0; i < k; ++i) w.turn();
        w.close();
        w.run_for(1s);
        CHECK(at_close->outcomes == std::vector<error_code>{errc::client_closed});
        CHECK(w.watch("r")->outcome() == errc::client_closed);
        CHECK(w.engine->is_over());
    }
}

TEST_CASE("a context that is destroyed drops a watch at any step", "[watch]") {
    for (std::size_t k = 0; k < 40; ++k) {
        connected_world w(fenced_options_for(3));
        const auto e = w.watch("r");
        const auto later = w.watch("q", known_in(w, "q"));
        for (std::size_t i = 0; i < k; ++i) w.turn();
        const bool was_over = e->is_over();
        w.discard();
        CHECK(e->discards == (was_over ? 0 : 1));
        CHECK(later->discards == 1);
        CHECK(later->outcomes.empty());
    }
}
