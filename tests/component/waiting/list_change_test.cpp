// Tests how a waiter fares while the records of all nodes change under it, step by step.
// SPDX-License-Identifier: MIT
#include "component/support/records.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <cstddef>
#include <string>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

// As a commit that gives a change up closes a node for its own set.
void close(world& w, std::size_t node, const std::string& ballot) {
    auto record = record_on(w, node);
    record[word::epoch] = std::string(21, 'x') + ballot.front();
    record["change"] = std::string(record[word::set]);
    record["promised"] = ballot + ".x";
    record["accepted"] = ballot + ".x";
    put_record(w, node, record);
}

}  // namespace

TEST_CASE("a waiter whose time ends right after the nodes were closed is refused by the holder") {
    for (const auto left : {1ms, 3ms, 5ms, 8ms, 10ms, 15ms, 25ms, 40ms, 60ms}) {
        for (const auto apart : {0ms, 2ms, 6ms}) {
            INFO(left.count() << " ms before the end, " << apart.count() << " ms apart");
            connected_world w(fenced_options_for(3));
            for (auto& one : w.latency) one = 3ms;
            for (std::size_t i = 0; i < 3; ++i) {
                auto record = record_on(w, i);
                record["announced"] = "3:abc";
                put_record(w, i, record);
            }
            w.run_for(20s);
            w.take_elsewhere("r", 3);
            const auto e = w.acquire("r", {.ttl = 5s, .wait = 1s});
            w.run_for(1s - left);
            for (std::size_t i = 0; i < 3; ++i) {
                close(w, i, "1");
                w.run_for(apart);
            }
            REQUIRE(w.run_until_over(*e));
            CHECK(e->outcome() == errc::contended);
        }
    }
}
