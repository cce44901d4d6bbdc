// The executor below a client's strand: it passes on everything to the caller's.
// SPDX-License-Identifier: MIT
#include "asio/performers.hpp"

#include "tests/support/catch.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <optional>
#include <vector>

namespace asio = boost::asio;
using redlock::detail::io_executor;
using redlock::detail::io_strand;

TEST_CASE("it stands for the caller's executor") {
    asio::io_context context;
    asio::io_context other;
    const io_executor executor = io_executor::over(context.get_executor());
    CHECK(&asio::query(executor, asio::execution::context) == &context);
    CHECK(executor.inner() == asio::any_io_executor(context.get_executor()));
    CHECK(executor == io_executor::over(context.get_executor()));
    CHECK_FALSE(executor == io_executor::over(other.get_executor()));
}

TEST_CASE("it knows whether it may block, as the caller's executor does") {
    using asio::execution::blocking;
    asio::io_context context;
    const asio::any_io_executor given(context.get_executor());
    const io_executor executor = io_executor::over(given);
    CHECK(asio::query(executor, blocking) == asio::query(given, blocking));
    const io_executor never = asio::require(executor, blocking.never);
    CHECK(asio::query(never, blocking) == blocking.never);
    bool has_run = false;
    asio::post(context, [&] {
        never.execute([&] { has_run = true; });
        CHECK_FALSE(has_run);
        executor.execute([&] { CHECK_FALSE(has_run); });
    });
    context.run();
    CHECK(has_run);
    const io_executor tracked = asio::prefer(never, asio::execution::outstanding_work.tracked);
    CHECK(asio::query(tracked, blocking) == blocking.never);
}

TEST_CASE("outstanding work on it keeps the context running") {
    asio::io_context context;
    std::optional<io_executor> work(
        asio::prefer(io_executor::over(context.get_executor()),
                     asio::execution::outstanding_work.tracked));
    bool has_run = false;
    context.poll();
    REQUIRE_FALSE(context.stopped());
    asio::post(*work, [&] { has_run = true; });
    work.reset();
    context.run();
    CHECK(has_run);
    CHECK(context.stopped());
}

TEST_CASE("a strand on it runs handlers in order, and at once within itself") {
    asio::io_context context;
    const io_strand strand(io_executor::over(context.get_executor()));
    std::vector<int> order;
    asio::post(strand, [&] {
        asio::post(strand, [&] { order.push_back(3); });
        asio::dispatch(strand, [&] { order.push_back(1); });
        order.push_back(2);
    });
    asio::post(strand, [&] { order.push_back(4); });
    context.run();
    CHECK(order == std::vector{1, 2, 4, 3});
}
