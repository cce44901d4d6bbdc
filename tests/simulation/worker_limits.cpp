// A simulated worker makes calls of a rate limiter.
// SPDX-License-Identifier: MIT
#include "client/limit.hpp"
#include "simulation/program.hpp"
#include "simulation/watched.hpp"
#include "simulation/worker.hpp"

#include <redlock/clock.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

struct calling final : watched<detail::limit_operation, worker> {
    calling(program& in, worker& by, std::uint16_t what, milliseconds wait)
        : watched(in, by, in.limiter(), what, wait), cost(what) {}
    void complete(limit_answer answer) override { ended().on_called(answer, cost); }
    time_point read_clock() const override { return clock::now(); }
    std::uint16_t cost;
};

}  // namespace

void worker::call() {
    const auto most = static_cast<std::int64_t>(in_->around().in.limit);
    const auto cost = static_cast<std::uint16_t>(dice_.happens(0.6) ? 1 : dice_.between(1, most));
    const duration longest = 3 * duration(in_->around().in.period);
    call(cost, dice_.happens(0.5) ? 0ms
                                  : std::chrono::ceil<milliseconds>(dice_.between_orders(1ms, longest)));
}

void worker::call(std::uint16_t cost, milliseconds wait) {
    ++step_;
    is_busy_ = true;
    how_ = {.wait = wait};
    tell([&] {
        return "calls at a cost of " + std::to_string(cost) + ", waiting " +
               std::to_string(wait.count()) + " ms";
    });
    if (to_prove_.empty() && dice_.happens(0.1)) {
        plan(dice_.between_orders(10us, 100ms), &worker::cancel);
    }
    begin<calling>(cost, wait);
}

void worker::on_called(const limit_answer& answer, std::uint16_t cost) {
    ++step_;
    current_.reset();
    const auto& in = in_->around().in;
    lease_checker& judge = in_->around().judge;
    // As many tries as a call makes in a row, each as long as an acquire's.
    check_time(duration(how_.wait) + core::rate_limit::most_tries *
                   (in.longest_split() + in.longest_opening() +
                    17 * duration(in.longest_node_timeout())) + 2ms,
               "a call");
    tell([&] { return answer ? std::string("may call") : "may not: " + answer.why.code.message(); });
    judge.require(!answer || answer.at == clock::now(), "limit", [&] {
        return name() + " learns that its call counts at another instant than now";
    });
    if (answer) judge.allowed(*in_, cost);
    if (to_prove_.empty()) return plan(0ns, &worker::think);
    judge.require(answer.allowed, "liveness", [&] {
        return name() + " could not call in peace: " + answer.why.code.message();
    });
    to_prove_.pop_back();
    prove_next();
}

}  // namespace redlock::simulation
