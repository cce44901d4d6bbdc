// A program of a simulated world: its clock, its client, and its life; knows no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/engine.hpp"
#include "simulation/chance.hpp"
#include "simulation/health.hpp"
#include "simulation/local_clock.hpp"
#include "simulation/network.hpp"
#include "simulation/plan.hpp"
#include "simulation/lease_checker.hpp"
#include "simulation/schedule.hpp"
#include "simulation/story.hpp"
#include "simulation/texts.hpp"
#include "simulation/tokens.hpp"
#include "support/record_words.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {
struct limiter;
}

namespace redlock::simulation {

class visitor;
class worker;

/// What all parts of a world share.
struct surroundings {
    const plan& in;
    schedule& when;
    story& log;
    counters& counts;
    lease_checker& judge;
    network& net;
    const health& well;
    token_box& tokens;
};

/// Performs what its engine decides, as the Asio side of a client does: bytes, alarms, turns.
class program final : public holder, private detail::engine_host {
public:
    program(std::size_t index, const surroundings& around);
    ~program();
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    void start();
    /// The process is gone; its kernel closes the connections.
    void kill();
    void pause();
    void resume();
    /// As `pause`, and one of its clocks stands still.
    void suspend();
    void wake();
    /// As `pause`, and all of its clocks stand still: it finds that out from the nodes' clocks.
    void stall();
    void go_on();
    bool is_misled() const override { return is_misled_; }
    bool is_quorum(std::uint32_t servers) const override;
    time_point quorum_keeps(const std::array<time_point, 8>& by_server) const override;
    /// Of a list that does not change.
    std::size_t quorum() const { return nodes_.size() / 2 + 1; }
    /// A node that it names belongs to another list's set: nothing is granted to it, and all that
    /// it has to tell is that.
    bool is_displaced() const;
    /// Its workers finish what they are at and begin nothing.
    void rest() noexcept { is_resting_ = true; }
    /// Each of its workers takes every resource once, waiting for it for `patience` at most; that is
    /// to take no longer than `in_time`.
    void prove_alive(milliseconds patience, duration in_time);
    bool is_done() const noexcept;
    /// Its client, whatever it is at: all of that ends at once.
    void close();
    /// Declares its nodes new and of its set, as `redlock init` does.
    void declare();
    /// Closes its client and ends, as a command does, once the nodes have had the time to answer.
    void leave();

    bool is_running() const noexcept { return engine_ != nullptr; }
    /// The instant of the world at which its process began.
    time_point started_at() const noexcept { return started_at_; }
    bool is_connected(std::size_t node) const noexcept { return engine_->node(node).is_ready(); }
    bool awaits(std::size_t node) const noexcept { return !engine_->node(node).is_idle(); }
    /// The instant of the world at which its timer rings next.
    time_point next_alarm() const { return clock_.true_time(armed_for_); }
    bool is_closed() const noexcept { return is_running() && is_closed_; }
    /// What its client still has to write, to hear or to pay, on all nodes.
    std::size_t backlog() const;
    bool is_over() const noexcept { return !engine_ || engine_->is_over(); }
    bool is_resting() const noexcept { return is_resting_; }
    std::size_t open_operations() const noexcept { return open_operations_; }
    /// Whether a key is of this process, which holds it no more: all of its operations are over,
    /// and it did not mean to let it run out.
    bool has_left(std::string_view value) const;
    /// The lease with this owner is meant to run out.
    void will_run_out(const owner_id& owner) { running_out_.insert(owner.to_string()); }

    /// Runs `what` when the process runs, unless it has died since.
    void deliver(std::function<void()> what);
    /// The same, later.
    void after(duration delay, std::function<void()> what);

    std::string name() const override;
    time_point true_time(time_point local) const override { return clock_.true_time(local); }
    time_point local_now() const override { return clock_.boot_time(around_.when.now()); }

    /// The lease with this owner value was given back: soon no node that is well may have its key.
    void expect_gone(std::string resource, std::string owner_value);

    // For its workers.
    void begin(const detail::operation_ptr& what);
    void cancel(detail::operation& what);
    void operation_ended() noexcept { --open_operations_; }
    const surroundings& around() const noexcept { return around_; }
    /// Of its process; null where it makes no calls.
    const std::shared_ptr<detail::limiter>& limiter() const noexcept { return limiter_; }
    const program_plan& terms() const noexcept { return around_.in.programs[index_]; }
    std::size_t list_size() const noexcept { return nodes_.size(); }
    /// How many nodes it could count on since then, by its own clock, to keep a lease of that ttl.
    std::size_t keepers_since(time_point local, duration ttl) const {
        return around_.well.keepers(index_, clock_.true_time(local), ttl);
    }
    /// Of how many an answer says, or would say, that since then no other client got its keys.
    std::size_t kept_since(time_point local) const {
        return around_.well.kept(index_, clock_.true_time(local));
    }
    bool is_well_since(std::size_t node, time_point local) const {
        return around_.well.is_well(index_, nodes_[node], clock_.true_time(local));
    }
    /// Cluster time was not known when the node began to remember: by that it is younger than by
    /// its own clock, and no client has to count its vote yet. After a strike both say the same.
    bool is_young_in_cluster_time(std::size_t node) const;
    /// It was stopped at that instant of its own clock, or has been since.
    bool was_stopped_since(time_point local) const noexcept { return resumed_at_ >= local; }
    /// Its timers rang late a short while before: it gives the nodes more time.
    bool was_late_before(time_point local) const noexcept {
        return was_stopped_since(local - core::own_delay::memory);
    }
    std::uint64_t pauses() const noexcept { return pauses_; }
    /// Its client has just found that its clock stood still: losses by that are reported late.
    bool finds_gap() const { return found_gap_at_ == around_.when.now(); }

private:
    class cable;
    struct house;
    struct declaration;

    testing::record_words record_on(std::size_t node) const;
    void check_gone(const std::string& resource, const std::string& owner_value,
                    duration after_that, time_point until);
    void check_closing(time_point began);
    void turn(const std::function<void()>& what);
    void arm();
    void ring(std::uint64_t number);
    void on_event(const event& e);

    std::uint64_t random_word() override { return dice_.word(); }
    owner_id fresh_owner() override;
    detail::transport& wire(std::size_t index) override;
    std::shared_ptr<detail::lease_home> home() override;

    std::size_t index_;
    surroundings around_;
    chance dice_;
    local_clock clock_;
    std::vector<std::size_t> nodes_;  // of the world, in the order of its list
    client_options options_;
    std::uint64_t incarnation_ = 0;
    std::unique_ptr<detail::traffic> traffic_;
    std::vector<std::unique_ptr<cable>> cables_;
    std::shared_ptr<house> house_;
    std::unique_ptr<detail::engine> engine_;
    std::vector<std::unique_ptr<worker>> workers_;
    std::shared_ptr<detail::limiter> limiter_;
    std::unique_ptr<visitor> visitor_;            // of a brief program
    std::vector<std::function<void()>> backlog_;  // of a process that is stopped
    text_set owners_;                             // that this process has drawn
    std::set<std::string, std::less<>> running_out_;
    time_point armed_for_ = time_point::max();  // by its own clock
    time_point gave_back_at_{};                 // a lease, the last time
    std::uint64_t alarms_ = 0;
    std::uint64_t pauses_ = 0;
    std::size_t open_operations_ = 0;
    int stops_ = 0;
    bool is_resting_ = false;
    bool is_closed_ = false;
    time_point started_at_{};
    time_point resumed_at_{};  // by its own clock
    std::optional<time_point> found_gap_at_;
    bool is_misled_ = false;
};

}  // namespace redlock::simulation
