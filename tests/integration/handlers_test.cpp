// Handlers of every kind reach their own executor, with their own memory; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"

#include <redlock/error.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_future.hpp>

#include <cstdint>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <thread>

using namespace redlock;
using namespace redlock::testing;

namespace {

/// Runs what it is given at once, wherever it is called; can do nothing else.
struct inline_executor {
    template <class F>
    void execute(F f) const {
        f();
    }
    friend bool operator==(const inline_executor&, const inline_executor&) noexcept { return true; }
};

template <class T>
struct counting_allocator {
    using value_type = T;
    explicit counting_allocator(int& n) : count(&n) {}
    template <class U>
    counting_allocator(const counting_allocator<U>& other) : count(other.count) {}
    T* allocate(std::size_t n) {
        ++*count;
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* p, std::size_t n) { std::allocator<T>().deallocate(p, n); }
    template <class U>
    bool operator==(const counting_allocator<U>& other) const noexcept {
        return count == other.count;
    }
    int* count;
};

std::size_t threads() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

TEST_CASE("a handler whose type was erased by the user is a token like any other") {
    cluster servers(3);
    asio::io_context context;
    client user(context.get_executor(), servers.options());
    lease got;
    asio::any_completion_handler<void(error_code, lease)> erased = [&](error_code, lease l) {
        got = std::move(l);
    };
    user.async_acquire("r", std::move(erased));
    CHECK(run_until(context, [&] { return bool(got); }));
}

TEST_CASE("a handler may have an executor that can do nothing but execute") {
    cluster servers(3);
    asio::io_context context;
    client user(context.get_executor(), servers.options());
    lease got;
    user.async_acquire("r", asio::bind_executor(inline_executor(),
                                                [&](error_code, lease l) { got = std::move(l); }));
    CHECK(run_until(context, [&] { return bool(got); }));
}

TEST_CASE("a future is made ready by the client's own context, and by no other thread") {
    cluster servers(3);
    asio::io_context context;
    client user(context.get_executor(), servers.options());
    const auto before = threads();
    auto soon = user.async_acquire("r", asio::use_future);
    const auto is_ready = [&] { return soon.wait_for(0s) == std::future_status::ready; };
    REQUIRE(run_until(context, is_ready));
    CHECK(soon.get());
    CHECK(threads() == before);
}

TEST_CASE("a handler can be moved only, and its allocator serves its operation") {
    cluster servers(3);
    asio::io_context context;
    client user(context.get_executor(), servers.options());
    int allocations = 0;
    lease got;
    auto owned = std::make_unique<int>(7);
    user.async_acquire("r",
                       asio::bind_allocator(counting_allocator<int>(allocations),
                                            [&got, owned = std::move(owned)](error_code, lease l) {
                                                if (*owned == 7) got = std::move(l);
                                            }));
    CHECK(run_until(context, [&] { return bool(got); }));
    CHECK(allocations == 1);
}

TEST_CASE("a handler may need more alignment than others") {
    cluster servers(3);
    asio::io_context context;
    client user(context.get_executor(), servers.options());
    struct alignas(64) wide {
        bool is_aligned() const { return reinterpret_cast<std::uintptr_t>(this) % 64 == 0; }
    };
    lease got;
    user.async_acquire("r", [&got, w = wide()](error_code, lease l) {
        if (w.is_aligned()) got = std::move(l);
    });
    CHECK(run_until(context, [&] { return bool(got); }));
}

TEST_CASE("a cancellation slot is found behind other properties of a handler") {
    cluster servers(3);
    asio::io_context context;
    client user(context.get_executor(), servers.options());
    client other(context.get_executor(), servers.options());
    lease held;
    other.async_acquire("r", [&](error_code, lease l) { held = std::move(l); });
    REQUIRE(run_until(context, [&] { return bool(held); }));
    asio::cancellation_signal signal;
    error_code outcome;
    user.async_acquire("r", {.wait = 20s},
                       asio::bind_cancellation_slot(
                           signal.slot(), asio::bind_executor(
                                              context, [&](error_code e, lease) { outcome = e; })));
    run_for(context, 50ms);
    signal.emit(asio::cancellation_type::all);
    REQUIRE(run_until(context, [&] { return bool(outcome); }));
    CHECK(outcome == asio::error::operation_aborted);
}
