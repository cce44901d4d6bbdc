// The shared mutex on masters in memory: sharing, exclusion, losses; knows no internals.
// SPDX-License-Identifier: MIT
#include "component/support/passing_time.hpp"
#include "support/catch.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/mutex.hpp>
#include <redlock/shared_mutex.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
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

bool can_lock(shared_mutex& m) {
    return elsewhere([&] { return std::unique_lock(m, std::try_to_lock).owns_lock(); });
}

bool can_share(shared_mutex& m) {
    return elsewhere([&] { return std::shared_lock(m, std::try_to_lock).owns_lock(); });
}

/// Threads that share a mutex until `end`.
class sharing_threads {
public:
    template <class Then>
    sharing_threads(masters& nodes, std::vector<shared_mutex*> mutexes, Then then)
        : nodes_(nodes) {
        for (shared_mutex* m : mutexes) {
            threads_.emplace_back([this, m, then] {
                std::shared_lock lock(*m);
                {
                    const std::lock_guard gate(gate_);
                    fences_.insert(m->fence());
                    tokens_.push_back(m->lost_token());
                }
                may_end_.wait(false);
                then(lock);
            });
        }
    }
    sharing_threads(masters& nodes, std::vector<shared_mutex*> mutexes)
        : sharing_threads(nodes, std::move(mutexes), [](auto&) {}) {}
    ~sharing_threads() { end(); }
    sharing_threads(const sharing_threads&) = delete;
    sharing_threads& operator=(const sharing_threads&) = delete;

    bool all_share() {
        return pass_until(nodes_, [&] {
            const std::lock_guard gate(gate_);
            return tokens_.size() == threads_.size();
        });
    }
    std::set<std::uint64_t> fences() const { return fences_; }
    bool all_know_of_the_loss() const {
        return pass_until(nodes_, [&] {
            return std::all_of(tokens_.begin(), tokens_.end(),
                               [](const auto& token) { return token.stop_requested(); });
        });
    }
    void end() {
        const passing_time running(nodes_);
        may_end_ = true;
        may_end_.notify_all();
        threads_.clear();
    }

private:
    masters& nodes_;
    std::mutex gate_;
    std::set<std::uint64_t> fences_;
    std::vector<std::stop_token> tokens_;
    std::atomic<bool> may_end_ = false;
    std::vector<std::jthread> threads_;
};

}  // namespace

TEST_CASE_METHOD(two_clients, "threads of one and of several programs share a mutex",
                 "[shared_mutex][threads]") {
    shared_mutex of_a(client, "r");
    shared_mutex of_b(other_client, "r");
    sharing_threads readers(nodes, {&of_a, &of_a, &of_a, &of_b});
    REQUIRE(readers.all_share());
    CHECK(client.stats().leases == 3);  // each has its own
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
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
}

TEST_CASE_METHOD(two_clients, "a thread that holds it alone goes on as one that shares it",
                 "[shared_mutex]") {
    shared_mutex of_a(client, "r");
    shared_mutex of_b(other_client, "r");
    std::unique_lock alone(of_a);
    const auto fence = of_a.fence();
    CHECK_FALSE(of_b.try_lock_shared());
    alone.release();
    of_a.unlock_and_lock_shared();
    const std::shared_lock beside(of_a, std::adopt_lock);
    CHECK(of_a.fence() == fence);
    CHECK(can_share(of_b));
    CHECK(can_share(of_a));
    CHECK_FALSE(can_lock(of_b));
    of_a.unlock_and_lock_shared();  // again: nothing changes
    REQUIRE(of_b.try_lock_shared());
    CHECK(of_b.fence() > fence);
    of_b.unlock_and_lock_shared();
    of_b.unlock_shared();
}

TEST_CASE_METHOD(one_client, "what is not held, or may not be shared, is not shared",
                 "[shared_mutex]") {
    shared_mutex m(client, "r");
    const auto code_of = [](shared_mutex& of) {
        return thrown_by([&] { of.unlock_and_lock_shared(); });
    };
    CHECK(code_of(m) == errc::not_held);
    m.lock();
    CHECK(elsewhere([&] { return code_of(m) == errc::not_held; }));
    m.unlock();
    shared_mutex kept(client, "kept", {.min_hold = 5s});
    kept.lock();
    CHECK(code_of(kept) == errc::invalid_argument);
    CHECK_FALSE(can_lock(kept));
    kept.unlock();
}

TEST_CASE_METHOD(one_client, "one that holds it alone keeps all others out, also a mutex",
                 "[shared_mutex]") {
    shared_mutex m(client, "r");
    redlock::mutex plain(client, "r");
    m.lock();
    const auto fence = m.fence();
    CHECK_FALSE(can_lock(m));
    CHECK_FALSE(can_share(m));
    CHECK_FALSE(plain.try_lock());
    {
        const passing_time running(nodes);
        CHECK_FALSE(elsewhere([&] { return m.try_lock_shared_for(50ms); }));
    }
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
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
}

TEST_CASE_METHOD(one_client, "a thread that holds it either way would wait for itself",
                 "[shared_mutex]") {
    shared_mutex m(client, "r");
    const bool shares = GENERATE(false, true);
    if (shares) {
        m.lock_shared();
    } else {
        m.lock();
    }
    CHECK(thrown_by([&] { m.lock(); }) == errc::would_deadlock);
    CHECK(thrown_by([&] { m.lock_shared(); }) == errc::would_deadlock);
    CHECK_FALSE(m.try_lock());
    CHECK_FALSE(m.try_lock_for(1h));
    CHECK_FALSE(m.try_lock_until(std::chrono::steady_clock::now() + 1h));
    CHECK_FALSE(m.try_lock_shared());
    CHECK_FALSE(m.try_lock_shared_for(1h));
    CHECK_FALSE(m.try_lock_shared_until(std::chrono::system_clock::now() + 1h));
    CHECK(elsewhere([&] { return thrown_by([&] { m.unlock_shared(); }); }) == errc::not_held);
    CHECK(elsewhere([&] { return thrown_by([&] { m.unlock(); }); }) == errc::not_held);
    CHECK(client.stats().leases == 1);
    if (shares) {
        m.unlock_shared();
    } else {
        m.unlock();
    }
    CHECK(thrown_by([&] { m.unlock(); }) == errc::not_held);
    CHECK(thrown_by([&] { m.unlock_shared(); }) == errc::not_held);
    CHECK(can_lock(m));
}

TEST_CASE_METHOD(one_client,
                 "a waiting writer keeps new readers out, and locks when the last reader unlocks",
                 "[shared_mutex][threads]") {
    shared_mutex m(client, "r");
    sharing_threads readers(nodes, {&m, &m});
    REQUIRE(readers.all_share());
    std::atomic<bool> has_it = false;
    std::jthread writer([&] {
        const std::unique_lock lock(m, 12h);
        has_it = lock.owns_lock();
    });
    REQUIRE(pass_until(nodes, [&] { return nodes.waiting("r") == 1; }));
    CHECK_FALSE(can_share(m));  // it stands behind the one that waits
    CHECK_FALSE(has_it);
    readers.end();
    const passing_time running(nodes);
    writer.join();
    CHECK(has_it);
    CHECK(elsewhere([&] { return std::shared_lock(m, 12h).owns_lock(); }));
}

TEST_CASE_METHOD(two_clients, "threads that share and threads that do not keep a counter right",
                 "[shared_mutex][threads]") {
    shared_mutex of_a(client, "r");
    shared_mutex of_b(other_client, "r");
    int counter = 0;  // guarded by the mutexes alone, of which no sanitizer knows
    std::atomic<int> inside = 0;
    std::atomic<int> overlaps = 0;
    {
        const passing_time running(nodes);
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
    }
    CHECK(counter == 16);
    CHECK(overlaps == 0);
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
}

TEST_CASE_METHOD(one_client, "each thread that shared it learns of the loss, once",
                 "[shared_mutex][threads]") {
    shared_mutex m(client, "r");
    std::atomic<int> told = 0;
    sharing_threads readers(nodes, {&m, &m}, [&](std::shared_lock<shared_mutex>& lock) {
        if (thrown_by([&] { lock.unlock(); }) == errc::lost) ++told;
        // The guard calls it once more, and then it is over.
        if (thrown_by([&] { m.unlock_shared(); })) told = -100;
        if (thrown_by([&] { m.unlock_shared(); }) != errc::not_held) told = -100;
        lock.release();
        m.lock_shared();
        m.unlock_shared();
    });
    REQUIRE(readers.all_share());
    nodes.occupy("r", 24h);
    CHECK(readers.all_know_of_the_loss());
    nodes.vacate("r");
    readers.end();
    CHECK(told == 2);
    CHECK(can_lock(m));
}

TEST_CASE_METHOD(one_client, "the lease of one that shares ends without the others'",
                 "[shared_mutex][threads]") {
    shared_mutex m(client, "r");
    shared_mutex brief(client, "r", {.max_hold = 200ms});
    sharing_threads others(nodes, {&m});
    REQUIRE(others.all_share());
    brief.lock_shared();
    const auto token = brief.lost_token();
    REQUIRE(pass_until(nodes, [&] { return token.stop_requested(); }));
    CHECK(thrown_by([&] { brief.unlock_shared(); }) == errc::lost);
    CHECK_FALSE(can_lock(m));
    others.end();
    CHECK(pass_until(nodes, [&] { return can_lock(m); }));
}

TEST_CASE("plain locks can't be shared, and nothing is kept by one that shares",
          "[shared_mutex]") {
    masters nodes;
    const bool is_plain = GENERATE(false, true);
    auto options = nodes.options();
    options.fencing = !is_plain;
    blocking_client client(options);
    shared_mutex m(client, "r", is_plain ? acquire_options{} : acquire_options{.min_hold = 1ms});
    CHECK(thrown_by([&] { m.lock_shared(); }) == errc::invalid_argument);
    CHECK(thrown_by([&] { static_cast<void>(m.try_lock_shared()); }) == errc::invalid_argument);
    CHECK(thrown_by([&] { static_cast<void>(m.try_lock_shared_for(1s)); }) == errc::invalid_argument);
    m.lock();
    m.unlock();
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
}

TEST_CASE_METHOD(one_client, "destroyed while threads hold it, it leaves no key",
                 "[shared_mutex][threads]") {
    auto m = std::make_unique<shared_mutex>(client, "r");
    m->lock_shared();
    elsewhere([&] { m->lock_shared(); });  // it ends, and is not missed
    REQUIRE(client.stats().leases == 2);
    m.reset();
    CHECK(pass_until(nodes, [&] { return is_untouched(nodes, "r"); }));
    CHECK(client.stats().leases == 0);
}
