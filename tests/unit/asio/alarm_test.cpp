// The alarm that the system gives a client.
// SPDX-License-Identifier: MIT
#include "asio/performers.hpp"

#include "tests/support/catch.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>

namespace asio = boost::asio;
using namespace redlock;
using namespace redlock::detail;
using namespace std::chrono_literals;

namespace {

struct world {
    asio::io_context context;
    std::unique_ptr<alarm_performer> alarm =
        make_system_alarm(io_strand(io_executor::over(context.get_executor())));
    std::shared_ptr<int> kept = std::make_shared<int>();
    int rings = 0;

    // `at_ring` is called with the number of rings so far.
    template <class F>
    void start(F at_ring) {
        alarm->start(kept, [this, at_ring] { at_ring(++rings); });
    }
};

}  // namespace

TEST_CASE("an alarm rings at each time that was set, until it is stopped") {
    world w;
    const auto begun = clock::now();
    w.start([&](int rings) { rings < 3 ? w.alarm->set(clock::now() + 5ms) : w.alarm->stop(); });
    w.alarm->set(begun + 5ms);
    w.context.run();
    CHECK(w.rings == 3);
    CHECK(clock::now() >= begun + 15ms);
    CHECK(w.kept.use_count() == 1);
}

TEST_CASE("an alarm is put forward, and not put off") {
    world w;
    const auto begun = clock::now();
    w.start([&](int) { w.alarm->stop(); });
    w.alarm->set(begun + 1h);
    w.alarm->set(begun + 10ms);
    w.alarm->set(begun + 2h);
    w.context.run();
    CHECK(w.rings == 1);
    CHECK(clock::now() >= begun + 10ms);
}

TEST_CASE("an alarm for what is past rings at once") {
    world w;
    w.start([&](int) { w.alarm->stop(); });
    w.alarm->set(time_point{});
    w.context.run();
    CHECK(w.rings == 1);
}

TEST_CASE("a stopped alarm rings no more, and lets go of what it kept") {
    world w;
    w.start([](int) {});
    w.alarm->set(clock::now());
    w.alarm->stop();
    w.alarm->stop();
    w.alarm->set(clock::now());
    w.context.run();
    CHECK(w.rings == 0);
    CHECK(w.kept.use_count() == 1);
}
