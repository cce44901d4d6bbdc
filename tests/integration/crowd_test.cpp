// A hundred contenders for one resource on healthy nodes; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "support/history.hpp"

#include <redlock/error.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

TEST_CASE("a hundred contenders for one resource all get their turn, one at a time", "[crowd]") {
    founded_cluster nodes(5);
    history spans;
    asio::io_context context;
    std::vector<std::unique_ptr<client>> clients;
    for (int i = 0; i < 4; ++i) {
        clients.push_back(std::make_unique<client>(context.get_executor(), nodes.options()));
    }
    constexpr int contenders = 100;
    int served = 0;
    int inside = 0;
    int most_inside = 0;
    for (int i = 0; i < contenders; ++i) {
        client& user = *clients[static_cast<std::size_t>(i % 4)];
        user.async_acquire("r", {.ttl = 20s, .wait = 60s}, [&](error_code error, lease got) {
            if (error) return;
            const auto granted_at = clock::now();
            most_inside = std::max(most_inside, ++inside);
            ++served;
            asio::post(context, [&, granted_at, held = std::move(got)]() mutable {
                spans.add(span_until_now(held, granted_at));
                --inside;
                user.async_release(std::move(held), [](error_code) {});
            });
        });
    }
    CHECK(run_until(context, [&] { return served == contenders && inside == 0; }, 100s));
    CHECK(served == contenders);
    CHECK(most_inside == 1);
    CHECK(spans.violations() == std::vector<std::string>());
    for (auto& user : clients) user->close();
    context.run_for(10s);
    CHECK(eventually([&] { return nodes.holding("r") == 0; }));
}
