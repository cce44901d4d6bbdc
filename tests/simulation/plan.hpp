// A world before it begins: its programs and what will befall them; knows no machine of the
// product.
// SPDX-License-Identifier: MIT
//
// All of it is drawn from the seed in advance, so that a world can be run again with less in it.
#pragma once

#include "core/connection.hpp"
#include "simulation/chance.hpp"
#include "simulation/schedule.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::simulation {

using std::chrono::milliseconds;

/// Whether the faults stay inside the assumptions of the guarantees.
enum class bounds : std::uint8_t {
    safe,  ///< They do: every promise must hold.
    wild,  ///< They don't: only the promises that need no assumption are checked.
};
inline constexpr std::array bounds_names{"safe", "wild"};
constexpr const auto& names_of(bounds) noexcept { return bounds_names; }

enum class fault_kind : std::uint8_t {
    crash_keep,    ///< The server's process dies, and comes back with its data.
    crash_lose,    ///< It comes back without.
    crash_rewind,  ///< It comes back with those of an earlier moment.
    freeze,        ///< It is stopped and goes on.
    slow,          ///< Each command takes `amount`.
    flush,
    flush_scripts,
    out_of_memory,
    loading,
    read_only,   ///< A replica for a while.
    step_clock,  ///< By `amount`, which may be negative.
    partition,   ///< Nothing passes between `programs` and `nodes`, in one way or both.
    lag,         ///< Everything on the way to and from `nodes` takes `amount` longer.
    cut,         ///< Connections between `programs` and `nodes` break; both ends notice.
    half_open,   ///< They break; nobody notices.
    deafen,      ///< Those break over which a program learns what others give back.
    pause,       ///< A program is stopped, and its clocks go on.
    suspend,     ///< Its machine is, and one of its clocks with it.
    kill,        ///< It dies, and another of its name starts.
    close,       ///< It closes its client in the middle of things, and begins again.
    copy,        ///< A replica for a while, then a master with older data, in one process.
    stall,       ///< A program and all of its clocks stand still: its host paused its machine.
    nap,         ///< A pause that is so short that it must cost a program no vote.
    declare,  ///< `redlock init`: an operator gives all `nodes` to the list of one of `programs`.
    evict,    ///< The keys of all locks are gone, and nothing else; no client can see it.
    hitch,    ///< A server is stopped for so short a time that it must cost no vote.
    swap_files,  ///< The server restarts with `appendonly` set the other way, and loads the files
                 ///< that this setting wrote last: none, where it was never set so before.
    write_fence,  ///< For a while a fence that is far ahead stands on `nodes`, as written by hand.
    visit,       ///< Each of `programs`, which are brief, begins, does its errand and ends.
    erase,       ///< As `evict`, and the fences are gone, too: an operator deletes by hand.
    slow_list,   ///< Answers to CLIENT LIST take `amount`, and with them what follows on the way.
};
/// In their order.
inline constexpr std::array fault_names{
    "crash_keep", "crash_lose", "crash_rewind", "freeze", "slow", "flush", "flush_scripts",
    "out_of_memory", "loading", "read_only", "step_clock", "partition", "lag", "cut",
    "half_open", "deafen", "pause", "suspend", "kill", "close", "copy", "stall", "nap",
    "declare", "evict", "hitch", "swap_files", "write_fence", "visit", "erase", "slow_list"};
static_assert(fault_names.size() == static_cast<std::size_t>(fault_kind::slow_list) + 1);
constexpr const auto& names_of(fault_kind) noexcept { return fault_names; }
/// Whether all is to be as if it had not happened.
constexpr bool is_slight(fault_kind k) noexcept {
    return k == fault_kind::nap || k == fault_kind::hitch || k == fault_kind::slow_list;
}
/// Whether keys of locks are gone. No client can know that, and it costs no vote.
constexpr bool deletes_keys(fault_kind k) noexcept {
    return k == fault_kind::evict || k == fault_kind::erase;
}
/// Whether it befalls programs, and no node.
constexpr bool is_of_program(fault_kind k) noexcept {
    return (k >= fault_kind::pause && k < fault_kind::declare && k != fault_kind::copy) ||
           k == fault_kind::visit;
}

/// Whether a node comes back without its data, or with older ones.
constexpr bool forgets(fault_kind k) noexcept {
    return k == fault_kind::crash_lose || k == fault_kind::crash_rewind ||
           k == fault_kind::flush || k == fault_kind::swap_files;
}

/// What a world is mostly about.
enum class style : std::uint8_t {
    mixed,
    slow,     ///< Hours with little in them, and not moments with much.
    duel,     ///< Two or three about one lock, to the millisecond.
    islands,  ///< Everybody sees some of the nodes only, and each of them others.
    sparse,   ///< So seldom that the nodes forget the fences in between.
    rolling,  ///< One lease that is kept, while one node after the other is restarted, and perhaps
              ///< another program tries to get it.
};
inline constexpr std::array style_names{"mixed", "slow", "duel", "islands", "sparse", "rolling"};
static_assert(style_names.size() == static_cast<std::size_t>(style::rolling) + 1);
constexpr const auto& names_of(style) noexcept { return style_names; }

inline constexpr std::uint32_t all_nodes = ~std::uint32_t{0};

struct fault {
    fault_kind kind{};
    duration at{};               ///< After the beginning.
    duration lasts{};            ///< Of those that end by themselves.
    std::uint32_t nodes = 0;     ///< As bits.
    std::uint32_t programs = 0;  ///< As bits.
    duration amount{};
    bool to_nodes = true;    ///< partition: this way
    bool from_nodes = true;  ///< partition: that way
    bool cuts = false;       ///< copy: connections break at its end
    /// By more than a lease is shortened for drift: the node counts as one that forgets.
    bool is_leap() const noexcept {
        return kind == fault_kind::step_clock && std::chrono::abs(amount) > milliseconds(1);
    }
};

struct node_plan {
    bool is_durable = false;
    duration clock_offset{};
    std::int64_t drift_ppm = 0;
    duration latency{};  ///< One way, at best.

    /// Where nothing is wrong: each way takes up to twice as long as at best.
    duration longest_round_trip() const noexcept { return 2 * 2 * latency; }
};

/// What a brief program does in each of its processes, as a command of `redlock` does it.
enum class errand : std::uint8_t {
    none,    ///< It is not brief: it has workers.
    token,   ///< Extends the lease of a token that was handed over, or releases it.
    init,    ///< Declares the nodes of its list new.
    revoke,  ///< Takes a resource from its holders: `release --force`.
    look,    ///< Queries the holders of all resources, and which there are.
    watch,   ///< Queries the holders of a resource, again and again.
    commit,  ///< Ends a change of the list of nodes, or gives it up.
};
inline constexpr std::array errand_names{
    "nothing", "token", "init", "revoke", "look", "watch", "commit"};
static_assert(errand_names.size() == static_cast<std::size_t>(errand::commit) + 1);
constexpr const auto& names_of(errand) noexcept { return errand_names; }

/// One program with one client and some workers, each busy with one lock at a time.
struct program_plan {
    duration begins{};
    std::int64_t drift_ppm = 0;
    std::size_t workers = 1;
    milliseconds longest_ttl{};
    duration longest_think{};
    bool has_wanderlust = false;  ///< Its ttls change from lease to lease.
    bool is_duellist = false;  ///< Always wants the lock, waits for it, and keeps it to the last.
    bool is_keeper = false;    ///< Keeps its lease for long, by renewal alone.
    bool is_rival = false;     ///< Tries to get the keeper's lock again and again, and never waits.
    /// Campaigns without a limit, and leads until it resigns or loses its lease.
    bool is_candidate = false;
    double reads = 0;          ///< How often it would share the lock.
    double takes_slots = 0;    ///< How often it would have a slot.
    std::uint16_t slots = 0;   ///< So many there are, as it says.
    double takes_permits = 0;  ///< How often it would have several of them at once.
    double calls = 0;          ///< How often it makes a call of the rate limiter.
    double takes_several = 0;  ///< How often it would have several resources at once.
    double keeps = 0;          ///< How often it would keep others out for a while in any case.
    double downgrades = 0;     ///< How often it goes on as a reader where it is a writer.
    double hands_over = 0;     ///< How often it hands over its lease's token, or takes one over.
    errand does = errand::none;
    bool changes_tokens = false;  ///< It writes fences that are far ahead into tokens that it uses.
    bool is_fenced = true;
    bool is_guarded = true;
    bool looks_first = false;  ///< It keeps no records before its first acquire.
    std::uint32_t list = all_nodes;  ///< The nodes that it names, as bits.
    /// Where the list changes: the nodes of the new one, as bits; 0: it does not.
    std::uint32_t list_after = 0;
    bool gives_up = false;  ///< commit: the old list is to stand.
    duration ends{};        ///< It stops then, and does not come back; 0: it stays.
    milliseconds ttl_max{};          ///< 0: that of the world.

    bool is_joint() const noexcept { return list_after != 0 && list_after != list; }
    bool is_brief() const noexcept { return does != errand::none; }
    bool only_looks() const noexcept { return does == errand::look || does == errand::watch; }
};

/// Somebody with another library: SET NX PX, and the published compare-and-delete.
struct foreigner_plan {
    duration begins{};
    milliseconds ttl{};
    duration longest_think{};
    std::uint32_t list = all_nodes;  ///< The nodes that it names, as bits.
    duration ends{};                 ///< It asks for nothing more from then on; 0: it stays.
};

struct plan {
    std::uint64_t seed = 0;
    bounds within = bounds::safe;
    style about = style::mixed;
    duration length{};            ///< Of the work and the faults; peace follows.
    milliseconds node_timeout{};  ///< 0: by measurement.
    milliseconds connect_timeout{};
    milliseconds ttl_max{};
    double drift_factor = 0.01;
    milliseconds drift_min{2};
    std::size_t resources = 1;
    std::uint16_t slots = 0;  ///< Of each resource, at most; 0: none is taken.
    std::uint16_t limit = 0;  ///< So many calls per `period`, of all programs; 0: none are made.
    milliseconds period{};
    double tail = 0;          ///< How often a message takes much longer than usual.
    duration tail_delay{};
    /// All programs have one name, and their workers give the same owners: containers, of which one
    /// takes another's place while that still runs.
    bool are_twins = false;
    bool has_notes = false;  // every other lease has one
    std::optional<std::size_t> double_of{};  ///< The last node of the list is this one once more.
    std::vector<node_plan> nodes{};
    std::vector<program_plan> programs{};
    std::vector<foreigner_plan> foreigners{};
    std::vector<fault> faults{};
    /// So many at most are granted a lock before one that waits for it much longer; 0: any number.
    std::size_t most_turns = 0;
    /// A program that begins from then on is never refused because too few nodes have a vote.
    std::optional<duration> open_from{};
    /// In a world of candidates: for so long at most nobody leads while one of them has a quorum.
    std::optional<duration> longest_vacancy{};
    /// At each multiple of it all programs try for one lock, and do not wait; 0: never.
    duration between_bursts{};
    bool changes_lists = false;  ///< Operators change the list of nodes.
    bool sets_back = false;      ///< The clocks of all nodes go back while no program is there.
    bool has_detours = false;    ///< Requests overtake acquires that a broken connection delays.
    /// That nobody is refused, or waits in vain, is not promised here.
    bool is_only_safe = false;
    std::string promise{};  ///< Nothing else is judged; empty: everything is.

    /// When the work and the faults end.
    time_point ends() const noexcept { return beginning + length; }
    std::size_t quorum() const noexcept { return nodes.size() / 2 + 1; }
    /// Whether some ask to share a lock, for a slot, or to keep others out for a while.
    bool has_readers() const noexcept;
    /// Whether some writers go on as readers.
    bool has_downgrades() const noexcept;
    bool has_slots() const noexcept { return slots != 0; }
    /// Whether some take several slots at once.
    bool has_permits() const noexcept;
    bool has_least_holds() const noexcept;
    /// Whether some hand over the tokens of their leases.
    bool has_tokens() const noexcept;
    /// Whether some program does this in a process of its own.
    bool has_errand(errand what) const noexcept;
    /// Whether servers restart with other files than those of the life before.
    bool has_other_files() const noexcept;
    /// Whether programs that ask for locks have different ttl_max.
    bool has_ttl_maxes() const noexcept;
    /// The nodes in a program's list, and in one that is written as bits.
    std::vector<std::size_t> nodes_of(std::size_t program) const;
    std::vector<std::size_t> nodes_in(std::uint32_t list) const;
    /// Whether some programs that ask for locks name other nodes than the rest.
    bool has_lists() const noexcept;
    /// Whether some campaign to lead.
    bool has_elections() const noexcept;
    /// Whether an operator deletes keys of locks, where all other promises hold.
    bool has_deletions() const noexcept;
    bool has_bursts() const noexcept { return between_bursts > duration(0); }
    /// For so long a try without a wait may be repeated where votes are split.
    duration longest_split() const noexcept;
    /// That any node may take over one command.
    milliseconds longest_node_timeout() const noexcept {
        return node_timeout > milliseconds(0) ? node_timeout : milliseconds(1'000);
    }
    /// That a node may be on the way to serve, or to fail, while commands wait for it.
    duration longest_opening() const noexcept {
        return core::reconnection::longest_opening(connect_timeout);
    }
    /// Until connections stand again and what is owed has been paid: the longest rest between two
    /// tries, and the time after which a silent connection is given up.
    duration quiet() const noexcept;
    /// How long after its end a fault may still show: an idle connection is looked at every five
    /// seconds, and then given up after a while.
    duration aftermath(fault_kind kind) const noexcept;
    /// Within that time of its end a stall is seen, by a look at the nodes' clocks.
    duration until_stall_is_seen() const noexcept {
        return milliseconds(6'000) + 4 * duration(longest_node_timeout());
    }
    /// How long it takes, when all is well, until each worker has had a lock for a millisecond
    /// which all ask for at once.
    duration in_turn() const noexcept;
    /// How long after the death of a program a command of it may still take a key: for as long as
    /// it is good, and as much longer as the program was wrong about the node's clock.
    duration good_for() const noexcept;
    /// Whether nodes that restart may forget foreign locks, which no guard protects.
    bool is_amnesia_possible() const noexcept;
};

template <class E>
    requires requires(E e) { names_of(e); }
const char* name_of(E e) noexcept {
    return names_of(e).at(static_cast<std::size_t>(e));
}

/// The world of a seed.
plan draw(std::uint64_t seed);

}  // namespace redlock::simulation
