// Which nodes a program can count on, and since when; knows what befalls them, and no machine.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/lease.hpp"
#include "simulation/plan.hpp"
#include "simulation/schedule.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace redlock::simulation {

/// A node is well for a program where nothing has stood between them for long enough: it answers,
/// in time, and its vote counts.
class health {
public:
    health(const plan& in, const schedule& when)
        : plan_(&in),
          when_(&when),
          pairs_(in.programs.size() * in.nodes.size()) {
        for (std::size_t n = 0; n < in.nodes.size(); ++n) {
            if (!is_fit(n)) each(all, 1U << n, [](pair& p) { ++p.troubles; });
        }
    }

    void begin(const fault& f) {
        if (is_slight(f.kind) || deletes_keys(f.kind)) return;
        each(struck(f), nodes_of(f), [this](pair& p) {
            ++p.troubles;
            p.is_news = p.is_news || p.well_from > when_->now();  // what came before is not over
        });
        if (!may_cost_vote(f.kind)) return;
        // A program that can't see the node now learns of it later, and its quarantine begins then.
        each(all, nodes_of(f), [](pair& p) { p.is_news = true; });
    }
    void end(const fault& f) {
        if (is_slight(f.kind) || deletes_keys(f.kind)) return;
        each(struck(f), nodes_of(f), [&](pair& p) {
            const bool is_news = --p.troubles == 0 && std::exchange(p.is_news, false);
            recover(p, plan_->aftermath(is_news ? fault_kind::read_only : f.kind));
        });
        // A program that saw other nodes may know another cluster time, and strike those that it
        // meets: for everybody. It may also have made the record of a node that had forgotten its
        // own, by which others strike theirs.
        if (plan_->about == style::islands && (is_of_network(f.kind) || forgets(f.kind))) {
            each(all, all, [&](pair& p) { recover(p, plan_->aftermath(fault_kind::read_only)); });
        }
        // Until all clocks are read again the others are doubted, too.
        if (f.is_leap()) {
            each(all, all, [&](pair& p) { recover(p, plan_->aftermath(fault_kind::cut)); });
        }
    }
    /// A client took the node's vote: its clock stepped, as that client sees it. It may not have
    /// stepped where a rival never sees some of the nodes: each client writes the records of other
    /// nodes, and in the end the clocks have drifted apart by more than a record allows for.
    void strike(std::size_t node) {
        const bool has_rival =
            plan_->about == style::rolling &&
            std::any_of(plan_->faults.begin(), plan_->faults.end(), [this](const auto& f) {
                return f.kind == fault_kind::partition && f.lasts >= plan_->length;
            });
        if (!has_rival) return;
        each(all, 1U << node, [&](pair& p) {
            recover(p, plan_->aftermath(fault_kind::read_only));
        });
    }
    /// A program begins, and may have to wait for the quarantine of nodes that it never met. New
    /// ones that nothing befalls have none, however many programs meet them at once.
    void begin(std::size_t program) {
        if (!begun_) begun_ = when_->now();
        const auto like = is_founding() ? fault_kind::cut : fault_kind::kill;
        each(1U << program, all, [&](pair& p) {
            p.is_news = p.troubles > 0;
            recover(p, plan_->aftermath(like));
        });
    }

    bool is_well(std::size_t program, std::size_t node, time_point since) const {
        const pair& p = pairs_[program * plan_->nodes.size() + node];
        return p.troubles == 0 && p.well_from <= since;
    }
    /// How many can keep a lease of that ttl alive: its first renewal goes out a third of the ttl after
    /// the grant, so that the answers to both have to come in what is left. With a rival none may: it
    /// may have the near nodes' keys when the lease is granted, which then hangs on a far one.
    std::size_t keepers(std::size_t program, time_point since, duration ttl) const {
        std::size_t count = 0;
        const bool has_rival = std::any_of(plan_->programs.begin(), plan_->programs.end(),
                                           [](const auto& p) { return p.is_rival; });
        for (const std::size_t n : plan_->nodes_of(program)) {
            const bool is_near = 2 * plan_->nodes[n].longest_round_trip() < ttl * 6 / 10;
            if (has_rival && !is_near) return 0;
            count += is_near && is_well(program, n, since) ? 1 : 0;
        }
        return count;
    }
    /// How many have kept its keys, and have answered all the time: the others may have granted
    /// them to another client.
    std::size_t kept(std::size_t program, time_point since) const {
        const std::vector<std::size_t> nodes = plan_->nodes_of(program);
        return static_cast<std::size_t>(std::ranges::count_if(nodes, [&](std::size_t n) {
            return !has_lost_keys(n, since) && is_well(program, n, since);
        }));
    }

private:
    static constexpr std::uint32_t all = ~std::uint32_t{0};

    struct pair {
        int troubles = 0;
        bool is_news = false;  // something happened to the node that outlasts the trouble
        time_point well_from{};
    };

    // For longer than the fault lasts. A node whose clock no client could read for long may be
    // struck for what the clocks drifted meanwhile. One that has no scripts, no memory, or is
    // loading refuses commands, and is not struck for that.
    static bool may_cost_vote(fault_kind k) noexcept {
        return !is_of_program(k) && k != fault_kind::flush_scripts &&
               k != fault_kind::out_of_memory && k != fault_kind::loading;
    }
    static bool is_of_network(fault_kind k) noexcept {
        return k == fault_kind::partition || k == fault_kind::cut || k == fault_kind::half_open ||
               k == fault_kind::deafen;
    }
    // Between which programs and which nodes a fault stands, as bits.
    static std::uint32_t struck(const fault& f) noexcept {
        return is_of_network(f.kind) || is_of_program(f.kind) ? f.programs : all;
    }
    // A client that sees an even number of clocks can't tell which of them leapt, and doubts both.
    std::uint32_t nodes_of(const fault& f) const noexcept {
        const bool is_in_doubt =
            f.is_leap() &&
            std::any_of(plan_->faults.begin(), plan_->faults.end(), [](const auto& g) {
                return g.kind == fault_kind::partition;
            });
        return is_of_program(f.kind) || is_in_doubt ? all : f.nodes;
    }
    bool has_lost_keys(std::size_t node, time_point since) const {
        return std::ranges::any_of(plan_->faults, [&](const fault& f) {
            const time_point at = beginning + f.at;
            return deletes_keys(f.kind) && (f.nodes >> node & 1U) != 0 && since <= at &&
                   at <= when_->now();
        });
    }
    void recover(pair& p, duration takes) const {
        p.well_from = std::max(p.well_from, when_->now() + takes);
    }

    // The first program has just begun, and nothing will befall the nodes until they are open.
    bool is_founding() const {
        const time_point open = *begun_ + plan_->aftermath(fault_kind::cut);
        return !plan_->has_lists() && when_->now() - *begun_ < std::chrono::milliseconds(100) &&
               std::none_of(plan_->faults.begin(), plan_->faults.end(), [&](const auto& f) {
                   return f.kind != fault_kind::visit && beginning + f.at < open;
               });
    }
    // Not too slow, in a world where nothing else is in doubt. Where one clock is far off, a client
    // that sees but that node and another can't tell which of them is right.
    bool is_fit(std::size_t node) const {
        const bool is_off =
            std::any_of(plan_->nodes.begin(), plan_->nodes.end(), [&](const auto& n) {
                return std::chrono::abs(n.clock_offset) > core::fence_tolerance(plan_->ttl_max) / 2;
            });
        const duration limit = plan_->longest_node_timeout();
        const bool is_slow = plan_->nodes[node].latency > limit / 8;
        return !is_slow && !is_off && plan_->tail <= 0 && !plan_->double_of &&
               plan_->within == bounds::safe;
    }
    template <class F>
    void each(std::uint32_t programs, std::uint32_t nodes, F&& what) {
        for (std::size_t p = 0; p < plan_->programs.size(); ++p) {
            for (std::size_t n = 0; n < plan_->nodes.size(); ++n) {
                const bool is_meant = (programs >> p & 1U) != 0 && (nodes >> n & 1U) != 0;
                if (is_meant) what(pairs_[p * plan_->nodes.size() + n]);
            }
        }
    }

    const plan* plan_;
    const schedule* when_;
    std::optional<time_point> begun_;  // the first program that asks for locks
    std::vector<pair> pairs_;
};

}  // namespace redlock::simulation
