// The shared mutex on real servers: who shares, who is kept out, losses; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

#include <redlock/mutex.hpp>
#include <redlock/shared_mutex.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock::testing;
using redlock::acquire_options;
using redlock::blocking_client;
using redlock::errc;
using redlock::shared_mutex;

namespace {

/// The code of the exception that ends `f`; none if it returns.
template <class F>
std::error_code code_of(F&& f) {
    try {
        f();
    } catch (const std::system_error& e) {
        return e.code();
    }
    return {};
}

/// In a thread of its own.
template <class F>
auto in_another_thread(F&& f) {
    return std::async(std::launch::async, std::forward<F>(f)).get();
}

bool can_lock(shared_mutex& m) {
    return in_another_thread([&] { return std::unique_lock(m, std::try_to_lock).owns_lock(); });
}

bool can_share(shared_mutex& m) {
    return in_another_thread([&] { return std::shared_lock(m, std::try_to_lock).owns_lock(); });
}

/// Threads that share a mutex until they are told to go on.
class sharing_threads {
public:
    template <class Then>
    sharing_threads(std::vector<shared_mutex*> mutexes, Then then) {
        for (shared_mutex* m : mutexes) {
            threads_.emplace_back([this, m, then] {
                std::shared_lock lock(*m);
                {
                    const std::lock_guard gate(gate_);
                    fences_.insert(m->fence());
                    tokens_.push_back(m->lost_token());
                }
                eventually([&] { return may_end_.load(); }, 3 * patience);
                then(lock);
            });
        }
    }
    explicit sharing_threads(std::vector<shared_mutex*> mutexes)
        : sharing_threads(std::move(mutexes), [](auto&) {}) {}
    ~sharing_threads() { end(); }
    sharing_threads(const sharing_threads&) = delete;
    sharing_threads& operator=(const sharing_threads&) = delete;

    bool all_share() {
        return eventually([&] {
            const std::lock_guard gate(gate_);
            return tokens_.size() == threads_.size();
        });
    }
    std::set<std::uint64_t> fences() const { return fences_; }
    bool all_are_told() const {
        return eventually([&] {
            return std::all_of(tokens_.begin(), tokens_.end(),
                               [](const auto& token) { return token.stop_requested(); });
        });
    }
    void end() {
        may_end_ = true;
        threads_.clear();
    }

private:
    std::mutex gate_;
    std::set<std::uint64_t> fences_;
    std::vector<std::stop_token> tokens_;
    std::atomic<bool> may_end_ = false;
    std::vector<std::jthread> threads_;
};

}  // namespace

TEST_CASE("threads of one and of several programs share a mutex", "[shared_mutex][threads]") {
    cluster nodes(3);
    blocking_client a(nodes.options());
    blocking_client b(nodes.options());
    shared_mutex of_a(a, "r");
    shared_mutex of_b(b, "r");
    sharing_threads readers({&of_a, &of_a, &of_a, &of_b});
    REQUIRE(readers.all_share());
    CHECK(a.stats().leases == 3);  // each has its own
    CHECK(readers.fences().count(0) == 0);
    CHECK(of_a.fence() == 0);
    CHECK_FALSE(of_a.lost_token().stop_possible());
    CHECK_FALSE(of_a.try_lock());
    CHECK_FALSE(of_b.try_lock());
    CHECK(of_b.try_lock_shared());
    of_b.unlock_shared();
    CHECK_FALSE(of_a.try_lock());
    readers.end();
    REQUIRE(of_a.try_lock());
    CHECK(of_a.fence() > *readers.fences().rbegin());
    of_a.unlock();
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("one that holds it alone keeps all others out, also a mutex", "[shared_mutex]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    shared_mutex m(client, "r");
    redlock::mutex plain(client, "r");
    m.lock();
    const auto fence = m.fence();
    CHECK_FALSE(can_lock(m));
    CHECK_FALSE(can_share(m));
    CHECK_FALSE(plain.try_lock());
    CHECK_FALSE(in_another_thread([&] { return m.try_lock_shared_for(50ms); }));
    m.unlock();
    m.lock_shared();
    CHECK(m.fence() > fence);
    CHECK(m.lost_token().stop_possible());
    CHECK(can_share(m));
    CHECK_FALSE(can_lock(m));
    CHECK_FALSE(plain.try_lock());
    m.unlock_shared();
    CHECK(plain.try_lock());
    CHECK_FALSE(can_share(m));
    plain.unlock();
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("a thread that holds it either way would wait for itself", "[shared_mutex]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    shared_mutex m(client, "r");
    const bool shares = GENERATE(false, true);
    if (shares) {
        m.lock_shared();
    } else {
        m.lock();
    }
    CHECK(code_of([&] { m.lock(); }) == errc::would_deadlock);
    CHECK(code_of([&] { m.lock_shared(); }) == errc::would_deadlock);
    CHECK_FALSE(m.try_lock());
    CHECK_FALSE(m.try_lock_for(1h));
    CHECK_FALSE(m.try_lock_until(std::chrono::steady_clock::now() + 1h));
    CHECK_FALSE(m.try_lock_shared());
    CHECK_FALSE(m.try_lock_shared_for(1h));
    CHECK_FALSE(m.try_lock_shared_until(std::chrono::system_clock::now() + 1h));
    CHECK(in_another_thread([&] { return code_of([&] { m.unlock_shared(); }); }) == errc::not_held);
    CHECK(in_another_thread([&] { return code_of([&] { m.unlock(); }); }) == errc::not_held);
    CHECK(client.stats().leases == 1);
    if (shares) {
        m.unlock_shared();
    } else {
        m.unlock();
    }
    CHECK(code_of([&] { m.unlock(); }) == errc::not_held);
    CHECK(code_of([&] { m.unlock_shared(); }) == errc::not_held);
    CHECK(can_lock(m));
}

TEST_CASE("who waits for it alone gets it when the last one shares it no more",
          "[shared_mutex][threads]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    shared_mutex m(client, "r");
    sharing_threads readers({&m, &m});
    REQUIRE(readers.all_share());
    std::atomic<bool> has_it = false;
    std::jthread writer([&] {
        const std::unique_lock lock(m, 3 * patience);
        has_it = lock.owns_lock();
    });
    REQUIRE(eventually([&] { return nodes.ask(0).exists("{r}:queue"); }));
    CHECK_FALSE(can_share(m));  // it stands behind the one that waits
    CHECK_FALSE(has_it);
    readers.end();
    writer.join();
    CHECK(has_it);
    CHECK(in_another_thread([&] { return std::shared_lock(m, patience).owns_lock(); }));
}

TEST_CASE("threads that share and threads that do not keep a counter right",
          "[shared_mutex][threads]") {
    cluster nodes(3);
    blocking_client a(nodes.options());
    blocking_client b(nodes.options());
    shared_mutex of_a(a, "r");
    shared_mutex of_b(b, "r");
    int counter = 0;  // guarded by the mutexes alone, of which no sanitizer knows
    std::atomic<int> inside = 0;
    std::atomic<int> overlaps = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 6; ++t) {
        threads.emplace_back([&, t] {
            shared_mutex& m = t % 2 == 0 ? of_a : of_b;
            for (int i = 0; i < 8; ++i) {
                if ((t + i) % 3 == 0) {
                    const std::lock_guard lock(m);
                    if (inside.fetch_add(100) != 0) ++overlaps;
                    ++counter;
                    inside.fetch_sub(100);
                } else {
                    const std::shared_lock lock(m);
                    if (inside.fetch_add(1) >= 100) ++overlaps;
                    inside.fetch_sub(1);
                }
            }
        });
    }
    threads.clear();
    CHECK(counter == 16);
    CHECK(overlaps == 0);
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("each thread that shared it learns of the loss, once", "[shared_mutex][threads]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    shared_mutex m(client, "r", {.ttl = 3s});  // a loss is found at a third of it
    std::atomic<int> told = 0;
    sharing_threads readers({&m, &m}, [&](std::shared_lock<shared_mutex>& lock) {
        if (code_of([&] { lock.unlock(); }) == errc::lost) ++told;
        // The guard calls it once more, and then it is over.
        if (code_of([&] { m.unlock_shared(); })) told = -100;
        if (code_of([&] { m.unlock_shared(); }) != errc::not_held) told = -100;
        lock.release();
        m.lock_shared();
        m.unlock_shared();
    });
    REQUIRE(readers.all_share());
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes.ask(i).set("r", "another owner");
    CHECK(readers.all_are_told());
    unlock_by_hand(nodes, "r");
    readers.end();
    CHECK(told == 2);
    CHECK(can_lock(m));
}

TEST_CASE("the lease of one that shares ends without the others'", "[shared_mutex][threads]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    shared_mutex m(client, "r");
    shared_mutex brief(client, "r", {.max_hold = 200ms});
    sharing_threads others({&m});
    REQUIRE(others.all_share());
    brief.lock_shared();
    const auto token = brief.lost_token();
    REQUIRE(eventually([&] { return token.stop_requested(); }));
    CHECK(code_of([&] { brief.unlock_shared(); }) == errc::lost);
    CHECK_FALSE(can_lock(m));
    others.end();
    CHECK(eventually([&] { return can_lock(m); }));
}

TEST_CASE("plain locks can't be shared, and nothing is kept by one that shares",
          "[shared_mutex]") {
    cluster nodes(3);
    const bool is_plain = GENERATE(false, true);
    blocking_client client(nodes.options(!is_plain));
    shared_mutex m(client, "r", is_plain ? acquire_options{} : acquire_options{.min_hold = 1ms});
    CHECK(code_of([&] { m.lock_shared(); }) == errc::invalid_argument);
    CHECK(code_of([&] { m.try_lock_shared(); }) == errc::invalid_argument);
    CHECK(code_of([&] { m.try_lock_shared_for(1s); }) == errc::invalid_argument);
    m.lock();
    m.unlock();
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("destroyed while threads hold it, it leaves no key", "[shared_mutex][threads]") {
    cluster nodes(3);
    blocking_client client(nodes.options());
    auto m = std::make_unique<shared_mutex>(client, "r");
    m->lock_shared();
    in_another_thread([&] { m->lock_shared(); });  // it ends, and is not missed
    REQUIRE(client.stats().leases == 2);
    m.reset();
    CHECK(eventually([&] { return nodes.keys() == 0; }));
    CHECK(client.stats().leases == 0);
}
