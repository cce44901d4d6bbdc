// Ending a change of the list of nodes, as an operator does; knows no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/context.hpp"
#include "client/survey.hpp"
#include "core/change.hpp"
#include "wire/login.hpp"
#include "wire/record.hpp"

#include <redlock/list_state.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace redlock::detail {

/// Looks first which programs are connected, and waits until a quorum of the new list votes: where
/// none will, or fewer than a majority of the old list name their programs, nothing is closed.
/// Then asks the nodes what `core::list_commit` says.
/// Behind the close of a node it lists the connections again, and once more after the time in which
/// a program connects again; those of programs with another list it ends: they have to look at the
/// set again.
class commit_operation : public node_survey<commit_report>, private timer {
public:
    explicit commit_operation(const commit_options& how) noexcept : how_(how) {}
    using node_survey::cancel;

private:
    enum class phase : std::uint8_t {
        makes_records,  // of nodes that have lost theirs
        looks,   // which programs are connected
        pauses,
        steps,
        lists,   // the connections behind the close
        awaits,  // programs that connect again
        lists_again,
        rests,   // before it writes again
    };
    enum question : std::uint32_t { ask_connected, ask_step, ask_kill };

    bool check() final;
    bool begin(time_point now) final;
    bool go_on(time_point now) final;
    bool write(std::size_t node, std::uint32_t question, wire::request& out,
               resp::script_form form) const final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                time_point now) final;
    commit_report take_result() final;
    void on_due(time_point now) override { proceed(now); }

    bool lacks_a_record() const;
    void report_members(time_point now);
    void add_votes(node_mask done, node_mask left_out, time_point now);
    bool is_majority_of_old(node_mask nodes) const;
    bool ask_who_is_connected(phase to_be, node_mask nodes, time_point now);
    bool pause(phase until, duration for_so_long, time_point now);
    bool judge_connected(time_point now);
    bool judge_votes(time_point now);
    void tell_of_wait(node_mask nodes, std::chrono::milliseconds longest) const;
    void read_connections(std::size_t node, const resp::reply& reply, time_point now);
    void judge_listed();
    std::string place_of(const wire::connected& one, std::size_t node) const;
    std::string reason_of(std::size_t node) const;
    void tell_of_blind(const wire::connected& one, std::size_t node);
    bool ask_next_step(time_point now);
    core::list_step step_for(std::size_t node) const;
    void read_step(std::size_t node, const resp::reply& reply, time_point now);
    void tell(std::string_view what);
    void report(time_point now);

    commit_options how_;
    std::optional<core::list_commit> machine_;
    std::vector<wire::connections> connections_;  // on each node, as last listed
    node_mask gone_;       // for good, says the operator
    node_mask listed_;     // where they were, and could be ended if need be
    node_mask unseen_;     // where they could not be listed
    node_mask forbidden_;  // of those, for want of the right to list them
    node_mask may_go_on_;  // where, behind the close, a program may have been left
    bool has_said_why_ = false;  // it waits for votes
    bool is_disturbed_ = false;  // behind a close there was a program, or it could not be seen
    std::vector<wire::failure> failures_;
    std::vector<std::optional<wire::record_exchange>> records_;  // of this step
    time_point sent_at_{};
    time_point wait_until_{};
    time_point records_until_{};
    time_point see_until_{};
    phase phase_ = phase::makes_records;
};

}  // namespace redlock::detail
