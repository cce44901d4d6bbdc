// Acquiring a lease: carries out what its machine decides, and keeps the votes of each try.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/context.hpp"
#include "client/lease.hpp"
#include "client/remote_queue.hpp"
#include "client/survey.hpp"
#include "core/acquire.hpp"
#include "core/lease.hpp"
#include "core/limit.hpp"
#include "core/load.hpp"
#include "value/clock.hpp"
#include "wire/failure.hpp"
#include "wire/lock.hpp"
#include "wire/owner_value.hpp"
#include "wire/request.hpp"

#include <redlock/error.hpp>
#include <redlock/options.hpp>
#include <redlock/owner_id.hpp>
#include <redlock/resource_list.hpp>
#include <redlock/vote.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::detail {

/// What an operation that asks for a lease knows of itself at its end.
struct requested_lease {
    std::string resource;              ///< Of several: all their names, for people.
    std::vector<std::string> several;  ///< Empty where it is one.
    cast_votes votes;
    time_point begun{};
    event_ids ids;
    std::string_view detail{};  ///< For events.
};

/// And what it was granted.
struct granted_lease {
    owner_id owner;
    std::uint64_t fence = 0;
    wire::lease_proof proof;
    footprint left;
    core::renewal machine;
    owner_claims::claim claim{};
};

/// The client keeps the lease from now on, and reports it.
std::shared_ptr<lease_state> keep_lease(client_parts& client, requested_lease request,
                                        granted_lease what, time_point now);

/// The client reports the refusal. The state carries the votes.
std::shared_ptr<lease_state> refuse_lease(client_parts& client, requested_lease request,
                                          error_code why, time_point now);

/// One resource, or several at once, and the options.
class acquire_request {
public:
    acquire_request(std::string resource, const acquire_options& options, limit_terms of = {});
    acquire_request(resource_list resources, const acquire_options& options);

    /// Why nothing may be sent; empty if the request is valid.
    std::string why_invalid(const client_options& all) const;

    const acquire_options& options() const noexcept { return options_; }
    /// The resource; the names of several, for people.
    const std::string& shown() const noexcept { return shown_; }
    std::span<const std::string> resources() const noexcept;
    std::size_t keys() const noexcept { return resources().size(); }
    const wire::lock_kind& kind(const context& shared) const noexcept {
        return shared.kind(options_, keys() > 1);
    }
    const limit_terms& limit() const noexcept { return limit_; }
    /// How many may hold the resource at once, and how many of these places it takes.
    std::size_t places(const context& shared) const noexcept;
    std::size_t wanted() const noexcept { return options_.slots > 0 ? options_.permits : 1; }
    /// The end of the operation, which began at `begun`. The request has no names from then on.
    requested_lease finish(cast_votes votes, time_point begun, event_ids ids,
                           std::string_view detail) noexcept {
        return {std::move(shown_), std::move(several_), std::move(votes), begun, ids, detail};
    }

private:
    std::string shown_;
    std::vector<std::string> several_;  // empty if it is one resource
    acquire_options options_;
    limit_terms limit_;
};

class try_votes {
public:
    /// A new try begins. The votes of the last one are kept.
    void next_try() noexcept { before_ = std::move(votes_); }
    /// All nodes answered so; or, `pending`, have not answered a round yet.
    void set_all(const context& shared, vote answer, error_code why, std::string_view detail);
    /// What a round requested.
    struct question {
        std::span<const std::string> resources;
        std::uint16_t slots = 0;
        std::uint64_t fence = 0;
        time_point sent_at{};
        /// The nodes' time now, in us; nothing where it is not known.
        std::optional<std::int64_t> node_time_us{};
    };
    void note(std::size_t node, const wire::acquire_answer& answer, const question& query,
              time_point now);
    /// A node that has not answered this try is shown as it answered the one before, which is why
    /// this one was made.
    void recall();

    const cast_votes& all() const noexcept { return votes_; }
    cast_votes take() noexcept { return std::move(votes_); }

private:
    cast_votes votes_;
    cast_votes before_;
};

class acquire_operation : public remote_waiter, private timer, private core::applicant {
public:
    acquire_operation(std::string resource, const acquire_options& options, limit_terms of = {})
        : request_(std::move(resource), options, of) {}
    /// All at once.
    acquire_operation(resource_list resources, const acquire_options& options)
        : request_(std::move(resources), options) {}

    void start(time_point now) final;
    /// The first attempt goes out, unless the nodes have too much to answer; of one that may wait,
    /// when it is its turn.
    void on_settled(time_point now) final;
    void cancel(error_code why, time_point now) final;
    void shorten(duration gap) final { machine_.shorten(gap); }
    void on_wake(std::size_t node, std::string_view resource, std::optional<std::uint16_t> slot,
                 time_point now) final;
    std::size_t keys() const noexcept final { return request_.keys(); }
    wire::wait_request request(std::size_t key) const final;
    void entered(node_mask nodes) final { machine_.entered(nodes); }
    void queried(node_mask nodes) final { machine_.queried(nodes); }
    void answered(std::size_t node, const core::outlook& what, time_point now) final {
        carry_out(machine_.answered(node, what, now), now);
    }

protected:
    /// Exactly once. The state is live without an error; with one it carries the votes.
    virtual void complete(error_code outcome, std::shared_ptr<lease_state> state) = 0;
    limit_news news() const noexcept { return of_limit_.news(client().shared.lists()); }

private:
    using action = core::acquisition::action;

    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) final;
    void on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                    time_point now) final;
    void on_late_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                       time_point now) final;
    bool is_wanted(std::uint32_t round) const noexcept final {
        return machine_.is_wanted(round, granted_ && granted_->is_held());
    }
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

    // Of a try: they follow each other.
    recycled_string fresh_value() const;
    /// Of the round. False, and all votes say why, where none can be drawn.
    bool draw_fence(time_point now);
    void draw_ticket(time_point now);
    std::uint64_t fence() const noexcept { return fence_ ? fence_->fence : 0; }
    wire::queue_entry entry(bool is_entered) const noexcept;
    /// The request to acquire what `left` names. It stands at its ticket also on nodes where it is
    /// not entered: otherwise two waiters might be first on some nodes each.
    void write(wire::request& out, bool is_entered, const footprint& left) const;
    /// See `try_votes`.
    void set_all(vote answer, error_code why, std::string_view detail) {
        votes_.set_all(client().shared, answer, why, detail);
    }

    void apply(time_point now);
    void join();
    void stand_aside(time_point now);
    void turn_away(time_point now);
    void begin_try(time_point now);
    void send_round(time_point now);
    void send_to(node_mask nodes, bool is_entered, std::uint32_t round, time_point now);
    void cast(std::size_t node, const wire::acquire_answer& answer, time_point now);
    void pass_by_unreached(time_point now);
    void granted_too(std::size_t node, const resp::reply& reply);
    void learn_after(std::size_t node, const resp::reply& reply, time_point now);
    void refused(error_code why, time_point now);
    bool is_for_a_change(error_code why) const noexcept;
    void ask_again(time_point now);
    void give_back(bool leaves, time_point now);
    void arm() noexcept;
    void take(time_point now);
    void end(error_code outcome, time_point now, std::string_view detail = {});

    acquire_request request_;
    core::acquisition machine_;
    const wire::lock_kind* kind_ = nullptr;  // null before `start`
    owner_id owner_;                         // of the present try
    std::string waiter_id_;                  // in the queues of the nodes
    footprint left_;                         // but for the traces, which the machine has
    std::optional<wire::fence_terms> fence_;  // of the present round
    time_point sent_at_{};                    // the same
    try_votes votes_;
    time_point begun_{};
    owner_claims::claim claim_;  // on the owner that the caller gave; passes to the lease
    std::shared_ptr<lease_state> granted_;
    event_ids ids_;
    bool is_counted_ = false;    // among the acquires that wait

    std::uint64_t steps_ = 0;   // of changes of the list, when the present try began
    unsigned asked_again_ = 0;  // since the list changed during a try
    core::limit_votes of_limit_;
};

}  // namespace redlock::detail
