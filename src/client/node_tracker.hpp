// What this client knows of its nodes: who may vote, what they forgot, their clocks; no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/context.hpp"
#include "client/footprint.hpp"
#include "client/judgement.hpp"
#include "client/node_sessions.hpp"
#include "core/node/bootstrap.hpp"
#include "core/node/disruptions.hpp"
#include "core/node/eligibility.hpp"
#include "core/node/fence_source.hpp"
#include "core/node/node_clocks.hpp"
#include "wire/failure.hpp"
#include "wire/fenced.hpp"
#include "wire/node_record.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// Receives what the tracker finds.
class tracker_owner {
public:
    /// Who may vote is known as well as it will be for now.
    virtual void on_settled(time_point now) = 0;
    /// Our own clock stood still for `gap`, at most: every validity ends earlier by it.
    virtual void on_clock_gap(duration gap, time_point now) = 0;

protected:
    ~tracker_owner() = default;
};

/// Not thread-safe: like the engine that it is a part of.
class node_tracker {
public:
    node_tracker(context& shared, node_sessions& nodes, tracker_owner& owner);
    ~node_tracker();

    void start(time_point now);
    void close() noexcept;

    // From the sessions, through the engine.
    wire::record_request record_wanted() const;
    void on_greeted(std::size_t node, const greeting& told, time_point began, time_point now);
    void on_node_up(time_point now) { drive(now); }
    void on_node_down(std::size_t node, time_point now);

    /// So much is known that an acquire can be begun: a quorum may vote, or nothing is to be gained
    /// by waiting any longer.
    bool is_settled() const noexcept { return is_settled_; }
    /// Whether a node's answer to a round that was sent then is a vote.
    std::optional<objection> object(std::size_t node, time_point sent, time_point now) const;
    /// The nodes that are worth asking for a vote. One in quarantine is: it keeps the key.
    node_mask askable() const noexcept;
    /// The node's answer showed that what it told in the handshake no longer holds.
    void greet_again(std::size_t node, time_point now);
    /// What the answer to a command that was sent at `sent` is worth. Where it shows that the node
    /// is not what it was in the handshake, the node is looked at, or greeted again.
    judgement judge(std::size_t node, time_point sent, const wire::node_signs& signs,
                    time_point now);
    /// A node holds the resource for an owner value of our form, with no fence of ours beside it.
    /// Reported once per resource, for a bounded number of them.
    void found_without_fence(std::size_t node, std::string_view resource, std::string_view holder);
    /// Calls bootstrap.lua: an operator declares the node new, and a member of this client's set.
    void write_declaration(std::string& out, std::size_t node) const;

    /// So many clocks are far from the median that no quorum can vote.
    bool is_time_in_doubt() const noexcept { return clocks_.is_in_doubt(); }
    /// A fresh fence, above `seen`, by `lead` where that is not too far ahead of node time. Nothing
    /// where `seen` is, or node time is in doubt.
    std::optional<wire::fence_terms> propose(std::uint64_t seen, time_point now,
                                             duration lead = {});
    /// How a release raises the fence, so that what may still lie in a broken connection to that
    /// node can't take the key any more; nothing where there can be no such thing.
    std::optional<wire::fence_terms> to_raise(std::size_t node, const footprint& what) const;
    /// How many connections have broken, and records changed, so far.
    std::uint64_t breaks() const noexcept { return disruptions_.so_far(); }

    std::chrono::milliseconds ttl_max() const noexcept { return eligibility_.ttl_max(); }
    std::optional<std::int64_t> node_time_us(time_point now) const noexcept {
        return clocks_.now_us(now);
    }
    /// The time by that node's own clock, at most.
    std::optional<std::int64_t> node_time_us(std::size_t node, time_point now) const noexcept {
        return clocks_.now_us(node, now);
    }

private:
    class query;
    class alarm final : public timer {
    public:
        using action = void (node_tracker::*)(time_point);
        alarm(node_tracker& r, action what) : tracker_(&r), what_(what) {}

    private:
        void on_due(time_point now) override { (tracker_->*what_)(now); }
        node_tracker* tracker_;
        action what_;
    };
    enum class looking : std::uint8_t { idle, asked, failed };
    // Refused: until the next probe. Done: until the next look.
    enum class writing : std::uint8_t { idle, asked, refused, done };
    struct node_facts {
        writing clock_write = writing::idle;  // of its clock's offset, to its record
        looking look = looking::idle;         // at its clock and its record
        core::server_facts server;
        time_point read_at{};         // when its record was last read
        error_code reported;          // the last objection that was told
        std::chrono::milliseconds told_ttl_max{0};  // another client's, as its record last had it
        unsigned concerns = 0;        // a bit for each kind that its last handshake showed
    };

    session& session_of(std::size_t node) const noexcept;
    void drive(time_point now);
    void unsettle(time_point now);
    void extend_settling(std::size_t node, time_point now);
    void settle(time_point now);
    bool may_settle(time_point now) const noexcept;
    void report(time_point now);
    void report_concerns(std::size_t node, const server_settings& settings);
    bool send(std::size_t node, query* what, time_point now);
    void run(const core::bootstrap::order& o, time_point now);
    void on_bootstrap(const query& of, std::size_t node, const resp::reply& reply, time_point now);
    void on_bootstrap_failed(std::size_t node, time_point now);
    void look(std::size_t node, time_point now);
    void write_look(std::string& out, resp::script_form form, std::size_t node) const;
    void on_look(const query& of, std::size_t node, const resp::reply& reply, time_point now);
    void on_look_failed(std::size_t node, time_point now);
    void write_clock(std::size_t node, const core::clock_check& found, time_point now);
    void on_clock(const query& of, std::size_t node, const resp::reply& reply, time_point now);
    void on_clock_failed(std::size_t node, time_point now);
    void on_replication(const query& of, std::size_t node, const resp::reply& reply,
                        time_point now);
    void on_nothing(std::size_t, time_point) {}
    void on_record(std::size_t node, const core::record_facts& record, time_point now);
    void on_time(std::size_t node, const core::clock_reading& reading, time_point now);
    void report_ttl_max(std::size_t node, const core::record_facts& record);
    void forgive_jump(std::size_t node, time_point now);
    void report_step(std::size_t node, const core::clock_check& found);
    void judge_skew(time_point now);
    bool is_looking() const noexcept;
    bool has_clock_on_record(std::size_t node) const noexcept;
    bool has_any_stepped(time_point now) const;
    void start_over(time_point now);
    void compare_clocks(time_point now);
    void compare_clock(std::size_t node, bool is_last, time_point now);
    void probe(time_point now);
    void regreet(time_point now);
    std::string tell_of_sets(std::size_t node) const;
    std::uint64_t highest_plausible_fence(time_point now) const noexcept;
    wire::fence_terms terms(std::uint64_t fence) const noexcept;

    context* shared_;
    node_sessions* nodes_;
    tracker_owner* owner_;
    std::string record_key_;
    std::string set_;
    core::eligibility eligibility_;
    core::bootstrap bootstrap_;
    core::node_clocks clocks_;
    core::fence_source fences_;
    core::disruptions disruptions_;
    std::vector<node_facts> facts_;
    node_mask to_greet_;
    std::vector<std::string> without_fence_;     // the resources that were reported
    bool is_settled_;
    bool has_started_over_ = false;  // all clocks and records are being read again
    bool is_closed_ = false;
    time_point connect_by_ = time_point::max();  // who has not answered by then is not waited for
    time_point settle_by_ = time_point::max();
    alarm settle_alarm_{*this, &node_tracker::settle};
    alarm bootstrap_alarm_{*this, &node_tracker::drive};
    alarm probe_alarm_{*this, &node_tracker::probe};
    alarm regreet_alarm_{*this, &node_tracker::regreet};
};

}  // namespace redlock::detail
