// Statements that drop what they return, on purpose: the compiler warns where that says whether
// something is held, or where nothing was begun.
// SPDX-License-Identifier: MIT
#include <redlock/redlock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <exception>
#include <stop_token>
#include <utility>

using namespace std::chrono_literals;

void blocking(redlock::blocking_client& client, redlock::lease held) {
    client.acquire("r");  // warns
    client.acquire_all(redlock::resource_list("r", "s"));  // warns
    client.adopt("token");  // warns
    client.extend(held, 1s);  // warns
    client.downgrade(held);  // warns
    client.release(std::move(held));  // warns
    redlock::guard(client, "r");  // warns
    redlock::with_lock(client, "r", [](const redlock::lease&, std::stop_token) {});  // warns
}

void held_by(redlock::mutex& mutex, redlock::shared_mutex& readers,
             redlock::counting_semaphore& slots, redlock::rate_limiter& limit) {
    mutex.try_lock();  // warns
    mutex.try_lock_for(1s);  // warns
    mutex.try_lock_until(std::chrono::steady_clock::now());  // warns
    readers.try_lock_shared();  // warns
    readers.try_lock_shared_for(1s);  // warns
    slots.try_acquire();  // warns
    slots.try_acquire_for(1s);  // warns
    limit.try_acquire();  // warns
    limit.acquire_for(1s);  // warns
    mutex.lock();
    mutex.unlock();
    slots.release();
}

void elected(redlock::election& office, redlock::async_election& other) {
    office.campaign();  // warns
    office.resign();  // warns
    office.lead([](const redlock::lease&, std::stop_token) {});  // warns
    office.held();  // warns
    other.async_campaign();  // warns
}

void asynchronous(redlock::client& client, redlock::lease held) {
    client.async_acquire("r");  // warns
    client.async_acquire("r", boost::asio::use_future);  // warns
    client.async_extend(held, 1s);  // warns
    client.async_close();  // warns
    client.async_acquire("r", [](redlock::error_code, redlock::lease) {});
    client.async_release(std::move(held), boost::asio::detached);
    auto named = [](const redlock::lease&, std::stop_token) { return 1; };
    client.async_with_lock("r", named);  // warns
    client.async_with_lock("r", named, [](std::exception_ptr, int) {});
    client.async_close(boost::asio::detached);
}
