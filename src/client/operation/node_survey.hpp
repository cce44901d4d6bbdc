// An operation that queries every node, and completes when the answers are in; knows no question.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/operation.hpp"
#include "client/operation/client_parts.hpp"
#include "value/time.hpp"
#include "wire/failure.hpp"
#include "wire/request.hpp"

#include <redlock/error.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace redlock::detail {

/// It sends questions, each to some nodes. When each of these has answered or failed, `go_on` sends
/// others or ends it. A node answers or fails in time by itself, so a survey needs no deadline of
/// its own.
template <class Result>
class node_survey : public operation {
public:
    void start(time_point now) final {
        if (const error_code why = check()) return end(why);
        client().host.await_settled(*this, now);
    }
    void on_settled(time_point now) final {
        if (!over_) proceed(now);
    }
    void cancel(error_code why, time_point) final { end(why); }

protected:
    /// Called exactly once.
    virtual void complete(error_code outcome, Result result) = 0;

    /// Why nothing may be sent; no error when all is well.
    virtual error_code check() { return {}; }
    /// Called when it is known which nodes may vote, and whenever no answer is missing. Sends
    /// questions by `ask` and returns true; or returns false, after `end` or to call `proceed`
    /// later.
    virtual bool go_on(time_point now) = 0;
    /// The answer of a node to one question.
    virtual void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
                      time_point now) = 0;
    /// The node did not answer it.
    virtual void failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                        time_point now) = 0;
    /// What the caller gets at the end, however that comes.
    virtual Result take_result() { return std::move(result_); }

    /// What a node fails at once counts as answered, but leads to `go_on` only after all that is
    /// sent together.
    void ask(std::uint32_t question, const wire::request& what, node_mask nodes, time_point now) {
        open_ += nodes.size();
        const auto result = client().nodes.send(*this, question, what, now, nodes);
        for (const auto& [node, why] : result.failures) on_failure(node, question, why, now);
    }
    void proceed(time_point now) {
        assert(open_ == 0);
        bool has_asked = true;
        while (has_asked && open_ == 0 && !over_) {
            open_ = 1;  // until all is sent
            has_asked = go_on(now);
            --open_;
        }
    }
    bool is_over() const noexcept { return over_; }
    void end(error_code outcome) {
        if (std::exchange(over_, true)) return;
        client().host.finished(*this);
        complete(outcome, take_result());
    }
    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) override {
        if (over_) return;
        read(node, round, reply, now);
        answered(now);
    }

    Result result_{};

private:
    void on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                    time_point now) final {
        if (over_) return;
        failed(node, round, why, now);
        answered(now);
    }
    bool is_wanted(std::uint32_t) const noexcept final { return !over_; }
    void answered(time_point now) {
        if (over_) return;
        assert(open_ > 0);
        if (--open_ == 0) proceed(now);
    }

    std::size_t open_ = 0;  // answers still to come
    bool over_ = false;
};

}  // namespace redlock::detail
