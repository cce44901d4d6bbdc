// Draws worlds in which an operator deletes keys.
// SPDX-License-Identifier: MIT
#include "simulation/families.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

// What happens beside the deletions. A node that restarts empty has no vote for `ttl_max`, and what
// its deletion would show is lost with its data: so one node at most forgets, before the deletion,
// and is there again when it comes.
enum class beside { nothing, foreigners, hung_nodes, empty_nodes };

class drawing_deletions {
public:
    explicit drawing_deletions(std::uint64_t seed) : dice_(seed, stream::deletions) { out_.seed = seed; }

    plan draw() {
        beside_ = dice_.pick(std::array{beside::nothing, beside::foreigners, beside::hung_nodes,
                                        beside::hung_nodes, beside::empty_nodes});
        draw_nodes();
        draw_programs();
        draw_faults();
        return std::move(out_);
    }

private:
    // Their clocks tell about the same: a client that was there since drew the higher fence.
    void draw_nodes() {
        out_.ttl_max = dice_.pick(std::array{3'000ms, 6'000ms});
        out_.node_timeout = 50ms;
        out_.connect_timeout = 250ms;
        // With two nodes any client that is there first on the one costs the lease, and does so
        // for as long as it comes again at once.
        const bool may_be_one = beside_ == beside::nothing || beside_ == beside::foreigners;
        const auto size = static_cast<std::size_t>(may_be_one ? dice_.pick(std::array{1, 3, 5})
                                                              : dice_.pick(std::array{3, 3, 5}));
        for (std::size_t i = 0; i < size; ++i) {
            node_plan& n = out_.nodes.emplace_back();
            n.is_durable = dice_.happens(0.5);
            n.latency = dice_.between_orders(100us, 1ms);
        }
    }

    // One keeps its lease by renewal, another tries to get it again and again; perhaps a third does
    // what programs do.
    void draw_programs() {
        const auto ttl = milliseconds(dice_.between(1'000, 3'000));
        out_.programs.push_back({.longest_ttl = ttl, .longest_think = 10ms, .is_keeper = true});
        if (beside_ == beside::foreigners) {
            out_.foreigners.push_back({.begins = 2s, .ttl = 100ms, .longest_think = 300ms});
        } else {
            out_.programs.push_back({.longest_ttl = ttl, .longest_think = 40ms, .is_rival = true});
        }
        if (dice_.happens(0.5)) return;
        program_plan& p = out_.programs.emplace_back();
        p.longest_ttl = ttl;
        p.longest_think = 500ms;
        p.workers = static_cast<std::size_t>(dice_.between(1, 3));
        p.reads = dice_.pick(std::array{0.0, 0.5});
        if (dice_.happens(0.5)) out_.resources = 2;
        p.takes_several = out_.resources > 1 ? 0.5 : 0;
    }

    std::uint32_t all() const { return (1U << out_.nodes.size()) - 1; }

    std::uint32_t some_nodes(std::size_t count) {
        std::uint32_t bits = 0;
        for (; count > 0; --count) {
            std::uint32_t one = 0;
            do one = 1U << dice_.below(out_.nodes.size());
            while ((bits & one) != 0);
            bits |= one;
        }
        return bits;
    }

    // The keepers' leases have been renewed by the next one, and had time to end.
    void draw_faults() {
        duration at = out_.aftermath(fault_kind::cut) + 1s;
        for (std::int64_t left = dice_.between(3, 8); left > 0; --left) {
            draw_lost_answers(at);
            out_.faults.push_back({.kind = dice_.pick(std::array{fault_kind::evict,
                                                                 fault_kind::erase}),
                                   .at = at,
                                   .nodes = draw_deletion(at)});
            at += out_.aftermath(fault_kind::crash_lose) + dice_.between(1s, 4s);
        }
        out_.length = at;
    }

    // Of one node the keeper may have got none at its last renewal before the deletion.
    void draw_lost_answers(duration at) {
        if (!dice_.happens(0.4)) return;
        out_.faults.push_back({.kind = dice_.pick(std::array{fault_kind::partition, fault_kind::cut,
                                                             fault_kind::lag}),
                               .at = at - dice_.between(50ms, 1s),
                               .lasts = dice_.between(50ms, 400ms),
                               .nodes = some_nodes(1),
                               .programs = 1,
                               .amount = dice_.between(30ms, 120ms),
                               .to_nodes = false});
    }

    // On which nodes; and draws what happens beside it.
    std::uint32_t draw_deletion(duration at) {
        if (beside_ == beside::empty_nodes) {
            out_.faults.push_back({.kind = fault_kind::crash_lose,
                                   .at = at - dice_.between(2s, 3s),
                                   .lasts = dice_.between_orders(1ms, 50ms),
                                   .nodes = some_nodes(1)});
            return some_nodes(1);
        }
        const std::array some{all(), some_nodes(out_.quorum()), some_nodes(1)};
        if (beside_ != beside::hung_nodes) return dice_.pick(some);
        // The same minority each time: the others have answered with the key's holder.
        const std::size_t spare = out_.nodes.size() - out_.quorum();
        const std::uint32_t silent = (1U << spare) - 1;
        const bool is_before = dice_.happens(0.5);
        out_.faults.push_back({.kind = fault_kind::freeze,
                               .at = at + (is_before ? -1 : 1) * dice_.between(10ms, 500ms),
                               .lasts = dice_.between(1s, 4s),
                               .nodes = silent});
        // Another client has a quorum with those that hang next: one node alone shows that.
        if (is_before) return dice_.pick(some);
        return silent | 1U << (spare + dice_.below(out_.quorum()));
    }

    chance dice_;
    plan out_;
    beside beside_{};
};

}  // namespace

plan draw_deletions(std::uint64_t seed) { return drawing_deletions(seed).draw(); }

}  // namespace redlock::simulation
