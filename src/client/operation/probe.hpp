// Asking every node for what an operator should know of it; takes no lock.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/node/diagnosis.hpp"
#include "client/base/timers.hpp"
#include "client/operation/key_census.hpp"
#include "client/operation/node_survey.hpp"
#include "wire/failure.hpp"
#include "wire/request.hpp"

#include <redlock/node_report.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace redlock::detail {

class probe_operation : public node_survey<std::vector<node_report>>, private timer {
public:
    using node_survey::cancel;

private:
    // The last one and those behind it are about its keys: a page of their names, and what the i-th
    // of those that are measured takes.
    enum question : std::uint32_t {
        ask_info, ask_fsync, ask_trial, ask_evalsha, ask_load, ask_page, ask_usage
    };
    static constexpr std::size_t questions = ask_page;

    bool go_on(time_point now) final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                time_point now) final;
    std::vector<node_report> take_result() final;
    void on_due(time_point now) final { proceed(now); }

    void begin(time_point now);
    void ask_for_page(std::size_t node, std::string_view cursor, time_point now);
    void on_page(std::size_t node, const resp::reply& reply, time_point now);
    wire::request write(std::uint32_t question) const;
    bool is_listened_to(std::size_t node) const;
    void report(std::size_t node, time_point now);

    std::vector<probed> facts_;
    std::vector<key_census> censuses_;
    std::vector<std::uint64_t> keys_;  // of each node, in all
    time_point no_more_pages_at_{};
    std::array<node_mask, questions> repeated_{};  // the nodes, of each question
    time_point give_up_at_{};
};

}  // namespace redlock::detail
