// The present try of an acquire: what it writes, what it leaves on the nodes, and their votes;
// decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/footprint.hpp"
#include "client/operation/acquire_request.hpp"
#include "client/operation/client_parts.hpp"
#include "client/operation/granting.hpp"
#include "client/operation/try_votes.hpp"
#include "core/lock/acquisition.hpp"
#include "value/time.hpp"
#include "wire/acquire.hpp"
#include "wire/failure.hpp"
#include "wire/fenced.hpp"
#include "wire/queue_entry.hpp"
#include "wire/request.hpp"
#include "wire/wait.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::detail {

/// One object for all tries of an acquire, which follow each other.
class acquire_try {
public:
    /// Both outlive it.
    acquire_try(const acquire_request& request, core::acquisition& machine) noexcept
        : request_(&request), machine_(&machine) {}

    /// Called once, before everything but `take_votes` and `end`.
    void start(client_parts& client) noexcept {
        client_ = &client;
        kind_ = &request_->kind(client.shared);
    }
    /// With a new value, so that a release of an earlier try that is still on its way can't delete
    /// the key of this one. `span`: of the acquire.
    void begin(std::uint64_t span, time_point now);
    /// Returns the round's number. No node has voted in it.
    std::uint32_t begin_round(time_point now);
    /// Of the round. False, and all votes say why, where none can be drawn.
    bool draw_fence(time_point now);
    void draw_ticket(time_point now);
    /// The request to acquire what `left` names. It stands at its ticket also on nodes where it is
    /// not entered: otherwise two waiters might be first on some nodes each.
    void write(wire::request& out, bool is_entered, const footprint& left) const;
    /// To these nodes. The failures are for the caller to count.
    node_sessions::fan_out send(call& what, node_mask nodes, bool is_entered, time_point now);
    /// A node answered, or failed.
    void note(std::size_t node, const wire::acquire_answer& answer, time_point now) {
        votes_.note(node, answer, question(now), now);
    }
    /// It got no vote, for this reason.
    void set_all(vote answer, error_code why, std::string_view detail) {
        votes_.set_all(client_->shared, answer, why, detail);
    }
    /// The votes of the try before, of the nodes that have not answered this one.
    void recall() { votes_.recall(); }
    /// Its span ends.
    void end(time_point now, error_code why, std::span<const node_vote> votes) {
        if (span_ != 0) client_->shared.end_span(span_kind::attempt, span_, now, why, votes);
    }

    const wire::lock_kind& kind() const noexcept { return *kind_; }
    const footprint& left() const noexcept { return left_; }
    time_point sent_at() const noexcept { return sent_at_; }
    const cast_votes& votes() const noexcept { return votes_.all(); }
    cast_votes take_votes() noexcept { return votes_.take(); }
    /// What a sleeping waiter asks about that key.
    wire::wait_request query(std::size_t key) const;
    /// What is to be released of it.
    footprint remains(const core::acquisition::remains& what) const;
    /// It was granted: the lease takes over what it left on the nodes.
    granted_lease take(owner_claims::claim claim, std::uint64_t span, time_point now);

private:
    recycled_string fresh_value() const;
    wire::queue_entry entry(bool is_entered) const noexcept;
    std::uint64_t fence() const noexcept { return fence_ ? fence_->fence : 0; }
    try_votes::question question(time_point now) const noexcept {
        return {request_->resources(), request_->options().slots, fence(), sent_at_,
                client_->tracker.node_time_us(now)};
    }

    client_parts* client_ = nullptr;
    const acquire_request* request_;
    core::acquisition* machine_;
    const wire::lock_kind* kind_ = nullptr;
    owner_id owner_;
    std::string waiter_id_;  // in the queues of the nodes
    footprint left_;         // but for the traces, which the machine has
    std::optional<wire::fence_terms> fence_;  // of the present round
    time_point sent_at_{};                    // the same
    try_votes votes_;
    std::uint64_t span_ = 0;  // 0 where nobody traces
};

}  // namespace redlock::detail
