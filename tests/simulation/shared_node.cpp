// Draws worlds in which two quorums share one node.
// SPDX-License-Identifier: MIT
#include "simulation/rare_worlds.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

// The programs and the nodes by their numbers, as bits.
constexpr std::uint32_t keeper = 1U << 0;
constexpr std::uint32_t helper = 1U << 1;  // makes the record, or writes to it
constexpr std::uint32_t shared_one = 1U << 0;

class shared_node {
public:
    shared_node(plan& out, chance& dice) : out_(&out), dice_(&dice) {}

    void draw() {
        clear(*out_, 1);
        draw_nodes();
        const std::size_t what = dice_->below(3);
        if (chance(out_->seed, stream::copies).happens(0.25)) {
            draw_keeper(ttl() / 2, ttl());
            return draw_copy();
        }
        switch (what) {
            case 0:
                draw_keeper(ttl() / 2, ttl());
                return draw_wrong_boot();
            case 1:
                draw_keeper(ttl() / 2, ttl());
                return draw_brief_leap();
            default:
                draw_keeper(ttl() / 8, ttl() / 6);
                return draw_kept_boot();
        }
    }

private:
    duration ttl() const { return out_->ttl_max; }

    void draw_nodes() {
        out_->ttl_max = 40'000ms;
        const auto size = static_cast<std::size_t>(dice_->pick(std::array{3, 3, 5}));
        out_->nodes.resize(size, out_->nodes.front());
        for (node_plan& n : out_->nodes) {
            n.clock_offset = dice_->between(-200ms, 200ms);
            n.drift_ppm = 0;  // no record suits two programs that see other clocks
            n.latency = std::min<duration>(n.latency, duration(out_->node_timeout) / 10);
        }
        for (std::uint32_t i = 1; i < size; ++i) {
            (i < out_->quorum() ? of_keeper_ : of_rival_) |= 1U << i;
        }
    }

    void draw_keeper(duration shortest, duration longest) {
        lease_ = std::chrono::floor<milliseconds>(dice_->between(shortest, longest));
        add_holder(0ms).is_keeper = true;
        // First the clients read all clocks. Then the nodes that the rival sees forget the keeper.
        const duration begun = 2 * duration(out_->connect_timeout) + 1s;
        at_ = begun + lease_ * 11 / 10 + dice_->between(0ms, lease_);
        out_->length = at_ + 2 * ttl();
        cut_off(*out_, keeper, begun, of_rival_);
        cut_off(*out_, keeper, at_, shared_one);
    }

    program_plan& add_holder(duration begins) {
        program_plan& p = add_program(*out_, *dice_, begins);
        p.longest_ttl = lease_;
        p.longest_think = out_->programs.size() == 1 ? 10ms : 100ms;
        return p;
    }

    void add_rival(duration begins) {
        add_holder(begins).is_rival = true;
        cut_off(*out_, 1U << (out_->programs.size() - 1), 0ms, of_keeper_);
    }

    // The node boots without data, and with a clock that is behind. Its record is made by a program that sees
    // too few nodes to know cluster time, and the clock is set right before anybody compares it.
    void draw_wrong_boot() {
        const duration leap = dice_->between_orders(ttl() * 11 / 10, 5 * ttl());
        const duration up = restart(fault_kind::crash_lose, -leap);
        add_holder(up).is_rival = true;
        cut_off(*out_, helper, 0ms, of_keeper_ | of_rival_);
        const duration made = up + 2 * duration(out_->connect_timeout) + 500ms;
        cut_off(*out_, helper, made, shared_one);
        const duration right = made + dice_->between(1ms, 300ms);
        step(right, leap);
        add_rival(right + dice_->between(0ms, 300ms));
    }

    // The node's clock leaps, its keys expire, and soon it is set right. A program that asks the
    // node for locks all the time sees it; the rival stands still meanwhile, and sees nothing.
    void draw_brief_leap() {
        add_holder(0ms).is_rival = true;
        add_rival(dice_->between(50ms, 1s));
        const auto soon = duration(out_->node_timeout);
        const duration leap = dice_->between_orders(ttl() * 11 / 10, 5 * ttl());
        const duration lasts = 1s + 10 * soon;
        step(at_ + soon, leap);
        step(at_ + soon + lasts, -leap);
        out_->faults.push_back({.kind = fault_kind::pause,
                                .at = at_,
                                .lasts = lasts + 2 * soon,
                                .programs = 1U << (out_->programs.size() - 1)});
    }

    // The node restarts with all its data, and with a clock that is ahead by more than the lease is
    // long, and by less than would take its vote. A newcomer is the first to compare it.
    void draw_kept_boot() {
        out_->nodes.front().is_durable = true;
        const duration by = dice_->between(lease_ * 115 / 100, ttl() * 22 / 100);
        const duration up = restart(fault_kind::crash_keep, by);
        add_rival(up + dice_->between(0ms, 300ms));
        step(out_->length - 1s, -by);
    }

    // The node is a replica for a while, and has older data afterwards in the same process: in those
    // the keeper's key runs out before it comes back, and the lease does not.
    void draw_copy() {
        const duration lasts = lease_ * 55 / 100;
        out_->faults.push_back(
            {.kind = fault_kind::copy, .at = at_, .lasts = lasts, .nodes = shared_one});
        add_rival(at_ + lasts + dice_->between(0ms, 300ms));
    }

    // Returns when the node is up again.
    duration restart(fault_kind how, duration by) {
        const duration lasts = dice_->between_orders(2ms, 100ms);
        out_->faults.push_back({.kind = how, .at = at_ + 1ms, .lasts = lasts, .nodes = shared_one});
        step(at_ + 1ms + lasts / 2, by);
        return at_ + 1ms + lasts;
    }

    void step(duration at, duration by) {
        out_->faults.push_back(
            {.kind = fault_kind::step_clock, .at = at, .nodes = shared_one, .amount = by});
    }

    plan* out_;
    chance* dice_;
    std::uint32_t of_keeper_ = 0;  // the nodes that the keeper's quorum has beside the shared one
    std::uint32_t of_rival_ = 0;
    milliseconds lease_{};
    duration at_{};  // when the keeper is cut off from the shared node
};

}  // namespace

void draw_shared_node(plan& out, chance& dice) { shared_node(out, dice).draw(); }

}  // namespace redlock::simulation
