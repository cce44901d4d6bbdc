// One client used from many threads, for ThreadSanitizer to watch; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/history.hpp"
#include "support/run.hpp"

#include <redlock/error.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

// Catch2's assertions are not thread-safe: threads count, the test's own thread checks.
struct tally {
    std::atomic<int> granted{0};
    std::atomic<int> cancelled{0};
    std::atomic<int> contended{0};
    std::atomic<int> other{0};
    void add(error_code error) {
        if (!error) ++granted;
        else if (error == asio::error::operation_aborted) ++cancelled;
        else if (error == errc::contended) ++contended;
        else ++other;
    }
    int all() const { return granted + cancelled + contended + other; }
};

// An acquire whose handler and cancellation live on a strand of its own, as Asio asks for.
struct cancellable : std::enable_shared_from_this<cancellable> {
    explicit cancellable(asio::any_io_executor executor) : strand(asio::make_strand(executor)) {}
    void start(client& user, std::string resource, acquire_options options, tally& counts) {
        asio::post(strand, [self = shared_from_this(), &user, resource, options, &counts] {
            user.async_acquire(
                resource, options,
                asio::bind_cancellation_slot(
                    self->signal.slot(),
                    asio::bind_executor(self->strand, [self, &counts](error_code error, lease) {
                        counts.add(error);  // and the lease is given back
                    })));
        });
    }
    void cancel() {
        asio::post(strand, [self = shared_from_this()] {
            self->signal.emit(asio::cancellation_type::terminal);
        });
    }
    asio::strand<asio::any_io_executor> strand;
    asio::cancellation_signal signal;
};

void in_threads(int count, const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
    for (auto& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("fifty cancellations from four threads", "[threads]") {
    cluster nodes(3);
    tally counts;
    constexpr int each = 50;
    {
        asio::thread_pool pool(4);
        client user(pool.get_executor(), nodes.options());
        in_threads(4, [&](int thread) {
            std::vector<std::shared_ptr<cancellable>> tries;
            for (int i = 0; i < each; ++i) {
                tries.push_back(std::make_shared<cancellable>(pool.get_executor()));
                const auto resource = i % 2 == 0 ? std::string("shared")
                                                 : "own" + std::to_string(thread);
                tries.back()->start(user, resource, {.ttl = 10s, .wait = 2s}, counts);
            }
            for (auto& t : tries) t->cancel();
        });
        CHECK(eventually([&] { return counts.all() == 4 * each; }));
        user.close();
        pool.join();
    }
    CHECK(counts.cancelled > 0);
    CHECK(counts.other == 0);
    CHECK(eventually([&] {
        std::size_t left = nodes.holding("shared");
        for (int i = 0; i < 4; ++i) left += nodes.holding("own" + std::to_string(i));
        return left == 0;
    }));
}

TEST_CASE("a client is used from many threads at once", "[threads]") {
    cluster nodes(3);
    history spans;
    tally counts;
    std::atomic<int> bad_releases{0};
    constexpr int each = 60;
    asio::thread_pool pool(3);
    client user(pool.get_executor(), nodes.options());
    in_threads(4, [&](int thread) {
        for (int i = 0; i < each; ++i) {
            const auto resource = i % 3 == 0 ? std::string("shared")
                                             : "own" + std::to_string(thread);
            std::promise<std::pair<error_code, lease>> promise;
            auto future = promise.get_future();
            user.async_acquire(resource, {.ttl = 20s, .wait = 15s},
                               [&promise](error_code error, lease got) {
                                   promise.set_value({error, std::move(got)});
                               });
            auto [error, held] = future.get();
            counts.add(error);
            if (error) continue;
            const auto granted_at = clock::now();
            (void)user.stats();
            (void)held.remaining();
            (void)held.lost_token();
            spans.add(span_until_now(held, granted_at));
            std::promise<error_code> released;
            auto done = released.get_future();
            user.async_release(std::move(held),
                               [&released](error_code e) { released.set_value(e); });
            if (done.get()) ++bad_releases;
        }
    });
    CHECK(counts.granted == 4 * each);
    CHECK(counts.other == 0);
    CHECK(bad_releases == 0);
    CHECK(spans.violations() == std::vector<std::string>());
    CHECK(eventually([&] { return nodes.holding("shared") == 0; }));
    user.close();
    pool.join();
}

TEST_CASE("leases are read and destroyed in other threads than the client's", "[threads]") {
    cluster nodes(3);
    constexpr int each = 40;
    asio::thread_pool pool(2);
    client user(pool.get_executor(), nodes.options());
    std::atomic<int> granted{0};
    std::atomic<int> rang{0};
    in_threads(4, [&](int thread) {
        for (int i = 0; i < each; ++i) {
            auto future = user.async_acquire("r" + std::to_string(thread),
                                             {.ttl = i % 2 == 0 ? 20s : 1s, .wait = 15s},
                                             asio::use_future);
            lease held;
            try {
                held = future.get();
            } catch (const std::exception&) {
                continue;
            }
            ++granted;
            std::stop_callback watch(held.lost_token(), [&] { ++rang; });
            while (i % 10 == 0 && held.valid_until() - clock::now() > 19'500ms) {
                std::this_thread::yield();
            }
            if (i % 8 == 1) held.detach();
            // Otherwise destroyed here, while the client renews it there.
        }
    });
    CHECK(granted >= 4 * each / 2);
    CHECK(rang <= granted);
    user.close();
    pool.join();
    CHECK(eventually([&] {
        std::size_t left = 0;
        for (int i = 0; i < 4; ++i) left += nodes.holding("r" + std::to_string(i));
        return left == 0;
    }));
}

TEST_CASE("a client is closed by one thread while others use it", "[threads]") {
    cluster nodes(3);
    for (int round = 0; round < 10; ++round) {
        tally counts;
        std::atomic<int> started{0};
        asio::thread_pool pool(2);
        auto user = std::make_unique<client>(pool.get_executor(), nodes.options());
        in_threads(4, [&](int thread) {
            for (int i = 0; i < 50; ++i) {
                if (thread == 0 && i == 25) user->close();
                ++started;
                user->async_acquire("r" + std::to_string(thread), {.ttl = 20s, .wait = 1s},
                                    [&counts](error_code error, lease) { counts.add(error); });
            }
        });
        CHECK(eventually([&] { return counts.all() == started; }));
        user.reset();
        pool.join();
        CHECK(eventually([&] {
            std::size_t left = 0;
            for (int i = 0; i < 4; ++i) left += nodes.holding("r" + std::to_string(i));
            return left == 0;
        }));
    }
}

TEST_CASE("losses are reported while other threads look", "[threads]") {
    cluster nodes(3);
    asio::thread_pool pool(2);
    client user(pool.get_executor(), nodes.options());
    auto held =
        user.async_acquire("r", {.ttl = 2s, .wait = 10s, .renew = false}, asio::use_future).get();
    REQUIRE(held);
    std::atomic<int> rang{0};
    in_threads(4, [&](int) {
        std::atomic<bool> mine{false};
        std::stop_callback watch(held.lost_token(), [&] {
            ++rang;
            mine = true;
        });
        while (held) std::this_thread::yield();
        while (!mine) std::this_thread::yield();
    });
    CHECK(rang == 4);
    user.close();
    pool.join();
}

TEST_CASE("threads give signs of life while the client renews, until none does", "[threads]") {
    cluster nodes(3);
    asio::thread_pool pool(2);
    client user(pool.get_executor(), nodes.options());
    // Each stretch without a sign is far shorter than the limit, and all of them are far longer.
    auto held = user.async_acquire("r", {.ttl = 3s, .wait = 10s, .watchdog = 2s}, asio::use_future)
                    .get();
    REQUIRE(held);
    const auto until = clock::now() + 4s;
    in_threads(4, [&](int) {
        while (held && clock::now() < until) {
            held.touch();
            std::this_thread::yield();
        }
    });
    CHECK(held);
    CHECK(user.async_lost(held, asio::use_future).get() == loss::stalled);
    CHECK_FALSE(held);
    held.touch();  // changes nothing any more
    CHECK_FALSE(held);
    user.close();
    pool.join();
}
