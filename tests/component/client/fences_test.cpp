// Fencing tokens on masters in memory, while these crash, restart and are flushed; knows no engine.
// SPDX-License-Identifier: MIT
#include "component/support/memory_cluster.hpp"
#include "support/catch.hpp"

#include <redlock/error.hpp>

#include <cstdint>
#include <utility>

using namespace redlock;
using namespace redlock::testing;

namespace {

constexpr auto longest = 2s;

client_options with_short_memory(const memory_cluster& nodes) {
    auto o = nodes.options();
    o.ttl_max = longest;
    return o;
}

/// Holds each lease for a moment and compares its fence with that of the one before.
class succession {
public:
    explicit succession(memory_driver& d) : d_(&d) {}
    void next(bool give_back = true) {
        auto got = d_->acquire("r", {.ttl = 300ms, .wait = 15s, .renew = false});
        INFO(text_of(got.value()));
        REQUIRE(got.error() == error_code{});
        CHECK(got.value().fence() > last_);
        last_ = got.value().fence();
        if (give_back) {
            d_->release(std::move(got.value()));
        } else {
            got.value().detach();
        }
    }
    std::uint64_t last() const { return last_; }

private:
    memory_driver* d_;
    std::uint64_t last_ = 0;
};

}  // namespace

TEST_CASE("fences rise through crashes, restarts and flushes", "[fences]") {
    memory_cluster nodes(3, GENERATE(memory_cluster::disk::always, memory_cluster::disk::saves));
    memory_driver d(with_short_memory(nodes));
    succession leases(d);
    leases.next();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        leases.next(i % 2 == 0);
        nodes.kill(i);
        leases.next();
        nodes.restart(i, memory_cluster::data::keep);
        leases.next();
        d.pass(longest + 200ms);  // its quarantine: the next one must not forget meanwhile
        nodes.ask(i).command({"FLUSHALL"});
        leases.next();
        d.pass(longest + 200ms);
        nodes.restart(i, memory_cluster::data::empty);
        leases.next();
        d.pass(longest + 200ms);
    }
}
