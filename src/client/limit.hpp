// One call of a rate limiter: carries out what its machine decides; knows no connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/context.hpp"
#include "client/lease.hpp"
#include "client/survey.hpp"
#include "core/limit.hpp"
#include "wire/lock.hpp"
#include "wire/request.hpp"

#include <redlock/limit_answer.hpp>

#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::detail {

/// What the calls of one rate limiter share. Touched on the strand of one client.
struct limiter {
    limiter(std::string name, std::uint16_t slots, std::chrono::milliseconds period,
            const client_options& client)
        : resource(std::move(name)),
          calls(slots, period, client.ttl_max, drift_of(client)) {}

    const std::string resource;
    core::rate_limit calls;
};

/// Each time that it asks the nodes it begins an acquire of slots, which are then left to run out.
class limit_operation : public quiet_operation, private timer, private core::limited {
public:
    limit_operation(std::shared_ptr<limiter> of, std::uint16_t cost,
                    std::chrono::milliseconds wait)
        : of_(std::move(of)), wait_(wait), cost_(cost) {
        assert(of_);
    }
    void start(time_point now) final;
    void cancel(error_code why, time_point now) final;

protected:
    /// Exactly once. The code is that of the answer.
    virtual void complete(limit_answer answer) = 0;
    /// The clock, read again: since the turn began the caller's observers may have taken long.
    virtual time_point read_clock() const = 0;

private:
    class question;

    void on_turn(time_point now) final;
    void on_rest(time_point until) final;
    void on_due(time_point now) final;
    void answered(error_code outcome, lease_state& said, const limit_news& news);
    /// It ends where nothing can cost what it does.
    bool is_too_dear(time_point now);
    void refused(error_code why, const lease_state& said, time_point now);
    /// Until its deadline, or the instant at which the line tells it to look again.
    void stand_in_line(time_point now);
    void end(limit_answer answer, time_point now);
    void end_unasked(std::string_view why, time_point now);

    const std::shared_ptr<limiter> of_;
    const std::chrono::milliseconds wait_;
    const std::uint16_t cost_;
    refusal last_;           // what the nodes answered last; none before they refused
    operation_ptr asks_;     // the nodes, in its turn; null while it is in line, or over
};

/// Sets how many are allowed, of all programs. A quorum has to take it.
class limit_change : public node_survey<refusal> {
public:
    limit_change(std::shared_ptr<limiter> of, std::uint16_t limit)
        : of_(std::move(of)), limit_(limit) {
        assert(of_);
    }

private:
    bool check() final;
    bool begin(time_point now) final;
    bool go_on(time_point now) final;
    bool write(std::size_t node, std::uint32_t, wire::request& out,
               resp::script_form) const final;
    void read(std::size_t node, std::uint32_t, const resp::reply& reply, time_point now) final;
    void failed(std::size_t node, std::uint32_t, const wire::failure& why, time_point now) final {
        note(node, {.answer = why.answer, .why = why}, now);
    }
    void note(std::size_t node, const wire::acquire_answer& answer, time_point now);

    const std::shared_ptr<limiter> of_;
    const std::uint16_t limit_;
    std::uint64_t revision_ = 0;
    time_point sent_at_{};
};

}  // namespace redlock::detail
