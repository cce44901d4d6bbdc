// Draws what may come to any world, each by a draw of its own.
// SPDX-License-Identifier: MIT
#include "simulation/families.hpp"

#include "core/lease.hpp"
#include "simulation/chance.hpp"
#include "simulation/visits.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_programs = 31;

bool does_what_programs_do(const program_plan& p) {
    return !p.is_brief() && !p.is_candidate && !p.is_keeper && !p.is_rival;
}

std::uint32_t bits(std::size_t count) { return (1U << count) - 1; }

class drawing_guests {
public:
    drawing_guests(plan& out, bool is_delicate)
        : out_(&out),
          is_rolling_(out.about == style::rolling),
          is_safe_(out.within == bounds::safe),
          are_all_fenced_(std::all_of(out.programs.begin(), out.programs.end(),
                                      [](const program_plan& p) { return p.is_fenced; })),
          is_common_(!out.has_elections() && !out.has_bursts() && !out.changes_lists &&
                     !out.sets_back && !out.has_deletions()),
          may_be_visited_(!is_delicate && !is_rolling_ && !out.double_of &&
                          (out.changes_lists || !out.has_lists())) {}

    void draw() {
        draw(stream::notes, 0.3, [&](chance&) { out_->has_notes = true; });
        if (out_->has_bursts()) return;
        if (!is_rolling_ && (are_all_fenced_ || !is_safe_)) draw_kinds();
        if (!is_rolling_) draw(stream::several, 0.2, [&](chance& dice) { take_several(dice); });
        if (!is_safe_) draw(stream::evictions, 0.4, [&](chance& dice) { evict(dice, 0ms, dice.between(3, 20)); });
        if (!may_be_visited_) return;
        if (!out_->sets_back) draw_visitors();  // its clocks are set while nobody is there
        if (is_common_ && are_all_fenced_ && is_safe_) draw_calm();
    }

private:
    // A stream for each, so that the others are as they are without it.
    template <class F>
    void draw(stream of, double how_often, F&& add) {
        chance dice(out_->seed, of);
        if (dice.happens(how_often)) add(dice);
    }
    template <class F>
    void each_program(F&& change) {
        for (program_plan& p : out_->programs) change(p);
    }

    // Of locks and leases. A program without fences knows none.
    void draw_kinds() {
        draw(stream::readers, 0.25, [&](chance& dice) {
            each_program([&](program_plan& p) {
                p.reads = dice.pick(std::array{0.0, 0.3, 0.7, 0.95});
            });
        });
        // What is kept must be gone before the clocks are set.
        if (!out_->sets_back) {
            draw(stream::least_holds, 0.1, [&](chance& dice) {
                each_program([&](program_plan& p) { p.keeps = dice.pick(std::array{0.0, 0.3, 0.9}); });
            });
        }
        // An operator would delete the number of slots that programs name, too.
        if (!out_->has_deletions()) draw(stream::slots, 0.2, [&](chance& dice) { take_slots(dice); });
        // Readers pass a writer that waits in no order. The worlds of hours would take more of them.
        if (!are_all_fenced_ || out_->most_turns != 0) return;
        draw(stream::downgrades, out_->about == style::slow ? 0.04 : 0.2, [&](chance& dice) {
            each_program([&](program_plan& p) {
                if (!does_what_programs_do(p)) return;
                p.downgrades = dice.pick(std::array{0.2, 0.5, 0.9});
                p.reads = std::max(p.reads, dice.pick(std::array{0.0, 0.3, 0.6}));
            });
        });
    }

    void take_slots(chance& dice) {
        out_->slots = static_cast<std::uint16_t>(dice.pick(std::array{2, 2, 3, 9}));
        const bool do_numbers_differ = chance(out_->seed, stream::numbers_of_slots).happens(0.3);
        each_program([&](program_plan& p) {
            p.takes_slots = dice.pick(std::array{0.3, 0.9, 1.0});
            p.slots = do_numbers_differ ? static_cast<std::uint16_t>(dice.between(2, out_->slots))
                                        : out_->slots;
        });
    }

    void take_several(chance& dice) {
        out_->resources = static_cast<std::size_t>(dice.between(2, 4));
        each_program([&](program_plan& p) {
            p.takes_several = dice.pick(std::array{0.0, 0.3, 0.8, 1.0});
        });
    }

    // What is left of a lock then, as the set of its readers, must not count.
    void evict(chance& dice, duration from, std::int64_t times) {
        for (; times > 0; --times) {
            out_->faults.push_back({.kind = fault_kind::evict,
                                    .at = dice.between(from, out_->length),
                                    .nodes = 1U << dice.below(out_->nodes.size())});
        }
    }

    // Programs that come, do one thing and end, beside the others; and candidates.
    void draw_visitors() {
        // Where all is promised: a candidate waits until it leads.
        if (is_common_ && is_safe_ && are_all_fenced_ && out_->most_turns == 0) {
            draw(stream::candidates, 0.08, [&](chance& dice) { add_candidates(dice); });
        }
        // A waiter for what is taken, or handed over, may wait in vain.
        if (is_common_ || out_->is_only_safe) {
            draw(stream::tokens, 0.1, [&](chance& dice) {
                each_program([&](program_plan& p) {
                    if (does_what_programs_do(p)) p.hands_over = dice.pick(std::array{0.1, 0.4, 0.9});
                });
                add_guest(dice, errand::token);
            });
            draw(stream::revocations, 0.06, [&](chance& dice) { add_guest(dice, errand::revoke); });
        }
        if (is_common_) {
            draw(stream::lookers, 0.05, [&](chance& dice) { draw_lookers(*out_, dice); });
        } else {
            draw(stream::lookers, 0.2, [&](chance& dice) { add_guest(dice, errand::look); });
            draw(stream::watchers, 0.2, [&](chance& dice) { add_guest(dice, errand::watch); });
        }
        // Where leases are held that is an operator's mistake.
        if (!is_safe_) draw(stream::declarations, 0.05, [&](chance& dice) { add_guest(dice, errand::init); });
    }

    // It names the nodes that some program names.
    void add_guest(chance& dice, errand what) {
        if (out_->programs.size() >= most_programs) return;
        const program_plan like = dice.pick(out_->programs);
        const std::uint32_t who = add_brief_program(*out_, dice, what);
        out_->programs.back().list = like.list;
        out_->programs.back().list_after = like.list_after;
        const duration longest = 2 * duration(out_->connect_timeout) + 6 * out_->longest_node_timeout();
        add_visits(*out_, dice, who, dice.between_orders(100ms, 10s), longest);
    }

    void add_candidates(chance& dice) {
        for (std::int64_t left = dice.between(1, 3); left > 0; --left) {
            program_plan p = out_->programs.front();
            // A campaign has no end where each grant of a far node comes too late.
            for (const node_plan& n : out_->nodes) {
                const auto enough = std::chrono::ceil<milliseconds>(3 * n.longest_round_trip());
                p.longest_ttl = std::clamp(enough, p.longest_ttl, out_->ttl_max);
            }
            p.workers = 1;
            p.is_duellist = false;
            p.is_candidate = true;
            out_->programs.push_back(p);
        }
    }

    // What the other faults would hide, or be blamed for, follows when they are over and known.
    void draw_calm() {
        draw(stream::calm, 0.04, [&](chance& dice) {
            const duration from = when_all_is_known();
            out_->length = from + dice.between(20s, 60s);
            evict(dice, from, dice.between(3, 20));
        });
        // A campaign has no end: its candidate would take the office when the others have come to rest.
        if (out_->has_elections() || out_->has_deletions() || !out_->foreigners.empty()) return;
        draw(stream::break_of_all, 0.05, [&](chance& dice) { add_break(dice); });
    }
    duration when_all_is_known() const {
        duration at = out_->length;
        for (const fault& f : out_->faults) at = std::max(at, f.at + f.lasts);
        return at + out_->aftermath(fault_kind::copy);
    }

    // All programs stop. When no key is left the clocks of all nodes are set, or an operator declares
    // the nodes new, which may have lost their data by then. The clocks never land where a fence may
    // have been drawn that no record shows.
    void add_break(chance& dice) {
        const duration stops = when_all_is_known();
        const duration free = stops + duration(out_->ttl_max) * 21 / 20 + 5s;
        const duration back = free + dice.between(15s, 90s);
        const duration at = dice.between(free, back - 10s);
        const std::uint32_t all = bits(out_->nodes.size());
        const std::uint32_t programs = bits(out_->programs.size());
        if (dice.happens(0.5)) {
            const duration unseen = 5s + 8 * core::fence_tolerance(out_->ttl_max);
            out_->sets_back = true;
            out_->faults.push_back(
                {.kind = fault_kind::step_clock,
                 .at = at,
                 .nodes = all,
                 .amount = dice.happens(0.2) ? dice.between_orders(1s, 5min)
                                             : stops - back - unseen - dice.between_orders(1s, 3h)});
        } else {
            if (dice.happens(0.5)) {
                out_->faults.push_back(
                    {.kind = fault_kind::crash_lose, .at = at, .lasts = 100ms, .nodes = all});
            }
            out_->faults.push_back({.kind = fault_kind::declare,
                                    .at = at + 1s,
                                    .nodes = all,
                                    .programs = add_brief_program(*out_, dice, errand::init)});
        }
        out_->faults.push_back(
            {.kind = fault_kind::kill, .at = stops, .lasts = back - stops, .programs = programs});
        out_->length = back + out_->aftermath(fault_kind::kill) + dice.between(5s, 20s);
    }

    plan* out_;
    bool is_rolling_;
    bool is_safe_;
    bool are_all_fenced_;
    bool is_common_;       // of no family
    bool may_be_visited_;
};

}  // namespace

void draw_guests(plan& out, bool is_delicate) { drawing_guests(out, is_delicate).draw(); }

}  // namespace redlock::simulation
