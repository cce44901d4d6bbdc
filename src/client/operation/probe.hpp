// Asking every node for what an operator should know of it; takes no lock.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/node/diagnosis.hpp"
#include "client/base/operation.hpp"
#include "client/base/timers.hpp"
#include "wire/failure.hpp"
#include "wire/request.hpp"

#include <redlock/node_report.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace redlock::detail {

class probe_operation : public operation, private timer {
public:
    void start(time_point now) final;
    void on_settled(time_point now) final;
    void cancel(error_code why, time_point now) final;

protected:
    virtual void complete(error_code outcome, std::vector<node_report> reports) = 0;

private:
    enum question : std::uint32_t { ask_info, ask_fsync, ask_trial, ask_evalsha, ask_load };
    static constexpr std::size_t questions = 5;

    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) final;
    void on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                    time_point now) final;
    bool is_wanted(std::uint32_t) const noexcept final { return !over_; }
    void on_due(time_point now) final;

    wire::request write(std::uint32_t question) const;
    void ask(std::uint32_t question, node_mask nodes, time_point now);
    void answered(time_point now);
    bool is_listened_to(std::size_t node) const;
    void report(std::size_t node, time_point now);
    void end(error_code outcome);

    std::vector<node_report> reports_;
    std::vector<probed> facts_;
    std::array<node_mask, questions> asked_again_{};  // the nodes, of each question
    std::size_t open_ = 0;  // answers still to come
    time_point give_up_at_{};
    bool over_ = false;
};

}  // namespace redlock::detail
