// Acquiring a lease: carries out what its machine decides; knows no connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/footprint.hpp"
#include "client/lease/lease_state.hpp"
#include "client/base/operation.hpp"
#include "client/base/owner_claims.hpp"
#include "client/wait/remote_queue.hpp"
#include "client/base/timers.hpp"
#include "client/operation/try_votes.hpp"
#include "core/load/admission.hpp"
#include "core/lock/acquisition.hpp"
#include "wire/acquire.hpp"
#include "wire/failure.hpp"
#include "wire/fenced.hpp"
#include "wire/queue_entry.hpp"
#include "wire/request.hpp"
#include "wire/wait.hpp"

#include <redlock/options.hpp>
#include <redlock/resource_list.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

class acquire_operation : public remote_waiter, private timer, private core::applicant {
public:
    acquire_operation(std::string resource, const acquire_options& options)
        : resource_(std::move(resource)), options_(options) {}
    /// All at once.
    acquire_operation(resource_list resources, const acquire_options& options);

    void start(time_point now) final;
    /// The first attempt goes out, unless the nodes have too much to answer; of one that may wait,
    /// when it is its turn.
    void on_settled(time_point now) final;
    void cancel(error_code why, time_point now) final;
    void shorten(duration gap) final { machine_.shorten(gap); }
    void on_wake(std::size_t node, std::string_view resource, std::optional<std::uint16_t> slot,
                 time_point now) final;
    std::size_t keys() const noexcept final { return resources().size(); }
    wire::wait_request request(std::size_t key) const final;
    void entered(node_mask nodes) final { machine_.entered(nodes); }
    void queried(node_mask nodes) final { machine_.queried(nodes); }
    void answered(std::size_t node, const core::outlook& what, bool has_vote,
                  time_point now) final {
        carry_out(machine_.answered(node, what, has_vote, now), now);
    }

protected:
    /// Exactly once. The state is live without an error; with one it carries the votes.
    virtual void complete(error_code outcome, std::shared_ptr<lease_state> state) = 0;

private:
    using action = core::acquisition::action;

    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) final;
    void on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                    time_point now) final;
    bool is_wanted(std::uint32_t round) const noexcept final;
    duration lease_ttl(std::uint32_t) const noexcept final { return machine_.ttl(); }
    bool begins_lease() const noexcept final { return true; }
    bool write_again(std::size_t node, std::uint32_t round, wire::request& out,
                     time_point now) const final;
    void on_due(time_point now) final;
    void on_turn(time_point now) final;
    void on_admitted(time_point now) final;

    void carry_out(const core::acquisition::actions& what, time_point now);
    void carry_out(action what, time_point now);

    std::string check();
    std::span<const std::string> resources() const noexcept;
    const wire::lock_kind& kind() const noexcept;
    std::size_t places() const noexcept;
    template <class Predicate>
    bool any_line(Predicate what) const;
    void try_without_waiting(time_point now);
    void refuse_behind_others(time_point now);
    void refuse_for_backlog(time_point now);
    void try_once(time_point now);
    recycled_string fresh_value() const;
    bool draw_fence(time_point now);
    void draw_ticket(time_point now);
    wire::queue_entry entry(bool is_entered) const noexcept;
    void write(wire::request& out, bool is_entered) const;
    void send_round(time_point now);
    void send_to(node_mask nodes, bool is_entered, time_point now);
    void cast(std::size_t node, const wire::acquire_answer& answer, time_point now);
    void learn_after(std::size_t node, const resp::reply& reply, time_point now);
    void refused(error_code why, time_point now);
    void give_back(bool leaves, time_point now);
    void arm() noexcept;
    void take(time_point now);
    void end(error_code outcome, time_point now, std::string_view detail = {});
    bool is_held() const noexcept { return granted_ && granted_->is_held(); }
    const footprint& left() const noexcept;

    std::string resource_;              // of several: all their names, for people
    std::vector<std::string> several_;  // that it is for, where it is not for one
    acquire_options options_;
    core::acquisition machine_;
    time_point begun_{};
    owner_claims::claim claim_;  // on the owner that the caller gave; passes to the lease

    // The present try.
    owner_id owner_;
    std::string waiter_id_;  // in the queues of the nodes
    footprint left_;         // of it on the nodes

    // Its present round.
    std::optional<wire::fence_terms> fence_;
    time_point sent_at_{};
    std::size_t answers_ = 0;
    try_votes votes_;

    std::shared_ptr<lease_state> granted_;
    std::uint64_t span_ = 0;     // 0 where nobody traces
    std::uint64_t attempt_ = 0;  // the span of the present try
    bool is_counted_ = false;    // among the acquires that wait
};

}  // namespace redlock::detail
