// Tests what the public client offers to users of Asio; opens no socket.
// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/unreachable.hpp"

#include <redlock/async_election.hpp>
#include <redlock/async_rate_limiter.hpp>
#include <redlock/client.hpp>
#include <redlock/error.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace redlock::testing {

namespace {

/// A completion token that cancels after a time, on a timer of the initiation's own executor, as
/// `asio::cancel_after` of Boost 1.86 does.
template <class Function>
struct timed {
    std::chrono::milliseconds after;
    Function then;
};
template <class Function>
timed(std::chrono::milliseconds, Function) -> timed<Function>;

template <class Executor, class Function>
struct timed_handler {
    using timer =
        asio::basic_waitable_timer<std::chrono::steady_clock,
                                   asio::wait_traits<std::chrono::steady_clock>, Executor>;
    struct shared_part {
        shared_part(const Executor& on, std::chrono::milliseconds after) : clock(on, after) {}
        timer clock;
        asio::cancellation_signal signal;
    };
    using cancellation_slot_type = asio::cancellation_slot;

    cancellation_slot_type get_cancellation_slot() const noexcept { return part->signal.slot(); }
    template <class... Results>
    void operator()(Results... results) {
        part->clock.cancel();
        then(std::move(results)...);
    }

    std::shared_ptr<shared_part> part;
    Function then;
};

}  // namespace

}  // namespace redlock::testing

template <class Function, class... Results>
class boost::asio::async_result<redlock::testing::timed<Function>, void(Results...)> {
public:
    template <class Initiation, class... Args>
    static void initiate(Initiation initiation, redlock::testing::timed<Function> token,
                         Args&&... args) {
        using executor = typename Initiation::executor_type;
        using handler = redlock::testing::timed_handler<executor, Function>;
        static_assert(noexcept(initiation.get_executor()));
        auto part = std::make_shared<typename handler::shared_part>(initiation.get_executor(),
                                                                    token.after);
        part->clock.async_wait([part](error_code ec) {
            if (!ec) part->signal.emit(cancellation_type::terminal);
        });
        std::move(initiation)(handler{part, std::move(token.then)}, std::forward<Args>(args)...);
    }
    using error_code = boost::system::error_code;
};

using namespace redlock;
using redlock::testing::timed;
using redlock::testing::unreachable;

TEST_CASE("a completion token may ask each initiation for the client's executor") {
    asio::io_context context;
    client c(context, unreachable());
    std::vector<error_code> outcomes;
    const auto note = [&](error_code ec, auto&&...) { outcomes.push_back(ec); };
    c.async_acquire("r", {.wait = 1h}, timed{10ms, note});
    c.async_acquire_all({"r", "s"}, {.wait = 1h}, timed{10ms, note});
    while (outcomes.size() < 2 && context.run_one() != 0) {}
    CHECK(outcomes == std::vector<error_code>(2, asio::error::operation_aborted));
    outcomes.clear();
    c.async_extend(lease(), 1s, timed{1h, note});
    c.async_downgrade(lease(), timed{1h, note});
    c.async_release(lease(), timed{1h, note});
    c.async_lost(lease(), timed{1h, note});
    c.async_inspect("", timed{1h, note});
    const resource_state nothing;
    c.async_watch("", nothing, timed{1h, note});
    c.async_list("", timed{10ms, note});
    c.async_last_runs("", timed{1h, note});
    const run_record run;
    c.async_record_run("r", run, 1s, timed{1h, note});
    c.async_revoke(nothing, timed{1h, note});
    c.async_probe(timed{10ms, note});
    c.async_init(timed{1h, note});
    c.async_commit(timed{1h, note});
    c.async_adopt("", timed{1h, note});
    while (outcomes.size() < 14 && context.run_one() != 0) {}
    c.async_close(timed{1h, note});
    context.run();
    CHECK(outcomes.size() == 15);
}

TEST_CASE("a client needs an executor") {
    asio::io_context context;
    client c(context, unreachable());
    client moved(std::move(c));
    REQUIRE_FALSE(c.get_executor());
    CHECK_THROWS_AS(client(c.get_executor(), unreachable()), std::invalid_argument);
    moved.close();
    context.run();
}

TEST_CASE("options that are wrong are refused when the client is made, each by its name") {
    asio::io_context context;
    CHECK_THROWS_AS(client(context, client_options{}), std::invalid_argument);
    client_options options = unreachable();
    options.drift_factor = 2;
    options.node_timeout = -1ms;
    try {
        const client refused(context, options);
        FAIL("the options were taken");
    } catch (const std::invalid_argument& e) {
        const std::string text = e.what();
        CHECK(text.find("drift_factor") != std::string::npos);
        CHECK(text.find("node_timeout") != std::string::npos);
    }
}

TEST_CASE("elections and limiters can be moved; what they were moved from is closed") {
    static_assert(std::is_nothrow_move_assignable_v<async_election>);
    static_assert(std::is_nothrow_move_assignable_v<async_rate_limiter>);
    asio::io_context context;
    auto options = unreachable();
    options.fencing = true;
    client c(context, options);
    std::vector<error_code> outcomes;
    // What belongs to no client any more would complete on a thread of the system's executor.
    auto note = asio::bind_executor(
        context, [&](error_code ec, auto&&...) { outcomes.push_back(ec); });
    async_election office(c, "r");
    office.async_campaign(note);
    async_election other(std::move(office));
    CHECK_FALSE(office.held());
    CHECK(office.fence() == 0);
    CHECK_FALSE(office.lost_token().stop_possible());
    office.touch();
    office.async_campaign(note);
    office.async_resign(note);
    office.async_lost(note);
    office.async_leader(note);
    office.async_observe(std::nullopt, note);
    async_rate_limiter limiter(c, "s", 1, 1s);
    const async_rate_limiter elsewhere = std::move(limiter);
    limiter.async_try_acquire(note);
    while (outcomes.size() < 6 && context.run_one_for(5s) != 0) {}
    CHECK(outcomes == std::vector<error_code>(6, errc::client_closed));
    other = async_election(c, "t");  // ends the campaign
    while (outcomes.size() < 7 && context.run_one_for(5s) != 0) {}
    CHECK(outcomes.back() == asio::error::operation_aborted);
    c.close();
    context.run();
}

TEST_CASE("so it may with those of sections, elections and limiters") {
    asio::io_context context;
    auto options = unreachable();
    options.fencing = true;  // a limiter has slots
    client c(context, options);
    std::vector<error_code> outcomes;
    const auto note = [&](error_code ec, auto&&...) { outcomes.push_back(ec); };
    async_election office(c, "r");
    office.async_campaign(timed{10ms, note});
    async_rate_limiter limiter(c, "s", 1, 1s);
    limiter.async_acquire_for(1h, timed{10ms, note});
    const auto section = [](const lease&, std::stop_token) {};
    c.async_with_lock("t", {.wait = 1h}, section, timed{10ms, [&](std::exception_ptr why) {
                                                           outcomes.push_back(code_of(why));
                                                       }});
    while (outcomes.size() < 3 && context.run_one() != 0) {}
    CHECK(outcomes == std::vector<error_code>(3, asio::error::operation_aborted));
    outcomes.clear();
    office.async_resign(timed{1h, note});
    office.async_lost(timed{1h, note});
    office.async_leader(timed{10ms, note});
    office.async_observe(std::nullopt, timed{10ms, note});
    limiter.async_try_acquire(timed{10ms, note});
    while (outcomes.size() < 5 && context.run_one() != 0) {}
    c.close();
    context.run();
    CHECK(outcomes.size() == 5);
}

TEST_CASE("a token of a client that was moved from gets an executor, too") {
    asio::io_context context;
    client c(context, unreachable());
    const client other(std::move(c));
    CHECK_FALSE(c.get_executor());
    CHECK(detail::initiation<>(nullptr).get_executor());
}

TEST_CASE("a client is made of an execution context") {
    asio::io_context context;
    client c(context, unreachable());
    CHECK(c.get_executor() == context.get_executor());
    static_assert(!std::is_constructible_v<client, int&, client_options>);
    static_assert(!std::is_constructible_v<client, client&, client_options>);
}

TEST_CASE("an acquire with a duration at its extreme is refused") {
    const auto extreme =
        GENERATE(std::chrono::milliseconds::min(), std::chrono::milliseconds::max());
    asio::io_context context;
    client c(context, unreachable());
    int called = 0;
    for (const auto& options : {acquire_options{.ttl = extreme},
                                acquire_options{.wait = std::chrono::milliseconds::min()},
                                acquire_options{.max_hold = extreme},
                                acquire_options{.loss_margin = extreme}}) {
        c.async_acquire("r", options, [&](error_code ec, const lease& none) {
            CHECK(ec == errc::invalid_argument);
            CHECK(none.why().find("_ms ") != std::string::npos);
            ++called;
        });
    }
    while (called < 4 && context.run_one() != 0) {}
    CHECK(called == 4);
}

TEST_CASE("cancel ends what was started before it, and nothing else") {
    asio::io_context context;
    client c(context, unreachable());
    std::vector<error_code> first;
    std::vector<error_code> second;
    c.async_acquire("r", {.wait = 1h}, [&](error_code ec, lease) { first.push_back(ec); });
    c.async_acquire("s", {.wait = 1h}, [&](error_code ec, lease) { first.push_back(ec); });
    c.cancel();
    c.async_acquire("r", {.wait = 1h}, [&](error_code ec, lease) { second.push_back(ec); });
    SECTION("within one turn") {}
    SECTION("after some of them") {
        while (first.size() < 2 && context.run_one() != 0) {}
        CHECK(second.empty());
    }
    c.cancel();
    while (first.size() + second.size() < 3 && context.run_one() != 0) {}
    CHECK(first == std::vector<error_code>(2, asio::error::operation_aborted));
    CHECK(second == std::vector<error_code>(1, asio::error::operation_aborted));
    c.close();
    context.run();
}

TEST_CASE("cancel may be called whatever became of the client") {
    auto context = std::make_unique<asio::io_context>();
    client c(*context, unreachable());
    c.cancel();
    client other(std::move(c));
    c.cancel();
    other.close();
    other.cancel();
    context.reset();
    other.cancel();
}
