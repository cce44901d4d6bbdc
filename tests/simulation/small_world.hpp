// Three nodes, two or three programs, and what may happen next in each moment; decides nothing of
// it.
// SPDX-License-Identifier: MIT
//
// Nothing arrives by itself, and time stands still: the driver of such a world says what happens.
// A handshake is one event.
#pragma once

#include "simulation/actor.hpp"
#include "simulation/health.hpp"
#include "simulation/network.hpp"
#include "simulation/plan.hpp"
#include "simulation/program.hpp"
#include "simulation/lease_checker.hpp"
#include "simulation/schedule.hpp"
#include "simulation/server.hpp"
#include "simulation/story.hpp"

#include <redlock/options.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace redlock::simulation {

/// What is a number happens so often at most, at any moment; the rest
/// happens in each order.
struct small_world {
    static constexpr std::size_t nodes = 3;
    static constexpr std::size_t most_programs = 3;
    /// Nodes as bits. Each list begins with n0 and has no gap.
    struct node_list {
        std::uint32_t now = all_nodes;
        std::uint32_t after = 0;  ///< The list that follows; 0: none.
    };

    std::string name;
    bool is_deep = false;  ///< Only on request.
    bool is_long = false;  ///< More than 250,000 steps, and not deep: for the whole tests.
    std::size_t programs = 2;
    std::array<acquire_options, most_programs> asks{};  ///< What each asks for, but for the ttl.
    /// How often each asks, and gives back what it got.
    std::array<int, most_programs> turns{1, 1, 1};
    /// Until p0 first had its turn; p0, the second time, until p1 had.
    std::array<bool, most_programs> waits{};
    std::array<bool, most_programs> keeps{};  ///< These give back in the end only.
    std::array<bool, most_programs> holds{};  ///< These have got it before the search begins.
    /// The nodes that each cannot reach until the end, as bits.
    std::array<std::uint32_t, most_programs> unseen{};
    std::array<node_list, most_programs> lists{};
    /// These end the change of their list, and acquire nothing. One of the others has the old list.
    std::array<bool, most_programs> commits{};
    std::array<bool, most_programs> is_late{};  ///< These start when they ask for the lock.
    std::chrono::milliseconds ttl{2'000};
    std::size_t together = 1;  ///< In some order so many hold at once, or the world shows nothing.
    std::uint64_t seed = 0;    ///< Of what the programs draw: owners, and which slot they ask for.
    int cancels = 0;     ///< p0 calls off its acquire.
    int extensions = 0;  ///< p0 extends what it holds.
    int breaks = 0;      ///< The connection of p0 and n0. What was sent comes late, or never.
    int restarts = 0;    ///< n0 dies, and is back at once and empty.
    int replicas = 0;    ///< n0 is a replica for a while.
    int steps = 0;       ///< n0's clock leaps ahead of the ttl, so that its keys run out.
    int leaps = 0;       ///< Nothing arrives until a program's timer rings.
    int quarantines = 0; ///< Nothing arrives until a quarantine and each lease are over.
    /// From this one on a node is like the next: what p0 hears of first is the first of them.
    std::size_t first_alike = 0;

    bool changes_lists() const noexcept {
        return std::any_of(commits.begin(), commits.end(), [](bool is) { return is; });
    }
};

/// Something that may happen next.
struct action {
    static constexpr std::size_t nodes = small_world::nodes;
    static constexpr std::size_t most_programs = small_world::most_programs;

    enum class kind : std::uint8_t {
        pass,
        lose,
        ask,
        cancel,
        extend,
        commit,
        give_back,
        break_off,
        restart,
        demote,
        promote,
        step,
        leap,
        quarantine
    };
    kind what{};
    std::size_t program = 0;
    std::size_t node = 0;
    delivery of{};
    bool is_idle = false;  ///< The program does nothing about what it hears.

    bool is_same(const action& other) const noexcept {
        return what == other.what && program == other.program && node == other.node &&
               of.is_same_way(other.of);
    }
    auto find_in(const std::vector<action>& list) const noexcept {
        return std::find_if(list.begin(), list.end(), [&](const action& a) { return is_same(a); });
    }
    bool is_in(const std::vector<action>& list) const noexcept {
        return find_in(list) != list.end();
    }
    /// It need not happen.
    bool is_optional() const noexcept {
        return what != kind::pass && what != kind::ask && what != kind::commit &&
               what != kind::give_back;
    }
    /// It could happen, or could not, before what touched its program last.
    bool is_own() const noexcept {
        return what == kind::ask || what == kind::commit || what == kind::give_back ||
               what == kind::cancel || what == kind::extend || what == kind::break_off;
    }
    /// The event without which it could not happen, other than those that touch the same; 0: none.
    std::size_t cause() const noexcept { return what == kind::lose ? of.left_for : of.cause; }

    bool is_independent_of(const action& other) const noexcept {
        return (touches() & other.touches()) == 0;
    }
    /// Whether it must stay behind `earlier`, if it came after it. What is idle is so only after
    /// what decided the acquire.
    bool depends_on(const action& earlier) const noexcept {
        const bool may_decide = earlier.what == kind::cancel || earlier.what == kind::pass;
        if (is_idle && may_decide && (earlier.touches() & 1U << (nodes + program)) != 0)
            return true;
        return !is_independent_of(earlier);
    }
    bool is_same_way(const action& other) const noexcept {
        return what == kind::pass && other.what == kind::pass && of.is_same_way(other.of);
    }
    std::string describe() const {
        const std::string p = "p" + std::to_string(program);
        const std::string n = "n" + std::to_string(node);
        switch (what) {
            case kind::lose: return "what " + p + " sent to " + n + " before the break is lost";
            case kind::ask: return p + " asks for the lock";
            case kind::cancel: return p + " calls off its acquire";
            case kind::extend: return p + " extends its lease";
            case kind::commit: return p + " ends the change of its list";
            case kind::give_back: return p + " gives the lock back";
            case kind::break_off: return "the connection of " + p + " and " + n + " breaks";
            case kind::restart: return n + " dies and is back, empty";
            case kind::demote: return n + " is a replica";
            case kind::promote: return n + " is a master again";
            case kind::step: return n + "'s clock leaps ahead";
            case kind::leap: return "nothing arrives until a timer rings";
            case kind::quarantine: return "nothing arrives for a quarantine";
            case kind::pass: break;
        }
        if (of.what == delivery::kind::dial) return p + " connects to " + n;
        if (of.what == delivery::kind::to_program) return p + " hears " + n;
        return n + " hears " + p + (of.left_for != 0 ? ", late" : "");
    }

private:
    /// The programs and nodes that it touches, as bits; where it does nothing there, only the way.
    unsigned touches() const noexcept {
        const unsigned to_node = 1U << node;
        const unsigned to_program = 1U << (nodes + program);
        switch (what) {
            case kind::leap:
            case kind::quarantine: return ~0U;
            case kind::lose:
            case kind::restart:
            case kind::demote:
            case kind::promote:
            case kind::step: return to_node;
            case kind::pass:
                if (is_idle) return 1U << (nodes + most_programs + program * nodes + node);
                if (of.what == delivery::kind::dial) return to_node | to_program;
                return of.what == delivery::kind::to_node ? to_node : to_program;
            default: return to_program;
        }
    }
};
using actions = std::vector<action>;

/// One order, from its beginning.
class passage {
public:
    static constexpr std::size_t nodes = small_world::nodes;
    static constexpr std::size_t most_programs = small_world::most_programs;
    /// What is the same in all of them.
    static plan terms(const small_world& in);

    passage(const small_world& in, const plan& terms, story& log);
    ~passage();
    passage(const passage&) = delete;
    passage& operator=(const passage&) = delete;

    /// What may happen next with different effects; nothing where all that must happen has.
    actions choices() const;
    void perform(const action& next);
    /// Everything arrives, time passes, and all must be well.
    void finish();
    const std::optional<violation>& verdict() const noexcept { return referee_.verdict(); }
    /// How many held at once, at most.
    std::size_t together() const noexcept { return together_; }

private:
    void run_until(time_point limit) {
        while (!verdict() && when_.turn(limit)) {
        }
        if (!verdict()) when_.run_until(limit);
    }
    bool may_pass(const delivery& d) const;
    bool matters(const delivery& d) const;
    bool may_leap() const;
    bool can_acquire(std::size_t p) const;
    void add_own(actions& out, std::size_t p, bool& must_go_on) const;
    void greet(const delivery& over);
    void cut_off(bool is_end);
    bool prepares_change(std::size_t p) const;
    void prepare_change();
    void take_first();
    void set_replica(bool is);
    void check_litter();

    small_world in_;  // and how much of it is left
    bool may_forget_;  // n0
    bool may_be_late_;  // an answer
    story* log_;
    schedule when_;
    counters counts_;
    lease_checker referee_;
    std::vector<std::unique_ptr<server>> servers_;
    network net_;
    health health_;
    token_box tokens_;
    std::vector<std::unique_ptr<program>> programs_;
    std::vector<actor> actors_;
    std::array<bool, nodes> has_answered_{};  // p0, of each node
    bool is_replica_ = false;  // n0
    std::size_t events_ = 0;
    std::size_t together_ = 0;
    // The event in which each first gave back, or was refused; 0: none yet.
    std::array<std::size_t, most_programs> parted_for_{};
};

}  // namespace redlock::simulation
