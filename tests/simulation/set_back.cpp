// Draws worlds in which the clocks of all nodes go back while no program is there.
// SPDX-License-Identifier: MIT
#include "simulation/families.hpp"

#include "core/fence_floor.hpp"
#include "core/lease.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <utility>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

class drawing_set_back {
public:
    explicit drawing_set_back(std::uint64_t seed) : dice_(seed, stream::set_back) { out_.seed = seed; }

    plan draw() {
        draw_nodes();
        if (dice_.happens(0.15)) {
            draw_raise();
        } else {
            draw_visits();
        }
        return std::move(out_);
    }

private:
    void draw_nodes() {
        out_.ttl_max = milliseconds(dice_.pick(std::array{2'000, 10'000, 60'000, 60'000}));
        out_.node_timeout = 50ms;
        out_.connect_timeout = milliseconds(dice_.pick(std::array{250, 2'000}));
        out_.sets_back = true;
        const auto spread = core::fence_tolerance(out_.ttl_max) / 8;
        const std::size_t size =
            or_fewer(static_cast<std::size_t>(dice_.pick(std::array{3, 3, 5})), out_.seed);
        for (std::size_t i = 0; i < size; ++i) {
            node_plan& n = out_.nodes.emplace_back();
            n.is_durable = dice_.happens(0.5);
            n.clock_offset = dice_.between(-spread, spread);
            n.latency = dice_.between_orders(100us, 3ms);
        }
    }

    program_plan& add_program(duration begins, duration ends) {
        program_plan& p = out_.programs.emplace_back();
        p.begins = begins + dice_.between(0ms, 20ms);
        p.ends = ends;
        p.drift_ppm = dice_.between(-4'900, 4'900);
        p.longest_ttl = 2'000ms;
        p.longest_think = dice_.between_orders(1ms, 500ms);
        return p;
    }

    // Programs come, some of them for milliseconds, and go; the nodes forget all fences. Before the
    // next ones come the clocks of all nodes are set, mostly back.
    void draw_visits() {
        if (dice_.happens(0.3)) step(0ms, 1h);
        has_open_ = dice_.happens(0.2);
        out_.is_only_safe = has_open_;
        // One of these in a world, if any. What a node that hangs missed is gone where the other
        // one that had it loses its data, and the third is away: the documents say so. And where
        // two do not answer, the third alone keeps a fence that is on no record.
        const auto trouble = dice_.pick(std::array{fault_kind::freeze, fault_kind::crash_lose,
                                                   fault_kind::crash_keep});
        // The only node that loses its data has lost all fences. Of two the one that is left can't
        // tell node time: its fences are on no record, and it keeps them where its clock goes back.
        const std::size_t least = trouble == fault_kind::crash_lose ? 2 : 3;
        const bool has_trouble = !has_open_ && dice_.happens(0.8) && out_.nodes.size() >= least;
        bool was_away = false;
        duration at = out_.aftermath(fault_kind::step_clock) * (out_.faults.empty() ? 0 : 1);
        for (std::int64_t left = dice_.between(1, 3); left > 0; --left) {
            const duration ends = at + dice_.between_orders(100ms, 20s);
            // All have to answer when they are new.
            const bool is_new = out_.programs.empty();
            if (has_trouble && trouble == fault_kind::freeze && !is_new) {
                befall(trouble, at - 1s, ends - at + 2s);
            }
            add_visit(at, ends);
            const duration idle = 2'000ms + dice_.between(18s, 90s);
            // By then no key is left: a node whose clock goes back would keep it for as much longer.
            const duration set = ends + 4'500ms + dice_.between(duration(0), idle - 5s);
            if (dice_.happens(0.6)) step(set, draw_step(idle));
            if (has_trouble && trouble == fault_kind::crash_lose && dice_.happens(0.5)) {
                befall(trouble, ends + idle / 2, 1s);
            }
            if (has_trouble && trouble == fault_kind::crash_keep &&
                !std::exchange(was_away, true)) {
                befall(trouble, ends + idle / 2, idle);
            }
            at = ends + idle;
        }
        add_visit(at, 0ms);
        out_.length = at + out_.aftermath(fault_kind::step_clock) + 30s;
    }

    void add_visit(duration at, duration ends) {
        for (std::int64_t left = dice_.between(1, 2); left > 0; --left) add_program(at, ends);
        // One without the guard writes no record: the others have to be there, and to draw fences,
        // which they can't where a node has no vote.
        const bool is_long = ends == duration(0) || ends - at > 5s;
        if (has_open_ && is_long) add_program(at + 4s, ends).is_guarded = false;
    }

    // `idle`: from the last fence to the next. Never so that the next program finds the clocks where
    // a fence may have been drawn that no record shows: the documents say so.
    duration draw_step(duration idle) {
        const duration a = core::fence_tolerance(out_.ttl_max);
        const duration more = a < 2 * core::longest_unwritten_highest ? a / 2 : duration(0);
        const duration unseen = core::longest_unwritten_highest + more + a / 10;
        if (dice_.happens(0.15)) {
            const duration ahead = dice_.between_orders(1s, 3h);
            // Clocks that nobody has compared for long may have drifted: quarantines last longer.
            out_.is_only_safe = out_.is_only_safe || ahead > 5min;
            return ahead;
        }
        for (;;) {
            const duration by = dice_.between_orders(1s, 3h);
            const duration lands = idle - by;
            if (lands > 1s || lands < -unseen) return -by;
        }
    }

    // Of five nodes two are behind by more than the first programs tolerate. Later ones tolerate
    // it, and see only one of those that voted before.
    void draw_raise() {
        out_.ttl_max = 2'000ms;
        out_.nodes.resize(5, out_.nodes.front());
        for (std::size_t i = 0; i < 5; ++i) out_.nodes[i].clock_offset = i < 3 ? 0s : -10s;
        out_.resources = 3;
        const duration ends = dice_.between(3s, 10s);
        add_program(0ms, ends);
        const duration begins = ends + dice_.between(1s, 3s);
        const duration away = begins + dice_.between(1s, 2s);
        const duration last = away + dice_.between(1'500ms, 3s);
        for (const duration at : {begins, last}) {
            program_plan& p = add_program(at, 0ms);
            p.ttl_max = 60'000ms;
            p.longest_think = at == begins ? 20s : 100ms;
        }
        out_.length = last + 30s;
        for (const std::uint32_t node : {1U << 0, 1U << 1}) {
            out_.faults.push_back({.kind = fault_kind::crash_keep,
                                   .at = away,
                                   .lasts = out_.length - away,
                                   .nodes = node});
        }
    }

    void step(duration at, duration by) {
        const auto all = (1U << out_.nodes.size()) - 1;
        out_.faults.push_back(
            {.kind = fault_kind::step_clock, .at = at, .nodes = all, .amount = by});
    }

    void befall(fault_kind what, duration at, duration lasts) {
        out_.faults.push_back({.kind = what,
                               .at = at,
                               .lasts = lasts,
                               .nodes = 1U << dice_.below(out_.nodes.size())});
    }

    plan out_;
    chance dice_;
    bool has_open_ = false;  // programs without the guard, which wait for the others' lift
};

}  // namespace

plan draw_set_back(std::uint64_t seed) { return drawing_set_back(seed).draw(); }

}  // namespace redlock::simulation
