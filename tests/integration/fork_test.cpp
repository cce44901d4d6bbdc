// Clients and leases that a child process inherits: over in the child, untouched in the parent.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/error.hpp>
#include <redlock/mutex.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

using namespace redlock;
using namespace redlock::testing;

namespace {

// The number of the first check that does not hold in a child process; 0 where all hold.
using checks = std::function<int()>;

// -1: the child did not end by itself.
int in_child(const checks& body) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::alarm(10);  // which ends a child that hangs
        ::_exit(body());
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// What the parent sees afterwards: no connection was lost, and the lease is renewed.
void check_parent(blocking_client& client, lease& held, const event_log& log) {
    CHECK(log.count(event_kind::node_down) == 0);
    CHECK(held);
    CHECK_FALSE(held.lost_token().stop_requested());
    CHECK(client.extend(held, 20s).has_value());
    CHECK(client.stats().lost == 0);
}

}  // namespace

TEST_CASE("an inherited blocking client is closed in the child, and works on in the parent",
          "[fork]") {
    cluster nodes(3);
    event_log log;
    auto options = nodes.options();
    log.attach(options);
    auto client = std::make_unique<blocking_client>(options);
    auto got = client->acquire("r", {.ttl = 10s});
    REQUIRE(got.has_value());
    lease held = std::move(*got);
    REQUIRE(eventually([&] { return log.nodes_up() == 3; }));
    CHECK(in_child([&] {
              if (held || held.remaining() > 0ms || !held.token().empty()) return 1;
              if (!held.lost_token().stop_requested()) return 2;
              if (client->acquire("other").error() != errc::client_closed) return 3;
              if (client->extend(held, 20s).error() != errc::client_closed) return 4;
              if (client->inspect("r").error() != errc::client_closed) return 5;
              if (client->close().error() != errc::client_closed) return 6;
              mutex m(*client, "m");
              try {
                  m.lock();
                  return 7;
              } catch (const std::system_error& e) {
                  if (e.code() != errc::client_closed) return 8;
              }
              if (client->release(std::move(held)).error() != errc::client_closed) return 9;
              client.reset();
              return 0;
          }) == 0);
    check_parent(*client, held, log);
    CHECK(nodes.holding("r") == 3);
    CHECK(client->release(std::move(held)).has_value());
    CHECK(eventually([&] { return nodes.holding("r") == 0; }));
}

TEST_CASE("leases that a child destroys, and what it assigns over, release nothing", "[fork]") {
    cluster nodes(3);
    event_log log;
    auto options = nodes.options();
    log.attach(options);
    blocking_client client(options);
    std::optional<lease> held = client.acquire("r", {.ttl = 10s}).value();
    REQUIRE(eventually([&] { return log.nodes_up() == 3; }));
    CHECK(in_child([&] {
              held.reset();
              client = blocking_client(nodes.options());  // the child's own
              const auto own = client.acquire("child", {.ttl = 10s, .wait = 5s});
              return own.has_value() && *own ? 0 : 1;
          }) == 0);
    check_parent(client, *held, log);
    CHECK(nodes.holding("r") == 3);
}

TEST_CASE("a child with an inherited lease may fork again", "[fork]") {
    cluster nodes(1);
    blocking_client client(nodes.options());
    const auto held = client.acquire("r", {.ttl = 10s, .wait = 5s});
    REQUIRE(held.has_value());
    CHECK(in_child([&] {
              blocking_client own(nodes.options());
              const auto mine = own.acquire("child", {.ttl = 10s, .wait = 5s});
              if (!mine.has_value() || !*mine) return 1;
              return in_child([&] { return *mine || *held ? 2 : 0; });
          }) == 0);
    CHECK(*held);
}

TEST_CASE("an inherited asynchronous client is closed, whether the child runs its context or not",
          "[fork]") {
    cluster nodes(3);
    driver d(nodes.options());
    auto got = d.acquire("r", {.ttl = 10s});
    REQUIRE_FALSE(got.error());
    const bool runs_context = GENERATE(false, true);
    if (runs_context) d.context().notify_fork(asio::io_context::fork_prepare);
    CHECK(in_child([&] {
              if (got.value()) return 1;
              if (runs_context) {
                  d.context().notify_fork(asio::io_context::fork_child);
                  error_code said;
                  d.client().async_acquire("other", {}, [&](error_code ec, lease) { said = ec; });
                  d.context().restart();
                  d.context().run_for(200ms);
                  if (said != errc::client_closed) return 2;
              }
              got.value() = lease();
              d.destroy_client();
              return 0;
          }) == 0);
    if (runs_context) d.context().notify_fork(asio::io_context::fork_parent);
    d.pass(200ms);
    CHECK(d.log().count(event_kind::node_down) == 0);
    CHECK(got.value());
    CHECK_FALSE(d.extend(got.value(), 20s));
    CHECK(nodes.holding("r") == 3);
    CHECK_FALSE(d.release(std::move(got.value())));
}
