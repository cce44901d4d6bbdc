// Draws worlds in which operators change the list of nodes.
// SPDX-License-Identifier: MIT
#include "simulation/families.hpp"

#include "core/lease.hpp"
#include "simulation/visits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <vector>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_nodes = 6;

std::uint32_t nth_bit(std::uint32_t of, std::size_t n) {
    while (n-- > 0) of &= of - 1;
    return of & ~(of - 1);
}

// Lists follow each other. In orderly worlds every program has the joint list before the change is
// committed, and the new one a quarantine later at the earliest; nothing else happens, and nobody may
// be refused. In the others operators and programs do all of that at any time, in any order, also not
// at all, and faults befall them within the assumptions: exclusion has to hold.
class drawing_changes {
public:
    explicit drawing_changes(std::uint64_t seed) : dice_(seed, stream::changes) {
        out_.seed = seed;
        out_.changes_lists = true;
    }

    plan draw() {
        is_orderly_ = dice_.happens(0.3);
        out_.is_only_safe = !is_orderly_;
        draw_nodes();
        draw_lists();
        is_orderly_ ? draw_orderly() : draw_disorder();
        draw_foreigners(chance(out_.seed, stream::change_foreigners));
        return std::move(out_);
    }

private:
    void draw_nodes() {
        out_.ttl_max = milliseconds(dice_.pick(std::array{2'000, 3'000, 5'000}));
        out_.node_timeout = 50ms;
        out_.connect_timeout = 250ms;
        out_.resources = static_cast<std::size_t>(dice_.between(1, 2));
        out_.slots = dice_.happens(0.3) ? 2 : 0;
        const auto spread = core::fence_tolerance(out_.ttl_max) / 8;
        for (std::size_t i = 0; i < most_nodes; ++i) {
            node_plan& n = out_.nodes.emplace_back();
            n.is_durable = dice_.happens(0.5);
            n.clock_offset = dice_.between(-spread, spread);
            n.drift_ppm = dice_.between(-4'900, 4'900);
            n.latency = dice_.between_orders(100us, 3ms);
        }
    }

    std::uint32_t some_of(std::uint32_t from, std::size_t count) {
        std::uint32_t out = 0;
        while (static_cast<std::size_t>(std::popcount(out)) < count) {
            const auto left = static_cast<std::size_t>(std::popcount(from & ~out));
            out |= nth_bit(from & ~out, dice_.below(left));
        }
        return out;
    }

    std::uint32_t follows(std::uint32_t list) {
        constexpr std::uint32_t all = (1U << most_nodes) - 1;
        const auto size = static_cast<std::size_t>(std::popcount(list));
        const std::uint32_t others = all & ~list;
        const bool may_grow = size <= 4;
        switch (dice_.below(is_orderly_ ? 3 : 5)) {
            case 0: return (list & ~some_of(list, 1)) | some_of(others, 1);
            case 1: return may_grow ? list | some_of(others, 2) : list & ~some_of(list, 2);
            case 2: return size >= 5 ? list & ~some_of(list, 2) : list | some_of(others, 1);
            case 3: return some_of(size > 3 ? all : others, 3);
            default: return lists_.size() > 1 ? lists_[lists_.size() - 2] : some_of(all, 3);
        }
    }

    // A program with one list alone has to meet a node of every other list that may be in force: two
    // lists of which one is mostly new do not detect each other.
    bool meets_all(std::uint32_t list) const {
        return std::all_of(lists_.begin(), lists_.end(), [list](std::uint32_t other) {
            return 2 * std::popcount(list & other) > std::popcount(list);
        });
    }
    // Lists of one to three nodes, with any overlap or none.
    void draw_short_lists(chance dice) {
        for (std::int64_t left = dice.between(2, 4); left > 0;) {
            const auto next = static_cast<std::uint32_t>(dice.between(1, (1 << most_nodes) - 1));
            if (std::popcount(next) > 3 || (!lists_.empty() && next == lists_.back())) continue;
            lists_.push_back(next);
            --left;
        }
    }
    void draw_lists() {
        if (chance dice(out_.seed, stream::short_lists); is_orderly_ && dice.happens(0.3)) {
            are_short_ = true;
            return draw_short_lists(dice);
        }
        lists_.push_back(some_of((1U << most_nodes) - 1, dice_.happens(0.7) ? 3 : 5));
        const auto changes = static_cast<std::size_t>(dice_.between(1, 3));
        while (lists_.size() <= changes) {
            const std::uint32_t next = follows(lists_.back());
            if (next != lists_.back() && meets_all(next)) lists_.push_back(next);
        }
    }

    void add_program(std::uint32_t list, std::uint32_t after, duration begins, duration ends) {
        if (out_.programs.size() >= 26) return;
        program_plan& p = out_.programs.emplace_back();
        p.begins = begins;
        p.ends = ends;
        p.list = list;
        p.list_after = after == list ? 0 : after;
        p.drift_ppm = dice_.between(-4'900, 4'900);
        p.workers = static_cast<std::size_t>(dice_.between(1, 2));
        p.longest_ttl = std::chrono::duration_cast<milliseconds>(
            dice_.between_orders(300ms, duration(out_.ttl_max)));
        p.longest_think = dice_.between_orders(1ms, 300ms);
        p.reads = dice_.happens(0.3) ? 0.5 : 0;
        p.keeps = dice_.happens(0.2) ? 0.3 : 0;
        p.slots = out_.slots;
        p.takes_slots = out_.slots == 0 ? 0 : dice_.pick(std::array{0.0, 0.5, 1.0});
    }
    void add_operator(std::size_t change, bool gives_up, duration at, duration lasts) {
        program_plan& p = out_.programs.emplace_back();
        p.drift_ppm = dice_.between(-4'900, 4'900);
        p.workers = 0;
        p.does = errand::commit;
        p.list = lists_[change];
        p.list_after = lists_[change + 1];
        p.gives_up = gives_up;
        out_.faults.push_back({.kind = fault_kind::visit,
                               .at = at,
                               .lasts = lasts,
                               .programs = 1U << (out_.programs.size() - 1)});
    }

    // Until a node that just became one of the list counts for programs with that alone.
    duration settled() const { return duration(out_.ttl_max) * 11 / 10 + 8s; }

    void draw_orderly() {
        const std::size_t seats = 1 + dice_.below(2);
        const duration opening = 3s;
        duration at = opening + 2s;
        std::vector<duration> begins(seats, 0ms);
        // Where the nodes that stay are no majority of a new list, step 1 costs its quarantine.
        if (!are_short_) out_.open_from = opening;
        for (std::size_t c = 0; c + 1 < lists_.size(); ++c) {
            for (std::size_t s = 0; s < seats; ++s) {  // the joint list, one after the other
                const duration change = at + dice_.between(0ms, 2s);
                add_program(lists_[c], lists_[c], begins[s], change);
                begins[s] = change;
            }
            const duration commits = at + settled() + dice_.between(0ms, 2s);
            add_operator(c, false, commits, 5s);
            at = commits + settled() + 3s;
            for (std::size_t s = 0; s < seats; ++s) {
                const duration change = at + dice_.between(0ms, 2s);
                add_program(lists_[c], lists_[c + 1], begins[s], change);
                begins[s] = change;
            }
            at += 3s;
        }
        for (std::size_t s = 0; s < seats; ++s) {
            add_program(lists_.back(), lists_.back(), begins[s], 0ms);
        }
        out_.length = at + 5s;
    }

    void draw_disorder() {
        const std::size_t changes = lists_.size() - 1;
        const duration each = dice_.between_orders(2s, 4 * settled());
        out_.length = static_cast<std::int64_t>(changes) * each + 2 * settled();
        const std::size_t seats = 2 + dice_.below(2);
        for (std::size_t s = 0; s < seats; ++s) {
            duration at = dice_.between(0ms, 50ms);
            for (std::size_t c = 0; c < changes; ++c) {
                const duration joint = each * static_cast<std::int64_t>(c) + dice_.between(0ms, each);
                const duration alone = joint + dice_.between_orders(1ms, each + settled());
                if (dice_.happens(0.15)) continue;  // it is overlooked
                if (joint > at) add_program(lists_[c], lists_[c], at, joint);
                at = std::max(at, joint);
                const bool skips = dice_.happens(0.1);  // a canary with the new list
                if (!skips && alone > at) {
                    add_program(lists_[c], lists_[c + 1], at, alone);
                    at = alone;
                }
                if (c + 1 == changes) add_program(lists_[c + 1], lists_[c + 1], at, 0ms);
            }
        }
        add_program(lists_.front(), lists_.front(), 0ms, dice_.happens(0.5) ? 0ms : out_.length / 2);
        add_program(lists_[0], lists_[1], dice_.between(0ms, each), dice_.between(each, out_.length));
        for (std::size_t c = 0; c < changes; ++c) {
            for (std::int64_t left = dice_.between(0, 3); left > 0; --left) {
                const duration at = each * static_cast<std::int64_t>(c) + dice_.between(500ms, 2 * each);
                if (out_.programs.size() >= 31) break;
                add_operator(c, dice_.happens(0.25), at, dice_.between_orders(5ms, 5s));
                if (dice_.happens(0.6)) cut_off_operator(at);
            }
        }
        draw_faults();
        if (dice_.happens(0.4)) draw_split();
        draw_slow_lists(chance(out_.seed, stream::slow_lists));
        draw_candidates(chance(out_.seed, stream::change_candidates));
        draw_declaration(chance(out_.seed, stream::declaration));
    }

    // They see neither a closed node nor a new list. So one with the first list stops before an operator
    // comes, as docs/changes.md says, and one with the last list begins when all of it is over.
    void draw_foreigners(chance dice) {
        if (!dice.happens(0.3)) return;
        foreigner_plan f;
        f.ttl = std::chrono::duration_cast<milliseconds>(dice.between_orders(100ms, out_.ttl_max));
        f.longest_think = dice.between_orders(10ms, 1s);
        duration first = out_.length;
        duration last{};
        for (const fault& v : out_.faults) {
            if (v.kind != fault_kind::visit && v.kind != fault_kind::declare) continue;
            first = std::min(first, v.at);
            last = std::max(last, v.at + v.lasts);
        }
        if (first > 2 * duration(f.ttl)) {
            f.list = lists_.front();
            f.ends = first - 2 * duration(f.ttl);
            out_.foreigners.push_back(f);
        }
        if (!is_orderly_) return;
        f.list = lists_.back();
        f.begins = last + settled();
        f.ends = 0ms;
        out_.foreigners.push_back(f);
    }

    // Leaders and candidates of all generations.
    void draw_candidates(chance dice) {
        if (!dice.happens(0.25)) return;
        for (program_plan& p : out_.programs) p.is_candidate = !p.is_brief() && dice.happens(0.5);
    }

    // In the end all programs stop, wherever the change is by then. When no lease is left an operator
    // declares the nodes of one list new, and programs with that begin.
    void draw_declaration(chance dice) {
        if (!dice.happens(0.25) || out_.programs.size() > 28) return;
        for (program_plan& p : out_.programs) {
            if (p.ends == 0ms) p.ends = out_.length;
        }
        const std::uint32_t list = dice.pick(lists_);
        const duration at = out_.length + settled();
        const std::uint32_t declares = add_brief_program(out_, dice, errand::init);
        out_.programs.back().list = list;
        out_.faults.push_back(
            {.kind = fault_kind::declare, .at = at, .nodes = list, .programs = declares});
        for (int seat = 0; seat < 2; ++seat) {
            program_plan p = out_.programs.front();
            p.list = list;
            p.list_after = 0;
            p.begins = at + dice.between(500ms, 3s);
            p.ends = 0ms;
            out_.programs.push_back(p);
        }
        out_.length = at + dice.between(5s, 15s);
    }

    // Nodes take long to say which programs are connected, some of them or all.
    void draw_slow_lists(chance dice) {
        if (!dice.happens(0.3)) return;
        constexpr std::uint32_t all = (1U << most_nodes) - 1;
        fault slow{.kind = fault_kind::slow_list,
                   .lasts = out_.length,
                   .nodes = 1U + static_cast<std::uint32_t>(dice.below(all)),
                   .amount = dice.between(50ms, 500ms)};
        if (dice.happens(0.5)) {
            add_blind();
            slow.nodes = all;
        }
        out_.faults.push_back(slow);
    }

    // A program that looks at no record: it would go on beside a new list, so no operator may pass it by.
    // It has no fences, so nothing else happens there, and it relies on the records being of its list.
    void add_blind() {
        std::erase_if(out_.faults, [](const fault& f) { return f.kind != fault_kind::visit; });
        for (fault& f : out_.faults) f.lasts = 5s;
        program_plan blind = out_.programs.front();
        for (program_plan& p : out_.programs) {
            const bool is_first = p.list == lists_[0] && !p.is_joint();
            if (!is_first) p.begins = std::max<duration>(p.begins, 3s);
            if (is_first && p.begins == 0ms) blind = p;
        }
        blind.is_fenced = false;
        out_.programs.push_back(blind);
    }

    // Once the nodes have records, programs with the first list alone don't meet the nodes that operators
    // and programs with the second list do: a majority of that, and no majority of the first. So a change
    // that is ended there, without a majority of the old list, has two holders. No node forgets: it would
    // be one that was not used before.
    void draw_split() {
        std::erase_if(out_.faults, [](const fault& f) { return forgets(f.kind); });
        const std::uint32_t fresh = lists_[1] & ~lists_[0];
        const auto majority = static_cast<std::size_t>(std::popcount(lists_[1]) / 2 + 1);
        const auto needed = majority - std::min<std::size_t>(majority, std::popcount(fresh));
        const std::uint32_t here = fresh | some_of(lists_[0] & lists_[1], needed);
        for (std::size_t i = 0; i < out_.programs.size(); ++i) {
            const program_plan& p = out_.programs[i];
            const bool is_old = !p.is_brief() && !p.is_joint() && p.list == lists_[0];
            const bool is_new = !p.is_brief() && !p.is_joint() && p.list == lists_[1];
            const bool is_operator = p.is_brief() && p.list == lists_[0];
            if (!is_old && !is_new && !is_operator) continue;
            out_.faults.push_back({.kind = fault_kind::partition,
                                   .at = is_old ? 3s : duration(0ms),
                                   .lasts = out_.length,
                                   .nodes = is_old ? here : ~here & ((1U << most_nodes) - 1),
                                   .programs = 1U << i});
        }
    }

    // It meets some of the nodes only, which the programs meet.
    void cut_off_operator(duration at) {
        fault f{.kind = fault_kind::partition, .at = at > 1ms ? at - 1ms : 0ms};
        f.lasts = 6s;
        f.nodes = 1U + static_cast<std::uint32_t>(dice_.below((1U << most_nodes) - 1));
        f.programs = 1U << (out_.programs.size() - 1);
        out_.faults.push_back(f);
    }

    // A node that loses its record is given the time until it has one, and until that counts.
    void draw_faults() {
        chance files(out_.seed, stream::older_files);  // which are there after a restart
        duration at = dice_.between(500ms, 3s);
        duration no_loss_before{};
        while (at < out_.length) {
            constexpr std::array kinds{fault_kind::crash_keep, fault_kind::crash_keep,
                                       fault_kind::crash_lose, fault_kind::flush,
                                       fault_kind::freeze,     fault_kind::partition,
                                       fault_kind::partition,  fault_kind::pause,
                                       fault_kind::kill,       fault_kind::cut,
                                       fault_kind::flush_scripts};
            fault f{.kind = dice_.pick(kinds), .at = at};
            f.lasts = dice_.between_orders(1ms, 2 * duration(out_.ttl_max));
            f.nodes = 1U << dice_.below(most_nodes);
            f.programs = 1U << dice_.below(out_.programs.size());
            if (f.kind == fault_kind::partition) {
                f.nodes = 1U + static_cast<std::uint32_t>(dice_.below((1U << most_nodes) - 1));
            }
            if (forgets(f.kind)) {
                f.lasts = std::min<duration>(f.lasts, 500ms);
                const bool is_older = f.kind == fault_kind::crash_lose && files.happens(0.5);
                if (is_older) f.kind = fault_kind::crash_rewind;
                if (at < no_loss_before) continue_with(f);
                no_loss_before = at + f.lasts + out_.aftermath(f.kind);
            }
            out_.faults.push_back(f);
            at += dice_.between_orders(10ms, 4s);
        }
    }
    static void continue_with(fault& f) { f.kind = fault_kind::cut; }

    chance dice_;
    plan out_;
    bool is_orderly_ = false;
    bool are_short_ = false;
    std::vector<std::uint32_t> lists_;
};

}  // namespace

plan draw_changes(std::uint64_t seed) { return drawing_changes(seed).draw(); }

}  // namespace redlock::simulation
