// Drawing a world from its seed.
// SPDX-License-Identifier: MIT
#include "simulation/plan.hpp"

#include "core/lease.hpp"
#include "core/retry.hpp"
#include "simulation/families.hpp"
#include "simulation/rare_worlds.hpp"

#include <algorithm>
#include <array>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

// These are drawn in worlds of their own only.
constexpr std::size_t common_kinds = static_cast<std::size_t>(fault_kind::copy);


// How fast a world's faults follow each other, and which of them there are, differ from run to run:
// what is rare in the mean is frequent in some.
class drawing {
public:
    explicit drawing(std::uint64_t seed) : dice_(seed, stream::usual) { out_.seed = seed; }

    plan draw() {
        draw_all();
        draw_distances();
        draw_upheavals();
        draw_shared_nodes();
        draw_rare_worlds();
        give_time_to_connect();
        draw_lists();
        draw_move();
        out_.are_twins = chance(out_.seed, stream::twins).happens(0.04);
        draw_swaps();
        draw_guests(out_, has_upheavals_);
        return std::move(out_);
    }

private:
    void give_time_to_connect() {
        // Until the record is read a handshake takes three round trips. A client that can't wait so
        // long reaches the node only by luck, also in peace.
        for (const node_plan& n : out_.nodes) {
            const auto greeted = std::chrono::ceil<milliseconds>(3 * n.longest_round_trip()) + 1ms;
            out_.connect_timeout = std::max(out_.connect_timeout, greeted);
        }
    }

    // Servers restart with other files now and then.
    void draw_swaps() {
        chance dice(out_.seed, stream::swaps);
        if (!dice.happens(0.04) || has_upheavals_ || out_.double_of || out_.has_lists() ||
            out_.about == style::rolling) {
            return;
        }
        for (std::int64_t left = dice.between(2, 8); left > 0; --left) {
            add({.kind = fault_kind::swap_files,
                 .at = dice.between(duration(0), out_.length),
                 .nodes = 1U << dice.below(out_.nodes.size())});
        }
    }

    void draw_all() {
        out_.within = dice_.happens(0.75) ? bounds::safe : bounds::wild;
        out_.about = draw_style();
        is_slow_ = out_.about == style::slow;
        is_duel_ =
            out_.about == style::duel || (out_.about == style::islands && dice_.happens(0.5));
        draw_times();
        draw_nodes();
        if (out_.about == style::rolling) {
            draw_keeper();
            draw_rolling_faults();
            if (dice_.happens(0.4)) draw_rival();
            return;
        }
        draw_programs();
        draw_faults();
        draw_deaths();
        if (out_.about != style::islands) return;
        // Of two nodes a quorum would have forgotten.
        const bool may_be_late =
            out_.programs.size() > 1 && out_.nodes.size() > 2 && !out_.double_of && !is_plain_;
        if (may_be_late && dice_.happens(0.4))
            draw_latecomer();
        else
            draw_islands();
    }

    // In some worlds the nodes are far away, each at a distance of its own, and their time-outs are
    // measured. From a stream of its own, so that the other worlds are as they are without these.
    void draw_distances() {
        chance dice(out_.seed, stream::distances);
        if (!dice.happens(0.1) || out_.double_of || out_.about == style::rolling) return;
        out_.node_timeout = 0ms;
        out_.connect_timeout = milliseconds(dice.between(1'000, 3'000));
        for (node_plan& n : out_.nodes) n.latency = dice.between_orders(100us, 120ms);
    }

    bool may_be_upset() const {
        return out_.within == bounds::safe && !out_.double_of && !is_plain_ && !is_slow_ &&
               out_.about != style::rolling && out_.node_timeout > 0ms;
    }

    void draw_shared_nodes() {
        chance dice(out_.seed, stream::shared_nodes);
        if (!dice.happens(0.1) || !may_be_upset() || has_upheavals_) return;
        has_upheavals_ = true;
        draw_shared_node(out_, dice);
    }

    // Sequences of events that the other worlds hardly ever draw. Each from a stream of its own, so
    // that the other worlds are as they are without these.
    // Each from a stream of its own: a new one leaves the worlds as they are that it does not replace.
    void draw_rare_worlds() {
        if (!may_be_upset() || has_upheavals_) return;
        struct rare {
            stream from;
            double share;
            void (*draw)(plan&, chance&);
        };
        constexpr std::array all{rare{stream::refusals, 0.03, draw_refusals},
                                 rare{stream::absence, 0.03, draw_absence},
                                 rare{stream::late_commands, 0.03, draw_late_commands},
                                 rare{stream::newcomers, 0.1, draw_newcomers},
                                 rare{stream::replicas, 0.03, draw_replicas},
                                 rare{stream::stalls, 0.05, draw_stalls}};
        for (const rare& one : all) {
            chance dice(out_.seed, one.from);
            if (!dice.happens(one.share)) continue;
            has_upheavals_ = true;
            return one.draw(out_, dice);
        }
        draw_rarer_worlds();
    }

    void draw_rarer_worlds() {
        chance dice(out_.seed, stream::rarer_worlds);
        if (!dice.happens(0.14)) return;
        constexpr std::array draws{draw_other_files, draw_first_tries, draw_wrong_fences,
                                   draw_tokens_ahead, draw_late_grants, draw_ttl_maxes,
                                   draw_tickets};
        has_upheavals_ = true;
        dice.pick(draws)(out_, dice);
    }

    // Clocks that leap, servers that boot with a wrong one, masters that were replicas meanwhile,
    // machines whose clocks stand still: one after the other, of one node or program, and nothing
    // else, so that each is seen in time. A fault that comes and goes unseen no client can know of.
    void draw_upheavals() {
        chance dice(out_.seed, stream::upheavals);
        if (!dice.happens(0.16) || !may_be_upset() || out_.nodes.size() < 3) return;
        has_upheavals_ = true;
        out_.faults.clear();
        out_.tail = 0;
        out_.ttl_max = milliseconds(dice.pick(std::array{20'000, 40'000}));
        for (program_plan& p : out_.programs) {
            p.begins = dice.between(0ms, 50ms);
            if (dice.happens(0.7)) {
                p.longest_ttl = std::chrono::duration_cast<milliseconds>(
                    dice.between_orders(1s, out_.ttl_max));
            }
            p.longest_think = std::max<duration>(p.longest_think, 20ms);
        }
        for (node_plan& n : out_.nodes) {
            n.clock_offset = std::clamp<duration>(n.clock_offset, -2s, 2s);
            n.latency = std::min<duration>(n.latency, duration(out_.node_timeout) / 10);
        }
        std::uint32_t node = 1U << dice.below(out_.nodes.size());
        const bool are_islands = dice.happens(0.6);
        duration at = 12s;
        for (std::int64_t left = dice.between(1, 2); left > 0; --left) {
            at = draw_upheaval(dice, node, at + dice.between_orders(1ms, 5s));
        }
        out_.length = at;
        if (out_.programs.size() > 1 && dice.happens(0.5)) {  // one that has seen nothing of it
            out_.programs.back().begins = dice.between(12s, out_.faults.back().at + 5s);
        }
        if (!are_islands) return;
        // A program that sees other clocks has another median. Where these drift apart for good no
        // record suits both; nor where two programs begin cluster time at once, each by other
        // clocks.
        for (node_plan& n : out_.nodes) n.drift_ppm = 0;
        for (std::size_t p = 0; p < out_.programs.size(); ++p) {
            out_.programs[p].begins +=
                static_cast<duration::rep>(p) * (2 * duration(out_.connect_timeout) + 500ms);
        }
        // Each sees the node that it befalls, and a quorum at least.
        for (std::uint32_t p = 0; p < out_.programs.size(); ++p) {
            std::uint32_t unseen = 0;
            for (std::size_t i = out_.nodes.size() - out_.quorum(); i > 0; --i) {
                unseen |= 1U << dice.below(out_.nodes.size()) & ~node;
            }
            if (unseen != 0) cut_off(out_, 1U << p, 0ms, unseen);
        }
    }

    // Returns when all of it is forgotten.
    duration draw_upheaval(chance& dice, std::uint32_t node, duration at) {
        const duration seen = out_.quiet() + 6s;
        const duration gone = duration(out_.ttl_max) * 21 / 20 + seen;
        // What a node answers to a command that is too late shows at once that its clock leapt;
        // what is less shows at the next look only.
        const duration least = 2 * std::max<duration>(1s, 4 * duration(out_.node_timeout));
        const duration leap = dice.between_orders(least, 2min) * (dice.happens(0.5) ? 1 : -1);
        const auto step = [&](duration when, duration by) {
            out_.faults.push_back(
                {.kind = fault_kind::step_clock, .at = when, .nodes = node, .amount = by});
        };
        const auto kind = dice.below(4);
        fault f{.at = at, .lasts = dice.between_orders(2ms, 2s), .nodes = node};
        if (kind == 0) {
            step(at, leap);
            f.lasts = dice.between(seen, gone);
            step(at + f.lasts, -leap);
        } else if (kind == 1) {
            const bool keeps = dice.happens(0.6);
            for (std::size_t i = 0; keeps && i < out_.nodes.size(); ++i) {
                if ((node >> i & 1U) != 0) out_.nodes[i].is_durable = true;
            }
            f.kind = keeps ? fault_kind::crash_keep : fault_kind::crash_lose;
            out_.faults.push_back(f);
            step(at + f.lasts / 2, leap);
            const duration wrong =
                keeps ? dice.between(seen, gone) : dice.between_orders(100us, seen);
            step(at + f.lasts + wrong, -leap);
            f.lasts += wrong;
        } else if (kind == 2) {
            f.kind = fault_kind::copy;
            f.cuts = dice.happens(0.7);
            if (!f.cuts) f.lasts = seen;
            out_.faults.push_back(f);
        } else {
            f.kind = fault_kind::stall;
            f.programs = 1U << dice.below(out_.programs.size());
            f.nodes = 0;
            f.lasts = dice.between_orders(300ms, duration(out_.ttl_max));
            out_.faults.push_back(f);
        }
        return at + f.lasts + gone;
    }

    style draw_style() {
        const double at = dice_.share();
        if (at < 0.22) return style::slow;
        if (at < 0.42) return style::duel;
        if (at < 0.56) return style::islands;
        if (at < 0.62) return style::sparse;
        if (at < 0.72 && out_.within == bounds::safe) return style::rolling;
        return style::mixed;
    }

    void draw_times() {
        // Not longer: clients read every node's clock each five seconds, and hours of that show
        // nothing new.
        const auto scale = is_slow_ ? std::array{20'000, 60'000, 300'000, 900'000}
                                    : std::array{1'000, 2'000, 2'000, 10'000};
        out_.ttl_max = milliseconds(dice_.pick(scale));
        out_.node_timeout = milliseconds(dice_.pick(std::array{10, 50, 50, 200}));
        out_.connect_timeout = out_.node_timeout * dice_.between(2, 10);
        out_.length =
            is_slow_ ? dice_.between_orders(15min, 150min) : dice_.between_orders(1s, 1min);
        if (is_duel_) out_.length = dice_.between_orders(1s, 10s);
        out_.resources =
            is_duel_ ? 1 : static_cast<std::size_t>(dice_.pick(std::array{1, 1, 2, 4}));
        out_.tail = dice_.pick(std::array{0.0, 0.0, 0.001, 0.02, 0.2});
        out_.tail_delay = dice_.between_orders(1ms, 2s);
        if (out_.about == style::sparse) {
            out_.ttl_max = milliseconds(1'000);
            out_.length = dice_.between_orders(30s, 3min);
            out_.tail = dice_.pick(std::array{0.02, 0.2, 0.4});
            out_.tail_delay = dice_.between_orders(300ms, 4s);
        }
    }

    // Node and client clocks together never drift further apart than the leases allow for.
    std::int64_t draw_drift() {
        const std::int64_t most = out_.within == bounds::safe ? 4'900 : 30'000;
        switch (dice_.below(3)) {
            case 0: return 0;
            case 1: return dice_.between(-most, most);
            default: return dice_.happens(0.5) ? most : -most;
        }
    }

    // Somebody's mistake: programs that name different nodes, some of them the same. The nodes that
    // two lists share belong to one of them, and the programs with the other are granted nothing.
    // That rests on each program having met the shared nodes, so in safe worlds all can be reached
    // when it begins, nothing lasts for long, and a node that alone is shared forgets nothing.
    void draw_lists() {
        dice_ = chance(out_.seed, stream::lists);
        if (!dice_.happens(0.06) || out_.double_of || is_plain_ || has_upheavals_) return;
        if (out_.within == bounds::wild) {
            for (program_plan& p : out_.programs) {
                if (dice_.happens(0.5)) p.list = some_of(out_.nodes.size(), true);
            }
        } else if (out_.about == style::rolling) {
            draw_stranger();
        } else {
            draw_two_lists();
        }
    }

    // Wants what the keeper has, and names some of its nodes only, a quorum at least.
    void draw_stranger() {
        if (out_.nodes.size() < 3) return;
        program_plan p;
        p.begins = dice_.between(1s, 2s);
        p.longest_ttl = out_.programs.front().longest_ttl;
        p.longest_think = 100ms;
        p.is_rival = true;
        while (weight(p.list = some_of(out_.nodes.size(), false)) < out_.quorum()) {
        }
        out_.programs.push_back(p);
    }

    void draw_two_lists() {
        const auto size = static_cast<std::size_t>(dice_.pick(std::array{3, 5, 5}));
        while (out_.nodes.size() < size) out_.nodes.push_back(out_.nodes.front());
        const auto spread = core::fence_tolerance(out_.ttl_max) * 7 / 20;
        for (node_plan& n : out_.nodes) {
            n.clock_offset = std::clamp<duration>(n.clock_offset, -spread, spread);
        }
        std::array<std::uint32_t, 2> lists{};
        while (lists[0] == lists[1] || (lists[0] & lists[1]) == 0) {
            for (std::uint32_t& one : lists) one = some_of(out_.nodes.size(), true);
        }
        if (out_.programs.size() < 2) out_.programs.push_back(out_.programs.front());
        out_.foreigners.clear();  // a quorum of theirs is another one
        out_.tail = 0;
        const bool is_race = dice_.happens(0.4);
        const duration later = 2 * duration(out_.connect_timeout) + 1s;
        duration all_begun{};
        for (std::size_t i = 0; i < out_.programs.size(); ++i) {
            program_plan& p = out_.programs[i];
            const bool is_second = i == 0 ? false : i == 1 || dice_.happens(0.5);
            p.list = lists[is_second ? 1 : 0];
            p.begins = dice_.between(0ms, 50ms);
            if (is_second && !is_race) p.begins += later;
            all_begun = std::max(all_begun, p.begins);
        }
        draw_mild_faults(all_begun + later, lists[0] & lists[1]);
    }

    // The nodes of a list are given to a longer one, as an operator does: when no lease of the
    // programs that name the first can be alive. Those with the other may wait for it already.
    void draw_move() {
        dice_ = chance(out_.seed, stream::move);
        if (!dice_.happens(0.05) || !may_be_upset() || has_upheavals_ || out_.has_lists()) return;
        while (out_.nodes.size() < 5) out_.nodes.push_back(out_.nodes.front());
        const auto spread = core::fence_tolerance(out_.ttl_max) * 7 / 20;
        for (node_plan& n : out_.nodes) {
            n.clock_offset = std::clamp<duration>(n.clock_offset, -spread, spread);
        }
        out_.foreigners.clear();  // a quorum of theirs is another one
        out_.tail = 0;
        if (out_.programs.size() < 2) out_.programs.push_back(out_.programs.front());
        const auto all = static_cast<std::uint32_t>((1U << out_.nodes.size()) - 1);
        const std::uint32_t first = some_of(out_.nodes.size(), false);
        const duration begun = 2 * duration(out_.connect_timeout) + 1s;
        const duration stops = begun + dice_.between(0ms, 5s);
        const duration moves =
            stops + duration(out_.ttl_max) * 102 / 100 + begun + dice_.between(0ms, 1s);
        fault stop{.kind = fault_kind::kill, .at = stops};
        fault move{.kind = fault_kind::declare, .at = moves, .nodes = all, .programs = 1U};
        for (std::size_t i = 0; i < out_.programs.size(); ++i) {
            program_plan& p = out_.programs[i];
            const bool is_first = i == 1 || (i > 1 && dice_.happens(0.5));
            if (is_first) {
                p.list = first;
                stop.programs |= 1U << i;
            }
            p.begins = is_first ? dice_.between(0ms, 50ms) : dice_.between(begun, moves - begun);
        }
        draw_mild_faults(moves + out_.aftermath(fault_kind::declare), all);
        stop.lasts = out_.length;
        out_.faults.push_back(stop);
        out_.faults.push_back(move);
    }

    // One after the other, each short, and forgotten before the next.
    void draw_mild_faults(duration at, std::uint32_t shared) {
        constexpr std::array kinds{
            fault_kind::crash_keep, fault_kind::crash_lose, fault_kind::flush,
            fault_kind::freeze,     fault_kind::slow,       fault_kind::flush_scripts,
            fault_kind::loading,    fault_kind::read_only,  fault_kind::out_of_memory,
            fault_kind::partition,  fault_kind::lag,        fault_kind::cut,
            fault_kind::half_open,  fault_kind::pause,      fault_kind::suspend,
            fault_kind::kill,       fault_kind::kill,       fault_kind::close};
        out_.faults.clear();
        for (std::int64_t left = dice_.between(0, 8); left > 0; --left) {
            fault f = draw_fault(dice_.pick(kinds), at);
            f.lasts = std::min(f.lasts, duration(out_.ttl_max) / 4);
            if (forgets(f.kind)) f.nodes = one_of(out_.nodes.size());
            const bool is_the_link = weight(shared) == 1 && (f.nodes & shared) != 0;
            if (forgets(f.kind) && is_the_link) continue;
            add(f);
            at += f.lasts + out_.aftermath(f.kind) + 6s;
        }
        out_.length = at + dice_.between_orders(1s, 10s);
    }

    void draw_nodes() {
        const std::size_t size = or_fewer(
            static_cast<std::size_t>(dice_.pick(std::array{1, 3, 3, 3, 5, 5, 4})), out_.seed);
        const bool some_last = dice_.happens(0.4);
        const auto a = core::fence_tolerance(out_.ttl_max);
        const int spread = static_cast<int>(dice_.below(4));
        const bool has_double = size >= 3 && dice_.happens(0.06);
        const bool is_near = dice_.happens(0.5);
        for (std::size_t i = 0; i < size; ++i) {
            node_plan n;
            n.is_durable = some_last && dice_.happens(0.6);
            if (spread == 1) n.clock_offset = dice_.between(-1ms, 1ms);
            if (spread == 2) n.clock_offset = dice_.between(-a * 7 / 20, a * 7 / 20);
            // A clock that is far off costs its node the vote: the others are a quorum.
            if (spread == 3 && i == 0 && !has_double && size != 2)
                n.clock_offset = dice_.between(-a * 3, a * 3);
            n.drift_ppm = draw_drift();
            n.latency = is_near ? dice_.between(20us, 300us)
                                : dice_.between_orders(50us, duration(out_.node_timeout) / 4);
            out_.nodes.push_back(n);
        }
        if (has_double) {
            out_.double_of = dice_.below(size - 1);
            out_.nodes.back() = out_.nodes[*out_.double_of];
        }
    }

    void draw_programs() {
        const std::size_t size = is_duel_ ? 2 + dice_.below(2) : 1 + dice_.below(is_slow_ ? 2 : 4);
        const auto duel_ttl =
            std::chrono::duration_cast<milliseconds>(dice_.between_orders(50ms, 500ms));
        const duration most =
            is_slow_ ? dice_.between_orders(15s, 15min) : dice_.between_orders(5ms, 5s);
        is_plain_ = out_.within == bounds::safe && !is_slow_ && dice_.happens(0.06);
        const double plain =
            is_plain_ ? 1.0 : (out_.within == bounds::wild && dice_.happens(0.3) ? 0.5 : 0.0);
        for (std::size_t i = 0; i < size; ++i) {
            program_plan p;
            p.begins = dice_.happens(0.7) ? dice_.between(0ms, 50ms)
                                          : dice_.between_orders(1ms, out_.length / 2);
            p.drift_ppm = draw_drift();
            p.workers = 1 + dice_.below(3);
            p.longest_ttl = std::chrono::duration_cast<milliseconds>(
                dice_.between_orders(std::min<duration>(200ms, out_.ttl_max / 4), out_.ttl_max));
            p.longest_think = out_.about == style::sparse ? duration(20s) : most;
            p.has_wanderlust = dice_.happens(0.5);
            if (is_duel_) {
                p.workers = 1;
                p.is_duellist = true;
                p.longest_ttl = duel_ttl;
                p.longest_think = 2ms;
            }
            p.is_fenced = !dice_.happens(plain);
            p.is_guarded = out_.within == bounds::safe || dice_.happens(0.8);
            out_.programs.push_back(p);
        }
        if (!dice_.happens(0.2)) return;
        foreigner_plan f;
        f.begins = dice_.between(0ms, 1s);
        f.ttl = std::chrono::duration_cast<milliseconds>(dice_.between_orders(100ms, 5s));
        f.longest_think =
            is_slow_ ? dice_.between_orders(3s, 3min) : dice_.between_orders(10ms, 10s);
        out_.foreigners.push_back(f);
    }

    void draw_keeper() {
        program_plan p;
        p.drift_ppm = draw_drift();
        p.longest_ttl = std::chrono::duration_cast<milliseconds>(
            dice_.between_orders(duration(out_.ttl_max) / 5, out_.ttl_max));
        p.longest_think = 10ms;
        p.is_keeper = true;
        out_.programs.push_back(p);
    }

    // It does not see the nodes whose clocks are last, and so has another idea of the time than the
    // keeper: its fences are ahead.
    void draw_rival() {
        program_plan p;
        p.drift_ppm = draw_drift();
        p.longest_ttl = out_.programs.front().longest_ttl;
        p.longest_think = 100ms;
        p.is_rival = true;
        out_.programs.push_back(p);
        const std::size_t size = out_.nodes.size();
        if (size < 3 || out_.double_of) return;
        const auto spread = core::fence_tolerance(out_.ttl_max) * 7 / 20;
        for (std::size_t i = 0; i < size; ++i) {
            const auto steps = static_cast<duration::rep>(2 * i);
            out_.nodes[i].clock_offset =
                steps * spread / static_cast<duration::rep>(size - 1) - spread;
        }
        const std::uint32_t last = (1U << (size - out_.quorum())) - 1;
        cut_off(out_, 1U << 1, 0ms, last);
    }

    // One after the other, each given the time to recover; now and then the next comes sooner.
    void draw_rolling_faults() {
        constexpr std::array kinds{
            fault_kind::crash_keep,   fault_kind::crash_lose,    fault_kind::crash_lose,
            fault_kind::crash_rewind, fault_kind::flush,         fault_kind::freeze,
            fault_kind::cut,          fault_kind::half_open,     fault_kind::partition,
            fault_kind::read_only,    fault_kind::flush_scripts, fault_kind::out_of_memory};
        const double haste = dice_.pick(std::array{0.0, 0.2, 0.5});
        const auto settled = 2 * duration(out_.programs.front().longest_ttl) + 1s;
        duration at = out_.aftermath(fault_kind::kill) + settled;
        for (std::int64_t left = dice_.between(3, 20); left > 0; --left) {
            fault f = draw_fault(dice_.pick(kinds), at);
            f.nodes = one_of(out_.nodes.size());
            const duration rest = f.lasts + out_.aftermath(f.kind) + settled;
            at += dice_.happens(haste) ? dice_.between(duration(0), rest) : rest;
            add(f);
        }
        out_.length = at;
    }

    // Each program sees a quorum, often just so, for as long as it lasts.
    void draw_islands() {
        const bool lasts = dice_.happens(0.5);
        for (std::size_t p = 0; p < out_.programs.size(); ++p) {
            for (duration at{0}; at < out_.length;) {
                const std::size_t more = dice_.happens(0.1) ? 1 : 0;
                cut_off(out_, 1U << p, at, minority(0, more));
                fault& f = out_.faults.back();
                if (!lasts) f.lasts = dice_.between_orders(50ms, 2 * duration(out_.ttl_max));
                at += f.lasts;
                if (f.nodes == 0) out_.faults.pop_back();
            }
        }
    }

    // The last program begins while the nodes that it shares with the others have forgotten them,
    // and sees only such as never got a command.
    void draw_latecomer() {
        const auto late = static_cast<std::uint32_t>(out_.programs.size() - 1);
        const auto all = static_cast<std::uint32_t>((1U << out_.nodes.size()) - 1);
        const std::uint32_t unknown = minority(0, 0);
        const std::uint32_t unseen = minority(unknown, 0);
        fault down{.kind = fault_kind::crash_lose, .nodes = all & ~unknown & ~unseen};
        down.at = duration(out_.ttl_max) * 102 / 100 + dice_.between(10ms, 1s);
        down.lasts = dice_.between_orders(1ms, duration(out_.ttl_max) / 10);
        out_.programs[late].begins = down.at + dice_.between(duration(0), down.lasts);
        out_.length = down.at + 2 * duration(out_.ttl_max);
        out_.faults.clear();
        cut_off(out_, (1U << late) - 1, 0ms, unknown);
        cut_off(out_, 1U << late, 0ms, unseen);
        out_.faults.push_back(down);
    }

    // As many nodes as a quorum can do without, and `more`; none of `but`.
    std::uint32_t minority(std::uint32_t but, std::size_t more) {
        const std::size_t size = out_.nodes.size() - out_.quorum() + more;
        std::uint32_t out = 0;
        while (weight(out) < size) out |= one_of(out_.nodes.size()) & ~but;
        return out;
    }

    void draw_faults() {
        // Some kinds only, in each world others.
        std::vector<fault_kind> kinds;
        const double variety = dice_.pick(std::array{0.1, 0.25, 0.6});
        for (std::size_t k = 0; k < common_kinds; ++k) {
            if (dice_.happens(variety)) kinds.push_back(static_cast<fault_kind>(k));
        }
        if (out_.about == style::islands && dice_.happens(0.7)) {
            if (dice_.happens(0.5))
                kinds = {fault_kind::flush};
            else
                kinds = {fault_kind::crash_lose, fault_kind::kill};
        }
        if (out_.about == style::duel && dice_.happens(0.15)) {
            // A program that stops while answers are on their way to it.
            kinds = {fault_kind::pause, fault_kind::suspend, fault_kind::lag};
        } else if (out_.about == style::duel && dice_.happens(0.4)) {
            // What makes commands late, and a node that answers otherwise when they come.
            constexpr std::array late{fault_kind::cut, fault_kind::half_open, fault_kind::partition,
                                      fault_kind::lag};
            constexpr std::array other{fault_kind::read_only, fault_kind::out_of_memory,
                                       fault_kind::flush_scripts, fault_kind::crash_keep};
            kinds = {dice_.pick(late), dice_.pick(late), dice_.pick(other)};
        }
        if (kinds.empty() || dice_.happens(0.02)) return;
        const duration pause =
            is_slow_ ? dice_.between_orders(8s, 8min) : dice_.between_orders(20ms, 5s);
        const bool is_early = dice_.happens(0.2);  // while the cluster is young
        // An early one ends soon, lest most of its time pass in peace.
        if (is_early) out_.length = std::min<duration>(out_.length, 4 * duration(out_.ttl_max));
        for (duration at = dice_.between(0ms, is_early ? duration(200ms) : 2 * pause);
             at < out_.length && out_.faults.size() < 500;
             at += dice_.between(duration(1ms), 2 * pause)) {
            add(draw_fault(dice_.pick(kinds), at));
        }
    }

    // A node stands still, a program that asks it for locks dies, and the node goes on when
    // whatever that has left in its sockets is too old. Drawn apart: all else stays as it is.
    void draw_deaths() {
        chance dice(out_.seed, stream::deaths);
        if (!dice.happens(0.1)) return;
        for (std::int64_t left = dice.between(1, 3); left > 0; --left) {
            const duration before = dice.between_orders(1ms, 500ms);
            fault still{.kind = fault_kind::freeze,
                        .at = dice.between(duration(0), out_.length),
                        .nodes = 1U << dice.below(out_.nodes.size())};
            fault death{.kind = fault_kind::kill,
                        .at = still.at + before,
                        .lasts = dice.between_orders(1ms, 2s),
                        .programs = 1U << dice.below(out_.programs.size())};
            still.lasts = before + out_.good_for() * 21 / 20 + dice.between_orders(1ms, 1s);
            out_.length = std::max(out_.length, still.at + still.lasts + 1ms);
            add(still);
            add(death);
        }
    }

    std::uint32_t some_of(std::size_t size, bool may_be_all) {
        const auto all = static_cast<std::uint32_t>((1U << size) - 1);
        if (size == 1) return 1;
        std::uint32_t bits = 0;
        while (bits == 0 || (!may_be_all && bits == all)) {
            bits = static_cast<std::uint32_t>(dice_.word()) & all;
        }
        return bits;
    }
    std::uint32_t one_of(std::size_t size) { return 1U << dice_.below(size); }

    fault draw_fault(fault_kind kind, duration at) {
        fault f{.kind = kind, .at = at};
        const std::size_t nodes = out_.nodes.size() - (out_.double_of ? 1 : 0);
        const auto ttl = duration(out_.ttl_max);
        f.nodes = dice_.happens(0.8) ? one_of(nodes) : some_of(nodes, true);
        f.programs =
            dice_.happens(0.6) ? one_of(out_.programs.size()) : some_of(out_.programs.size(), true);
        f.lasts = dice_.between_orders(1ms, dice_.happens(0.2) ? 2 * ttl : ttl / 4);
        switch (kind) {
            case fault_kind::slow:
            case fault_kind::lag:
                f.amount = dice_.between_orders(100us, 4 * duration(out_.node_timeout));
                break;
            case fault_kind::step_clock:
                // A key may run out early by no more than a lease is shortened for drift.
                f.amount = out_.within == bounds::safe ? dice_.between(-900us, 900us)
                                                       : dice_.between(-2 * ttl, 2 * ttl);
                break;
            case fault_kind::pause:
            case fault_kind::suspend:
                if (is_duel_) {  // about as long as their leases
                    const duration lease = out_.programs.front().longest_ttl;
                    f.lasts = dice_.between(lease / 4, 2 * lease);
                }
                break;
            case fault_kind::partition:
                f.to_nodes = dice_.happens(0.7);
                f.from_nodes = !f.to_nodes || dice_.happens(0.6);
                break;
            default: break;
        }
        return f;
    }

    // In a safe world fewer than a quorum forget within one ttl_max, on whatever clock, and a clock
    // steps once within it.
    void add(fault f) {
        if (is_plain_ && forgets(f.kind)) return;  // no guard protects what was forgotten
        if (out_.double_of && f.kind < fault_kind::partition) {
            const std::uint32_t last = 1U << (out_.nodes.size() - 1);
            if ((f.nodes & last) != 0) f.nodes = (f.nodes & ~last) | 1U << *out_.double_of;
        }
        if (out_.within == bounds::safe && (forgets(f.kind) || f.kind == fault_kind::step_clock)) {
            const duration apart = duration(out_.ttl_max) * 104 / 100 + f.lasts + 1s;
            std::uint32_t recent = f.nodes;
            for (const fault& g : out_.faults) {
                if (g.at + g.lasts + apart <= f.at) continue;
                if (g.kind == fault_kind::step_clock && f.kind == g.kind &&
                    (g.nodes & f.nodes) != 0) {
                    return;
                }
                if (forgets(g.kind) && forgets(f.kind)) recent |= g.nodes;
            }
            if (forgets(f.kind) && weight(recent) >= out_.quorum()) return;
        }
        out_.faults.push_back(f);
    }

    // One server that the list names twice counts as both.
    std::size_t weight(std::uint32_t nodes) const {
        std::size_t n = 0;
        for (std::size_t i = 0; i < out_.nodes.size(); ++i) {
            const bool is_double = out_.double_of && i + 1 == out_.nodes.size();
            n += nodes >> (is_double ? *out_.double_of : i) & 1U;
        }
        return n;
    }

    chance dice_;
    plan out_;
    bool is_slow_ = false;
    bool is_duel_ = false;
    bool has_upheavals_ = false;
    bool is_plain_ = false;  // nobody has fences, and nothing is forgotten
};

}  // namespace


std::vector<std::size_t> plan::nodes_of(std::size_t program) const {
    return nodes_in(programs[program].list | programs[program].list_after);
}

std::vector<std::size_t> plan::nodes_in(std::uint32_t list) const {
    std::vector<std::size_t> out;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        if ((list >> n & 1U) != 0) out.push_back(n);
    }
    return out;
}

bool plan::has_readers() const noexcept {
    return std::any_of(programs.begin(), programs.end(),
                       [](const program_plan& p) { return p.reads > 0; });
}

bool plan::has_downgrades() const noexcept {
    return std::any_of(programs.begin(), programs.end(),
                       [](const program_plan& p) { return p.downgrades > 0; });
}

bool plan::has_permits() const noexcept {
    return std::any_of(programs.begin(), programs.end(),
                       [](const program_plan& p) { return p.takes_permits > 0; });
}

bool plan::has_least_holds() const noexcept {
    return std::any_of(programs.begin(), programs.end(),
                       [](const program_plan& p) { return p.keeps > 0; });
}

bool plan::has_tokens() const noexcept {
    return std::any_of(programs.begin(), programs.end(),
                       [](const program_plan& p) { return p.hands_over > 0; });
}

bool plan::has_errand(errand what) const noexcept {
    return std::any_of(programs.begin(), programs.end(),
                       [what](const program_plan& p) { return p.does == what; });
}

bool plan::has_elections() const noexcept {
    return std::any_of(programs.begin(), programs.end(),
                       [](const program_plan& p) { return p.is_candidate; });
}

bool plan::has_deletions() const noexcept {
    return within == bounds::safe &&
           std::any_of(faults.begin(), faults.end(),
                       [](const fault& f) { return deletes_keys(f.kind); });
}

bool plan::has_ttl_maxes() const noexcept {
    return std::any_of(programs.begin(), programs.end(), [this](const program_plan& p) {
        return !p.is_brief() && p.ttl_max > milliseconds(0) && p.ttl_max != ttl_max;
    });
}

bool plan::has_other_files() const noexcept {
    return std::any_of(faults.begin(), faults.end(),
                       [](const fault& f) { return f.kind == fault_kind::swap_files; });
}

bool plan::has_lists() const noexcept {
    const std::uint32_t all = (1U << nodes.size()) - 1;
    return std::any_of(programs.begin(), programs.end(), [all](const program_plan& p) {
        return !p.is_brief() && (p.list & all) != all;
    });
}

duration plan::quiet() const noexcept {
    return 3s + 12 * duration(longest_node_timeout()) + 3 * duration(connect_timeout) +
           (tail > 0 ? tail_delay : duration(0));
}

duration plan::aftermath(fault_kind kind) const noexcept {
    const duration seen =
        quiet() + 5s + std::max<duration>(connect_timeout, 10 * longest_node_timeout());
    switch (kind) {
        case fault_kind::crash_keep:
        case fault_kind::crash_lose:
        case fault_kind::crash_rewind:
        case fault_kind::flush:
        case fault_kind::swap_files:
        case fault_kind::step_clock:
        case fault_kind::close:
        case fault_kind::kill:  // its successor may have to wait for every node's quarantine
            return seen + duration(ttl_max) * 105 / 100;
        case fault_kind::copy:
        case fault_kind::read_only:  // replicas are looked at every five seconds only
            return seen + 6s + duration(ttl_max) * 105 / 100;
        default: return seen;
    }
}

duration plan::in_turn() const noexcept {
    duration round_trip{};
    for (const node_plan& n : nodes) round_trip = std::max(round_trip, n.longest_round_trip());
    std::size_t workers = 0;
    bool is_plain = false;
    for (const program_plan& p : programs) {
        workers += p.workers;
        is_plain = is_plain || !p.is_fenced;
    }
    // A program without fences has no queue, and rests between two tries.
    if (is_plain) return 30s;
    // Each turn: two rounds at most, the release, and the word of it. Before the first, connections
    // are made, and votes may be split.
    return static_cast<std::int64_t>(workers) * (1ms + 4 * round_trip) + 10 * round_trip + 200ms;
}

duration plan::longest_split() const noexcept {
    duration round_trip{};
    for (const node_plan& n : nodes) round_trip = std::max(round_trip, n.longest_round_trip());
    // It was measured when the node was connected: perhaps while that stood still, or was slow.
    for (const fault& f : faults) {
        if (f.kind == fault_kind::slow) round_trip = std::max(round_trip, 2 * f.amount);
        if (f.kind == fault_kind::freeze) {
            round_trip = std::max(round_trip, std::min<duration>(f.lasts, connect_timeout));
        }
    }
    round_trip = std::min<duration>(round_trip, longest_node_timeout());
    using core::split_votes;
    return std::max(split_votes::shortest_time, split_votes::most_round_trips * round_trip);
}

duration plan::good_for() const noexcept {
    duration longest{};  // between two looks at a clock, and so ever more wrong
    duration pause{};
    for (const fault& f : faults) {
        longest = std::max(longest, f.lasts);
        const bool is_pause = f.kind == fault_kind::pause || f.kind == fault_kind::suspend;
        if (is_pause) pause = std::max(pause, f.lasts);
    }
    const duration good = std::max<duration>(1s, 4 * duration(node_timeout));
    return good + good / 50 + duration(connect_timeout) + 2 * pause + longest / 50 + 200ms;
}

bool plan::is_amnesia_possible() const noexcept {
    return within == bounds::wild ||
           std::any_of(faults.begin(), faults.end(), [](const fault& f) {
               return forgets(f.kind) || f.kind == fault_kind::copy || f.is_leap();
           });
}

plan draw(std::uint64_t seed) { return drawing(seed).draw(); }

}  // namespace redlock::simulation
