// What the parts of one client share: options, names, timers, events, spans, counts; knows no
// connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/statistics.hpp"
#include "client/base/timers.hpp"
#include "core/node/own_delay.hpp"
#include "value/quorum.hpp"
#include "value/time.hpp"
#include "value/validity.hpp"
#include "wire/lock_kind.hpp"

#include <redlock/event.hpp>
#include <redlock/options.hpp>
#include <redlock/owner_id.hpp>
#include <redlock/span.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::detail {

/// Where random bits come from.
class random_source {
public:
    virtual std::uint64_t random_word() = 0;
    virtual owner_id fresh_owner() = 0;

protected:
    ~random_source() = default;
};

/// Not thread-safe, as the engine that owns it.
class context {
public:
    /// `options` are valid and their client_name is set. Both outlive the context.
    context(const client_options& options, random_source& random);
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    const client_options& options() const noexcept { return *options_; }
    drift_policy drift() const noexcept { return {options_->drift_factor, options_->drift_min}; }
    /// Which nodes make a quorum.
    const node_lists& lists() const noexcept { return lists_; }
    /// How many nodes there are.
    std::size_t size() const noexcept { return names_.size(); }
    const node_name& name(std::size_t node) const noexcept {
        assert(node < names_.size());
        return names_[node];
    }
    /// Whether the locks that this client takes have fences: all of them, or none.
    bool is_fenced() const noexcept { return options_->fencing; }
    /// The kind of lock that an acquire with these options takes; `several`: resources at once.
    /// A plain lock with a note goes by a script, as several do.
    const wire::lock_kind& kind(const acquire_options& how, bool several,
                                bool has_note) const noexcept {
        if (!is_fenced()) return several || has_note ? wire::plain_set_lock : wire::plain_lock;
        if (several) return wire::set_lock;
        if (how.slots > 0) return wire::slot_lock;
        switch (how.mode) {
            case lock_mode::shared: return wire::shared_lock;
            case lock_mode::exclusive: break;
        }
        return wire::fenced_lock;
    }
    /// What others name to wake this client: drawn once, the last part of its channel's name.
    std::string_view client_id() const noexcept { return client_id_; }

    std::uint64_t random_word() const { return random_->random_word(); }
    owner_id fresh_owner() const { return random_->fresh_owner(); }

    /// (Re)arms; the end of time disarms.
    void arm(timer& what, time_point when) noexcept { timers_.set(what, when); }
    timers& all_timers() noexcept { return timers_; }
    /// How late they ring.
    core::own_delay& own_delay() noexcept { return own_delay_; }
    const core::own_delay& own_delay() const noexcept { return own_delay_; }

    /// Calls the caller's observer, if there is one. What it throws is dropped: an observer that
    /// fails must not take a lock down with it.
    void emit(const event& e) const;
    /// Tells the caller's tracer that a span begins: returns its id, 0 where there is no tracer.
    std::uint64_t begin_span(span_kind kind, std::uint64_t parent, std::string_view resource,
                             time_point now, std::uint64_t fence = 0) {
        return options_->on_span ? report_begin(kind, parent, resource, now, fence) : 0;
    }
    /// And that it ends, unless `id` is 0; from then on it is.
    void end_span(span_kind kind, std::uint64_t& id, time_point now, error_code why,
                  std::span<const node_vote> votes = {}, std::string_view detail = {}) const {
        if (id != 0) report_end(kind, std::exchange(id, 0), now, why, votes, detail);
    }
    outcome_counts& counts() noexcept { return counts_; }
    const outcome_counts& counts() const noexcept { return counts_; }
    /// How many leases the client holds.
    std::uint64_t leases() const noexcept {
        return counts_.begun_leases.get() - counts_.ended_leases.get();
    }

private:
    std::uint64_t report_begin(span_kind kind, std::uint64_t parent, std::string_view resource,
                               time_point now, std::uint64_t fence);
    void report_end(span_kind kind, std::uint64_t id, time_point now, error_code why,
                    std::span<const node_vote> votes, std::string_view detail) const;

    const client_options* options_;
    random_source* random_;
    node_lists lists_;
    std::vector<node_name> names_;
    std::string client_id_;
    timers timers_;
    core::own_delay own_delay_;
    outcome_counts counts_;
    std::uint64_t last_span_ = 0;
};

}  // namespace redlock::detail
