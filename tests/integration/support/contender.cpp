// A process of contenders for one lock: a test case that only other tests run; knows no internals.
// SPDX-License-Identifier: MIT
#include "contender.hpp"

#include "../../support/catch.hpp"
#include "direct.hpp"
#include "judge/journal.hpp"
#include "run.hpp"

#include <redlock/client.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdlib>
#include <map>
#include <sstream>

namespace redlock::testing {
namespace {

constexpr const char* variable = "REDLOCK_CONTENDER";

// What one process does, in the thread of its io_context.
struct contest {
    client* user;
    direct* counter;
    contender_plan plan;
    clock::time_point end;
    judge::journal* out;
    int running = 0;
    int failures = 0;
    std::uint64_t turns = 0;
};

asio::awaitable<void> contend(contest& in, unsigned coroutine) {
    while (clock::now() < in.end) {
        const auto begun = clock::now();
        error_code error;
        lease held =
            co_await in.user->async_acquire("r", acquire_options{.ttl = 10s, .wait = 60s},
                                            asio::redirect_error(asio::use_awaitable, error));
        if (error) {
            ++in.failures;
            continue;
        }
        judge::entry section;
        section.what = judge::entry::kind::granted;
        section.section = ++in.turns;
        section.contender = coroutine;
        section.resource = held.resource();
        section.owner = held.owner().to_string();
        section.fence = held.fence();
        section.asked_at = begun;
        section.at = clock::now();
        section.valid_until = held.valid_until();
        in.out->write(section);
        const int value = std::stoi(in.counter->get("counter").value_or("0"));
        in.counter->set("counter", std::to_string(value + 1));
        section.what = judge::entry::kind::ended;
        section.valid_until = held.valid_until();
        section.at = std::min(clock::now(), section.valid_until);
        in.out->write(section);
        co_await in.user->async_release(std::move(held),
                                        asio::redirect_error(asio::use_awaitable, error));
        if (error) ++in.failures;
    }
    if (--in.running == 0) in.user->close();
}

}  // namespace

std::unique_ptr<tool_process> start_contender(cluster& nodes, const redis_server& counter,
                                              const contender_plan& plan, const std::string& out) {
    std::ostringstream terms;
    terms << out << ' ' << plan.fencing << ' ' << plan.process << ' ' << plan.coroutines << ' '
          << plan.ms << ' ' << counter.port();
    for (std::size_t i = 0; i < nodes.size(); ++i) terms << ' ' << nodes[i].port();
    ::setenv(variable, terms.str().c_str(), 1);
    auto started = std::make_unique<tool_process>(
        tool_process::program{std::filesystem::read_symlink("/proc/self/exe").string()},
        std::vector<std::string>{"[contender]"});
    ::unsetenv(variable);
    return started;
}

std::vector<contender_turn> read_turns(const std::string& path, int process) {
    std::vector<contender_turn> all;
    std::map<std::uint64_t, judge::entry> granted;
    judge::journal_reader(path).read([&](const judge::entry& e) {
        if (e.what == judge::entry::kind::granted) {
            granted[e.section] = e;
            return;
        }
        const auto& begin = granted.at(e.section);
        all.push_back({process,
                       e.contender,
                       {e.resource, e.of, e.owner, e.fence, begin.at, e.at, e.at, {},
                        begin.asked_at}});
    });
    return all;
}

TEST_CASE("a process of contenders", "[.][contender]") {
    const char* const given = std::getenv(variable);
    if (given == nullptr) return;
    std::istringstream terms(given);
    contender_plan plan;
    std::string out;
    std::uint16_t counter_port = 0;
    terms >> out >> plan.fencing >> plan.process >> plan.coroutines >> plan.ms >> counter_port;
    client_options options;
    options.fencing = plan.fencing;
    options.node_timeout = 3s;
    options.connect_timeout = 6s;
    options.cluster = "test";
    for (node_options node; terms >> node.port;) options.nodes.push_back(node);
    asio::io_context context;
    client user(context.get_executor(), options);
    direct counter(counter_port);
    judge::journal history(out);
    contest here{&user,
                 &counter,
                 plan,
                 clock::now() + std::chrono::milliseconds(plan.ms),
                 &history,
                 plan.coroutines};
    for (unsigned i = 0; i < static_cast<unsigned>(plan.coroutines); ++i) {
        asio::co_spawn(context, contend(here, i), asio::detached);
    }
    context.run();
    CHECK(here.running == 0);
    CHECK(here.failures == 0);
}

}  // namespace redlock::testing
