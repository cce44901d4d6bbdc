// Tests waiting for the loss of a lease; knows no socket.
// SPDX-License-Identifier: MIT
#include "client/release.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <memory>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::connected_world;
using fakes::world;

TEST_CASE("each watcher of a lease is notified of its loss once, unless it was cancelled") {
    connected_world w;
    const auto e = w.granted("r", {.ttl = 1s, .renew = false});
    std::vector<fakes::ending_ptr> watchers;
    for (int i = 0; i < 5; ++i) watchers.push_back(w.lost(e->held));
    w.cancel(*watchers[2]);
    CHECK(watchers[2]->outcome() == boost::asio::error::operation_aborted);
    w.run_for(2s);
    for (std::size_t i = 0; i < watchers.size(); ++i) {
        CHECK(watchers[i]->outcomes.size() == 1);
        if (i != 2) CHECK(watchers[i]->outcome() == error_code());
    }
    const auto late = w.lost(e->held);
    CHECK(late->outcome() == error_code());
    CHECK(late->lost_for == loss::expired);
}

TEST_CASE("cancelling leaves nothing behind") {
    connected_world w;
    const auto e = w.granted("r", {.ttl = 1s});
    const auto lost = w.lost(e->held);
    w.cancel(*lost);
    w.cancel(*lost);
    CHECK(lost->outcomes.size() == 1);
    w.run_for(5s);
    CHECK(state_of(e->held)->is_live());
}

TEST_CASE("a lease that is released is not lost") {
    connected_world w;
    auto e = w.granted("r");
    const auto lost = w.lost(e->held);
    const auto token = e->held.lost_token();
    const auto state = state_of(e->held);
    w.release(std::move(e->held));
    CHECK(lost->outcome() == errc::not_held);
    CHECK_FALSE(token.stop_requested());
    const auto late = std::make_shared<fakes::ending>();
    const detail::operation_ptr what(new fakes::recorded_lost(late, state));
    w.engine->begin(what, w.now);
    CHECK(late->outcome() == errc::not_held);
}

TEST_CASE("an empty lease, a refused one and another client's can't be watched") {
    world w;
    world other;
    w.connected();
    other.connected();
    const auto foreign = other.granted("r");
    const auto refused = w.acquire("");
    CHECK(w.lost(lease())->outcome() == errc::invalid_argument);
    CHECK(w.lost(refused->held)->outcome() == errc::invalid_argument);
    CHECK(w.lost(foreign->held)->outcome() == errc::invalid_argument);
}
