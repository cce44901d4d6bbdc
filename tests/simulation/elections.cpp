// Draws worlds of elections.
// SPDX-License-Identifier: MIT
#include "simulation/families.hpp"

#include "core/lease.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

class drawing_elections {
public:
    explicit drawing_elections(std::uint64_t seed) : dice_(seed, stream::elections) { out_.seed = seed; }

    plan draw() {
        draw_nodes();
        draw_candidates();
        draw_faults();
        return std::move(out_);
    }

private:
    void draw_nodes() {
        out_.ttl_max = milliseconds(dice_.pick(std::array{3'000, 5'000, 10'000}));
        out_.node_timeout = 50ms;
        out_.connect_timeout = 250ms;
        const auto spread = core::fence_tolerance(out_.ttl_max) / 4;
        const std::size_t size =
            or_fewer(static_cast<std::size_t>(dice_.pick(std::array{3, 3, 5})), out_.seed);
        for (std::size_t i = 0; i < size; ++i) {
            node_plan& n = out_.nodes.emplace_back();
            n.is_durable = dice_.happens(0.5);
            n.clock_offset = dice_.between(-spread, spread);
            n.drift_ppm = dice_.between(-4'900, 4'900);
            n.latency = dice_.between_orders(100us, 3ms);
        }
    }

    void draw_candidates() {
        duration longest_ttl{};
        for (std::int64_t left = dice_.between(2, 5); left > 0; --left) {
            program_plan& p = out_.programs.emplace_back();
            p.begins = dice_.between(0ms, 50ms);
            p.drift_ppm = dice_.between(-4'900, 4'900);
            p.longest_ttl = std::chrono::duration_cast<milliseconds>(
                dice_.between_orders(500ms, duration(out_.ttl_max)));
            p.longest_think = 20ms;
            p.is_candidate = true;
            longest_ttl = std::max(longest_ttl, duration(p.longest_ttl));
        }
        // The keys of a leader that died, and a dead waiter before the others; then a look, and a
        // try that meets a hung node.
        constexpr auto entry = 2s;
        constexpr auto look = 750ms;
        out_.longest_vacancy = longest_ttl + longest_ttl / 50 + entry + look +
                               out_.longest_opening() + 4 * duration(out_.node_timeout);
    }

    // One after the other, and sometimes the next one before the last one is over; but a node that
    // forgets is given the time of its quarantine.
    void draw_faults() {
        duration at = out_.aftermath(fault_kind::cut) + 1s;
        for (std::int64_t left = dice_.between(3, 12); left > 0; --left) {
            const fault f = draw_fault(at);
            out_.faults.push_back(f);
            const bool is_alone = forgets(f.kind) || dice_.happens(0.5);
            at += is_alone ? f.lasts + out_.aftermath(f.kind) + *out_.longest_vacancy
                           : dice_.between_orders(10ms, 3s);
        }
        out_.length = at + out_.aftermath(fault_kind::kill) + *out_.longest_vacancy;
    }

    fault draw_fault(duration at) {
        constexpr std::array kinds{fault_kind::kill,       fault_kind::kill,
                                   fault_kind::pause,      fault_kind::pause,
                                   fault_kind::suspend,    fault_kind::close,
                                   fault_kind::partition,  fault_kind::partition,
                                   fault_kind::crash_keep, fault_kind::crash_lose,
                                   fault_kind::freeze,     fault_kind::freeze,
                                   fault_kind::cut,        fault_kind::flush_scripts};
        fault f{.kind = dice_.pick(kinds), .at = at};
        f.lasts = dice_.between_orders(1ms, 2 * duration(out_.ttl_max));
        f.programs = 1U << dice_.below(out_.programs.size());
        f.nodes = 1U << dice_.below(out_.nodes.size());
        // One candidate is cut off from any number of nodes; all candidates from a quorum, too.
        const bool may_be_many = f.kind == fault_kind::partition || f.kind == fault_kind::freeze;
        if (may_be_many && dice_.happens(0.6)) {
            f.nodes = 1U + static_cast<std::uint32_t>(
                               dice_.below((std::size_t{1} << out_.nodes.size()) - 1));
        }
        return f;
    }

    chance dice_;
    plan out_;
};

}  // namespace

plan draw_elections(std::uint64_t seed) { return drawing_elections(seed).draw(); }

}  // namespace redlock::simulation
