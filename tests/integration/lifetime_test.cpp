// Context, client and lease destroyed at every step and in every order; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "support/hostile_server.hpp"

#include <redlock/error.hpp>

#include <boost/asio/bind_executor.hpp>

#include <functional>
#include <memory>
#include <string>

using namespace redlock;
using namespace redlock::testing;

namespace {

// A client at work: acquire, then wait for the loss, inspect, wait in line, extend, release.
class life {
public:
    // Each its own resource: some ends leave keys to run out by themselves.
    life(const client_options& options, int number)
        : resource("r" + std::to_string(number)),
          context(std::make_unique<asio::io_context>()),
          user(std::make_unique<client>(context->get_executor(), options)) {
        user->async_acquire(resource, {.ttl = 20s, .wait = 20s},
                            [this](error_code error, lease got) {
                                held = std::move(got);
                                // What was decided before the client went is still reported.
                                if (!error && user) on_granted();
                            });
    }

    void on_granted() {
        user->async_lost(held, [](error_code, loss) {});
        user->async_inspect(resource, [](error_code, resource_state) {});
        user->async_acquire(resource, {.ttl = 5s, .wait = 50ms},
                            [this](error_code, lease got) { second = std::move(got); });
        // A lease that is destroyed at once.
        user->async_acquire(resource + "s", {.ttl = 5s}, [](error_code, lease) {});
        user->async_extend(held, 25s, [this](error_code) {
            if (!user) return;
            user->async_release(std::move(held), [this](error_code) { finished = true; });
        });
    }

    // Runs at most so many handlers; true when the work is done.
    bool run(int handlers) {
        for (int i = 0; i < handlers && !finished; ++i) {
            if (context->run_one_for(1s) == 0) break;
        }
        return finished;
    }

    std::string resource;
    std::unique_ptr<asio::io_context> context;
    std::unique_ptr<client> user;
    lease held;
    lease second;
    bool finished = false;
};

// Destroys things at step 0, 1, 2, … until a whole life fits in.
void at_every_step(const client_options& options, const std::function<void(life&)>& destroy) {
    bool finished = false;
    int steps = 0;
    for (; !finished; ++steps) {
        REQUIRE(steps < 2'000);
        CAPTURE(steps);
        life one(options, steps);
        finished = one.run(steps);
        destroy(one);
    }
    CHECK(steps > 10);
}

void run_to_the_end(life& one) {
    if (one.context->stopped()) one.context->restart();
    one.context->run_for(10s);
    // Nothing is left: the client closed its connections.
    REQUIRE(one.context->stopped());
}

}  // namespace

TEST_CASE("the context goes first, at every step", "[lifetime]") {
    founded_cluster nodes(3);
    at_every_step(nodes.options(), [](life& one) {
        one.context.reset();
        // What is left works, and says so.
        (void)one.user->stats();
        CHECK_FALSE(static_cast<bool>(one.second));
        one.user->close();
    });
}

TEST_CASE("the client goes first, at every step, and its context ends by itself", "[lifetime]") {
    founded_cluster nodes(3);
    at_every_step(nodes.options(), [&](life& one) {
        one.user.reset();
        run_to_the_end(one);
        CHECK_FALSE(one.held);
    });
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("the client is closed at every step", "[lifetime]") {
    founded_cluster nodes(3);
    at_every_step(nodes.options(), [&](life& one) {
        one.user->close();
        run_to_the_end(one);
        CHECK_FALSE(one.held);
        one.user->close();
    });
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("the leases go first, at every step", "[lifetime]") {
    founded_cluster nodes(3);
    at_every_step(nodes.options(), [&](life& one) {
        one.held = lease{};
        one.second = lease{};
        one.run(20);
        one.user.reset();
        run_to_the_end(one);
    });
    CHECK(eventually([&] { return nodes.keys() == 0; }));
}

TEST_CASE("client and context go without another handler, at every step", "[lifetime]") {
    founded_cluster nodes(3);
    at_every_step(nodes.options(), [](life& one) {
        one.user.reset();
        one.context.reset();
    });
}

TEST_CASE("a client goes at every step of founding a cluster", "[lifetime]") {
    cluster nodes(3);
    const bool by_context = GENERATE(false, true);
    for (int steps = 0; steps < 100; ++steps) {
        CAPTURE(steps);
        for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).command({"FLUSHALL"});
        life one(nodes.options(), steps);
        one.run(steps);
        if (by_context) one.context.reset();
        one.user.reset();
        if (!by_context) run_to_the_end(one);
    }
}

TEST_CASE("leases outlive client and context", "[lifetime]") {
    cluster nodes(3);
    lease outliving;
    lease detached;
    {
        driver d(nodes.options());
        auto got = d.acquire("r", {.ttl = 20s});
        REQUIRE(got.value());
        outliving = std::move(got.value());
        detached = std::move(d.acquire("s", {.ttl = 20s}).value());
    }
    CHECK_FALSE(outliving);
    CHECK(outliving.resource() == "r");
    CHECK_FALSE(outliving.owner().is_zero());
    CHECK(outliving.votes().size() == 3);
    CHECK(outliving.votes()[1].node.str() == "n1");
    CHECK(outliving.remaining() == 0ms);
    CHECK(outliving.lost_token().stop_requested());
    detached.detach();
    lease moved = std::move(outliving);
    CHECK(moved.resource() == "r");
}

TEST_CASE("destroying while nodes are refused, hung or hostile", "[lifetime]") {
    cluster nodes(3);
    hostile_server mute(hostile::never_answers());
    hostile_server odd(hostile::answers(hostile::garbage()));
    auto options = nodes.options();
    options.node_timeout = 20ms;
    options.connect_timeout = 50ms;
    nodes.kill(0);
    nodes.stop(1);
    options.nodes.push_back(mute.node("mute"));
    options.nodes.push_back(odd.node("odd"));
    for (int steps = 0; steps < 120; ++steps) {
        CAPTURE(steps);
        life one(options, steps);
        one.run(steps);
        if (steps % 3 == 0) {
            one.context.reset();
        } else if (steps % 3 == 1) {
            one.user.reset();
            run_to_the_end(one);
        } else {
            one.user.reset();
        }
    }
}

TEST_CASE("a client may be destroyed and moved inside its own handlers", "[lifetime]") {
    cluster nodes(3);
    asio::io_context context;
    auto user = std::make_unique<client>(context.get_executor(), nodes.options());
    bool done = false;
    SECTION("in the handler of an acquire") {
        user->async_acquire("r", {.ttl = 20s, .wait = 10s}, [&](error_code error, lease) {
            CHECK(error == error_code{});
            user.reset();
            done = true;
        });
    }
    SECTION("in the callback of a lost_token") {
        std::optional<std::stop_callback<std::function<void()>>> callback;
        lease held;
        user->async_acquire("r", {.ttl = 300ms, .wait = 10s, .renew = false},
                            [&](error_code error, lease got) {
                                CHECK(error == error_code{});
                                held = std::move(got);
                                callback.emplace(held.lost_token(), [&] {
                                    user.reset();
                                    done = true;
                                });
                            });
        CHECK(run_until(context, [&] { return done; }));
    }
    SECTION("moved while at work") {
        outcome<lease> got;
        user->async_acquire("r", {.ttl = 20s, .wait = 10s}, got.handler());
        client other(std::move(*user));
        outcome<lease> refused;
        // A client that was moved from has no executor of its own to complete on.
        user->async_acquire("r", {.ttl = 20s}, asio::bind_executor(context, refused.handler()));
        CHECK(run_until(context, [&] { return got.done() && refused.done(); }));
        CHECK(got.error() == error_code{});
        CHECK(refused.error() == errc::client_closed);
        *user = std::move(other);
        outcome<> released;
        user->async_release(std::move(got.value()), released.handler());
        CHECK(run_until(context, [&] { return released.done(); }));
        CHECK(released.error() == error_code{});
        user.reset();
        done = true;
    }
    CHECK(run_until(context, [&] { return done; }));
    context.restart();
    context.run_for(10s);
    CHECK(context.stopped());
    CHECK(eventually([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("handlers are never called from within the initiating function", "[lifetime]") {
    cluster nodes(1);
    driver d(nodes.options());
    bool inside = true;
    int called = 0;
    const auto check = [&] {
        CHECK_FALSE(inside);
        ++called;
    };
    d.client().async_acquire("", {}, [&](error_code, lease) { check(); });
    d.client().async_release(lease{}, [&](error_code) { check(); });
    d.client().async_extend(lease{}, 1s, [&](error_code) { check(); });
    d.client().async_lost(lease{}, [&](error_code, loss) { check(); });
    d.client().async_inspect("", [&](error_code, resource_state) { check(); });
    d.client().async_close([&](error_code) { check(); });
    d.client().close();
    d.client().async_close([&](error_code) { check(); });
    d.client().async_acquire("r", {}, [&](error_code, lease) { check(); });
    inside = false;
    CHECK(d.until([&] { return called == 8; }));
}

TEST_CASE("a lease may be destroyed before its client connected again", "[lifetime]") {
    cluster nodes(3, durable);
    driver d(nodes.options());
    for (int round = 0; round < 3; ++round) {
        {
            auto got = d.acquire("r", {.ttl = 40s, .wait = 10s});
            REQUIRE(got.value());
            REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
            for (std::size_t i = 0; i < 3; ++i) nodes.kill(i);
            if (round == 1) d.await_down("n0");
        }
        for (std::size_t i = 0; i < 3; ++i) nodes.restart(i);
        d.await_up(3);
        CHECK(d.until([&] { return nodes.holding("r") == 0; }, 10s));
    }
}
