// A client with the default options whose servers stand still for a moment; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"

#include <redlock/blocking_client.hpp>

#include <chrono>
#include <thread>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

client_options by_measurement(const cluster& nodes) {
    auto all = nodes.options();
    all.node_timeout = client_options{}.node_timeout;
    return all;
}

// Two of three servers are stopped for so long. What `ask` returns meanwhile.
template <class F>
auto beside_a_stall(cluster& nodes, std::chrono::milliseconds span, F&& ask) {
    nodes.stop(0);
    nodes.stop(1);
    std::thread thaw([&] {
        std::this_thread::sleep_for(span);
        nodes.cont(0);
        nodes.cont(1);
    });
    auto got = ask();
    thaw.join();
    return got;
}

}  // namespace

TEST_CASE("a lock is granted and extended while two of three servers stall for 60 ms") {
    cluster nodes(3);
    blocking_client client(by_measurement(nodes));
    REQUIRE(client.acquire("first").has_value());
    // A machine that stalls, too, for longer than a node may: three times in a row it does not.
    bool is_had = false;
    for (int tries = 0; tries < 3 && !is_had; ++tries) {
        auto got = beside_a_stall(nodes, 60ms, [&] { return client.acquire("r"); });
        if (!got.has_value()) continue;
        is_had = beside_a_stall(nodes, 60ms, [&] { return client.extend(*got, 20s); }).has_value();
        CHECK(client.release(std::move(*got)).has_value());
    }
    CHECK(is_had);
}
