// Judges a world: the leases, in true time, against what is promised; changes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/lease.hpp"
#include "simulation/plan.hpp"
#include "simulation/schedule.hpp"
#include "simulation/texts.hpp"

#include <redlock/error.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::simulation {

/// An owner value begins with the lease's identity, in so many characters. Two processes may give
/// the same one: then only the whole values differ.
inline constexpr std::size_t identity_length = 22;

struct violation {
    std::string checker;  ///< The promise that was broken, in a word.
    std::string text;
    time_point at{};
};

/// What the lease checker needs of the program that holds a lease.
class holder {
public:
    virtual std::string name() const = 0;
    /// The first instant of the world at which the holder's clock shows `local` or later.
    virtual time_point true_time(time_point local) const = 0;
    virtual time_point local_now() const = 0;
    /// Its clock stood still, and it can't know that yet: what it relies on beyond its keys' lives
    /// is no broken promise until it can.
    virtual bool is_misled() const = 0;
    /// Whether these servers, as bits, are a quorum of the nodes that it names.
    virtual bool is_quorum(std::uint32_t servers) const = 0;
    /// Until when the keys of a quorum live, by those of each server.
    virtual time_point quorum_keeps(const std::array<time_point, 8>& by_server) const = 0;

protected:
    ~holder() = default;
};

class lease_checker {
public:
    lease_checker(const plan& in, const schedule& when) : plan_(&in), when_(&when) {}

    /// A server said yes to the attempt with this owner value, under that fence.
    void voted(std::string_view owner_value, std::size_t server, std::int64_t fence);
    /// It will have the key of this owner value until then, as things are.
    void covered(std::string_view owner_value, std::size_t server, time_point until);
    /// A lease was handed out, requested at `asked` by the holder's clock, as `how` says.
    void granted(const holder& by, std::shared_ptr<detail::lease_state> lease, time_point asked,
                 const acquire_options& how);
    /// Its holder shares it from now on, whatever the nodes know of that yet.
    void shares(const detail::lease_state& lease);
    /// Its holder gave it back, or died: nobody relies on it any more.
    void ended(const detail::lease_state& lease);
    /// The process that drew this owner's identity is gone.
    void died(const std::string& identity) { dead_.emplace(identity, when_->now()); }
    /// When the process that drew the owner of this value ended, if it did.
    /// Not of one whose token was handed over: others may hold the lease still.
    std::optional<time_point> death_of(std::string_view owner_value) const {
        const auto at = dead_.find(owner_value.substr(0, identity_length));
        if (at == dead_.end() || is_handed_over(owner_value)) return std::nullopt;
        return at->second;
    }

    // One lease with several holders: its token proves it to other programs.
    void handed_over(std::string_view owner_value) { handed_over_.emplace(owner_value); }
    /// Whether some holder of the lease relies on it.
    bool is_relied_on(std::string_view owner_value) const;
    bool is_handed_over(std::string_view owner_value) const {
        return !handed_over_.empty() && handed_over_.contains(owner_value);
    }
    /// A program took the lease over by its token, as it requested at `asked`, as `how` says.
    void adopted(const holder& by, std::shared_ptr<detail::lease_state> lease, time_point asked,
                 const acquire_options& how);
    /// It was refused.
    void not_adopted(const holder& by, std::string_view owner_value, time_point asked,
                     error_code why);
    /// A holder of the lease gives it back, and then a quorum of nodes has said so.
    void begins_release(std::string_view owner_value);
    /// Its client gives back all that it holds.
    void closes(const holder& by);
    bool has_parted(std::string_view owner_value) const { return partings_.contains(owner_value); }
    void released(std::string_view owner_value);
    /// An operator takes the resource from the holders with these abbreviated owner values. From
    /// then on they and the next holder may believe to hold it, until the former ask a node. Then a
    /// quorum of nodes has taken it from these.
    void begins_revocation(const std::string& resource, const std::set<std::string>& from);
    void revoked(const std::string& resource, const std::set<std::string>& from);
    /// Keys were deleted by hand. `lost` tells for a key and an owner value which servers, as bits,
    /// do not have it, or can't say so. From then on the holders of leases that a quorum of servers
    /// lost, and the next holders, may believe to hold them, until the former ask the nodes.
    void keys_deleted(
        const std::function<std::uint32_t(const std::string&, const std::string&)>& lost);
    /// Whether an operator began to take a resource from this holder.
    bool was_taken_from(const std::string& owner_value) const;
    /// A program learnt the holders of a resource, by the answers to its question at `asked`.
    void shown(const holder& by, const resource_state& found, time_point asked);

    /// A holder of leases has had a turn, and wants to be woken at `alarm` by its own clock.
    void after_turn(const holder& by, time_point alarm);
    /// The program has found that its clock stood still: in this turn its validities may shrink.
    void found_gap(const holder& by);
    /// The program's clock stood still, and by now it must have found that.
    void is_sure_again(const holder& by);
    /// The holder's timer rang: what has run out is lost by now.
    void after_alarm(const holder& by);

    /// Until then the keys with this owner value have to stand, also where it was given back.
    std::optional<time_point> kept_until(std::string_view owner_value) const {
        const auto at = keys_kept_.find(owner_value);
        if (at == keys_kept_.end()) return std::nullopt;
        return at->second;
    }

    /// The rate limiter allows a call that costs so much: it counts for a period by its own clock.
    void allowed(const holder& by, std::uint16_t cost);

    /// A worker waits for the resource, and does so no longer.
    void waits(const void* worker, std::size_t resource);
    void waits_no_longer(const void* worker) { waiting_.erase(worker); }

    /// Somebody with another library relies on the lock until then, if it is one that we exclude.
    void foreigner_granted(std::size_t resource, time_point until);
    void foreigner_ended(std::size_t resource);

    /// Whether the holder of this resource does nothing with it from now on.
    void leaves_idle(std::size_t resource);
    void takes_up(std::size_t resource);
    /// For how long holders of this resource have done nothing with it, in all.
    duration idle_time(std::size_t resource) const;

    /// `say()` returns how it was broken.
    template <class F>
    void require(bool holds, std::string_view checker, F&& say) {
        if (!holds) blame(checker, say());
    }
    void blame(std::string_view checker, std::string text);
    const std::optional<violation>& verdict() const noexcept { return first_; }
    /// Whether some lease is valid now.
    bool is_held() const noexcept;
    /// When a lease was handed out last: it may be over again.
    time_point last_grant() const noexcept { return last_grant_; }
    /// How many leases their holders rely on.
    std::size_t holders() const noexcept { return open_.size(); }

private:
    struct held {
        const holder* by;
        std::shared_ptr<detail::lease_state> lease;
        std::string key{};
        std::string value{};  // of its keys
        bool is_shared = false;
        slot_number slot{};
        time_point since{};
        time_point until{};  // as it was last seen, by the holder's clock
        time_point true_until{};
        time_point cap = time_point::max();
        bool has_found_gap = false;  // its holder, in this turn
    };
    struct support {
        std::uint32_t votes = 0;  // servers, as bits, of the round with the highest fence
        std::int64_t fence = 0;
        std::array<time_point, 8> until{};  // by server
    };
    support& support_of(std::string_view identity);
    /// A lease that was given back, or taken from its holders.
    struct parting {
        std::optional<time_point> done{};  // when a quorum of nodes had said so
        /// That an operator took; empty: the lease was given back, with all of its resources. The
        /// others of a lease that has several stay until its holder is done with them.
        std::string resource{};
        bool by_hand = false;  // its keys were deleted; done when the next lease is granted
    };
    void note_next(const std::string& key, std::string_view value, bool is_shared);
    static held hold(const holder& by, std::shared_ptr<detail::lease_state> lease);
    bool was_over(std::string_view value, time_point at) const;
    void check_terms(const held& of, time_point asked, milliseconds ttl);
    void check_granted(held h, const acquire_options& how);
    void check_adopted(held h);
    void count_turn(const held& of, time_point asked);
    void check_growth(const held& of);
    void judge_end(held& of);
    void check_cover(const held& of);
    void check_exclusion(const held& of);
    void check_number(const held& of, time_point asked);
    void check_kept(const held& of, milliseconds min_hold);
    void check_permits(const held& of, std::uint16_t slots);
    bool is_safe() const noexcept { return plan_->within == bounds::safe; }

    const plan* plan_;
    const schedule* when_;
    time_point last_grant_ = beginning;
    std::optional<time_point> keys_deleted_at_;
    std::vector<held> open_;
    struct fences {
        std::uint64_t last = 0;
        std::uint64_t last_alone = 0;  // of a lease that was not shared
    };
    std::map<std::string, fences, std::less<>> fences_;    // of each key
    std::map<std::string, time_point, std::less<>> kept_;  // until when others are kept out
    std::multimap<time_point, std::uint16_t> calls_;       // what each costs, until it counts no more
    text_map<time_point> keys_kept_;                       // the same, by the owner value
    text_map<support> support_;                            // by the owner value
    std::map<std::string, time_point, std::less<>> foreign_;
    struct idleness {
        duration over{};  // of the times that have ended
        std::optional<time_point> since;
    };
    std::map<std::size_t, idleness> idle_;  // by the number of the resource
    struct waiter {
        std::string key;
        time_point since;
        std::size_t passed_by = 0;  // by acquires that began long after it
    };
    std::map<const void*, waiter> waiting_;
    text_map<time_point> dead_;             // by the owner's identity
    text_set handed_over_;                  // owner values
    text_map<parting> partings_;            // by the owner value
    std::set<std::string> taken_from_;          // abbreviated owner values
    std::optional<violation> first_;
};

/// What the calls of the rate limiter are for.
inline constexpr std::string_view limited_resource = "limited";
/// The name of a resource by its number.
std::string resource_name(std::size_t number);

}  // namespace redlock::simulation
