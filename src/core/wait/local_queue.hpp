// Who waits for which resource in this program, first come, first served; decides nothing by time.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/quorum.hpp"

#include <boost/intrusive/list.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace redlock::core {

class local_queues;

/// Somebody in a line, or in the lines of several resources that it wants at once. Embedded in its
/// owner: standing in one line allocates nothing. Only those in front may talk to the nodes, in
/// their turn: from `on_turn` until they sleep, rest or leave. The first is in front, and behind it
/// as many as may hold the resource together with it. In several lines it has to be in front in
/// all; since it joins them all at once, somebody always is.
class waiter {
public:
    waiter() = default;
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    bool is_queued() const noexcept { return stand_.line != nullptr; }
    /// A node says that the resource, or a slot of it, is free, or shared by those that would share
    /// it, and that this client is first there. `slot`: that is free.
    virtual void on_wake(std::size_t node, std::string_view resource,
                         std::optional<std::uint16_t> slot, time_point now) = 0;

protected:
    ~waiter() = default;

private:
    friend class local_queues;
    /// It is in front, and the resource is not held here alone: called once for each time that this
    /// becomes true, or is true again since the resource was given back here, or it asked.
    virtual void on_turn(time_point now) = 0;

    using hook = boost::intrusive::list_member_hook<>;
    struct queue;
    /// Where it stands in one line.
    struct stand {
        waiter* who = nullptr;
        queue* line = nullptr;
        bool is_in_front = false;
        hook listed{};
    };
    enum class state : std::uint8_t { idle, has_turn, rests, rests_in_turn };

    template <class F>
    void for_each_stand(F what) {
        what(stand_);
        for (std::size_t i = 0; i < more_count_; ++i) what(more_[i]);
    }

    stand stand_;
    std::unique_ptr<stand[]> more_;  // in the lines of the resources but the first
    std::size_t more_count_ = 0;
    std::size_t behind_ = 0;  // the lines in which it is not in front
    state state_ = state::idle;
    std::size_t places_ = 1;  // so many may hold the resource at once, by this waiter
    hook due_;  // linked: it is to be told of its turn
};

struct waiter::queue {
    using list =
        boost::intrusive::list<stand, boost::intrusive::member_hook<stand, hook, &stand::listed>>;

    list waiters;
    std::string_view resource;  // the name under which it stands among all lines
    bool is_taken = false;      // the resource is held here, by one that does not share it
    std::size_t sharing = 0;    // hold it here, all at once
    std::size_t in_front = 0;   // of the waiters: those at the head of the line
    stand* last_in_front = nullptr;
    std::size_t alone = 0;      // of the waiters: those that would not share it
    std::vector<std::uint16_t> freed_slots{};  // that nobody here has asked for since
};

/// All lines of one client. Its memory is that of the waiters and one entry for each resource that
/// is waited for, or held by who had waited. However many resources are waited for, only so many
/// have their turn at once: more than the nodes can answer in time would all be answered too late.
class local_queues {
public:
    static constexpr std::size_t most_turns = 64;
    /// Of places: those of readers.
    static constexpr std::size_t any_number = static_cast<std::size_t>(-1);

    local_queues() = default;
    local_queues(const local_queues&) = delete;
    local_queues& operator=(const local_queues&) = delete;
    ~local_queues() { clear(); }

    /// At the end of the lines of all these resources, which are distinct, and not none. Whoever is in
    /// front that way gets its turn at the next `give_turns`. `places`: so many may hold a resource at
    /// once. 1: it would hold it alone.
    void join(waiter& who, std::span<const std::string> resources, std::size_t places = 1);
    /// From whatever place; does nothing for who stands in no line.
    void leave(waiter& who) noexcept;
    /// Its turn is over, and it waits for a wake-up or an instant that it was told.
    void sleeps(waiter& who) noexcept { set(who, waiter::state::idle); }
    /// The nodes did not tell it what to wait for, and it will ask for another turn before long,
    /// unless it `sleeps` first. Where no quorum can be asked, this turn lasts until then: others
    /// would fare no better.
    void rests(waiter& who, bool can_be_asked) noexcept {
        set(who, can_be_asked ? waiter::state::rests : waiter::state::rests_in_turn);
    }
    /// How many rest.
    std::size_t resting() const noexcept { return resting_; }
    /// One in front wants a turn; one that it still has is over.
    void ask(waiter& who) noexcept {
        assert(who.is_queued());
        sleeps(who);
        now_due(who);
    }
    /// One in front has got the resource: it leaves, and those that can't share it with it wait
    /// until `freed`.
    void taken(waiter& who) noexcept;
    /// A lease of this client is over, whether or not it was waited for. Where any number held the
    /// resource together, the last of them frees it. `slot`: that it was.
    void freed(std::string_view resource, std::size_t places = 1, std::uint16_t slot = 0) noexcept;
    /// Takes out the slot that this client freed last, and that no try has asked for since: the
    /// next try should ask for it.
    std::optional<std::uint16_t> freed_slot(std::string_view resource) noexcept;
    /// Who is first for the resource; null where nobody waits, or while one holds it here alone.
    waiter* first(std::string_view resource) const noexcept;
    bool is_in_front(const waiter& who) const noexcept;
    /// Passes what a node said on to all in front.
    void wake(std::string_view resource, std::size_t node, std::optional<std::uint16_t> slot,
              time_point now);
    /// Whether somebody waits that one which comes now must not pass.
    bool is_waited_for(std::string_view resource, std::size_t places = 1) const noexcept;
    /// Whether nothing is waited for, or held by who had waited.
    bool empty() const noexcept { return queues_.empty(); }
    /// Tells everybody whose turn it is, in the order in which it came; also those whose turn it
    /// becomes meanwhile. Where too many have theirs the others get it at a later call.
    void give_turns(time_point now);
    /// Everybody leaves, and hears of nothing.
    void clear() noexcept;

private:
    using queue = waiter::queue;
    using stand = waiter::stand;
    struct hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    queue* find(std::string_view resource) const noexcept;
    void enter(stand& at, waiter& who, std::string_view resource);
    void remove(stand& at) noexcept;
    void now_due(waiter& who) noexcept;
    void all_due(queue& l) noexcept;
    void move_up(queue& l) noexcept;
    void tidy(queue& l) noexcept;
    static void note_freed(std::vector<std::uint16_t>& slots, std::uint16_t slot) noexcept;
    void set(waiter& who, waiter::state to) noexcept;

    std::unordered_map<std::string, queue, hash, std::equal_to<>> queues_;
    boost::intrusive::list<waiter,
                           boost::intrusive::member_hook<waiter, waiter::hook, &waiter::due_>>
        due_;
    std::size_t turns_ = 0;  // that are not over
    std::size_t resting_ = 0;
};

}  // namespace redlock::core
