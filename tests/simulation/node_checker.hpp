// What the protocol promises of one node, seen at each request that it executes; knows no client.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/lease_checker.hpp"
#include "simulation/plan.hpp"
#include "simulation/texts.hpp"
#include "support/requests.hpp"
#include "testing/model.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace redlock::simulation {

class node_checker {
public:
    node_checker(std::size_t node, const plan& in, const fakes::redis_model& model,
                 lease_checker& judge);

    void before(const fakes::command& c, const fakes::client_state& client, time_point now);
    /// The same command has been executed.
    void after(const fakes::model_reply& said, time_point now);
    /// It holds other data from now on.
    void forget() noexcept { given_back_.clear(); }
    /// It holds nothing from now on. What was released by a token it no longer knows: a renewal by
    /// another holder, which does not know of it, is not late and takes the key again.
    void forget_notes() {
        std::erase_if(given_back_,
                      [this](const auto& value) { return judge_->is_handed_over(value); });
    }

private:
    struct key_facts {
        std::string value;
        std::optional<std::int64_t> expires_ms;
    };
    using facts = std::map<std::string, std::optional<key_facts>>;
    struct lock_facts {
        std::optional<key_facts> key{};
        // Until when each holds it, where that is known.
        std::map<std::string, std::optional<std::int64_t>> readers{};
    };
    /// A request for a key, or the part of one for several that is about one of them.
    struct part {
        testing::asked of;
        std::size_t answer;     // which of the answers is to it
        std::size_t which = 0;  // of its keys
        bool is_of_several = false;
    };
    /// A request that may take or prolong its key.
    struct claim {
        const testing::asked* of;
        std::optional<key_facts> key_before{};
        bool is_done = false;     // the node said so
        bool is_of_several = false;
        bool is_granted = false;  // to an acquire
        long long raised = 0;     // the fence, to this, by a later release of the same command
    };

    void take_apart(const testing::asked& one, std::size_t answer);
    std::optional<key_facts> find(const std::string& key, time_point now) const;
    lock_facts find_lock(const testing::asked& one, time_point now) const;
    /// By whom one that asks finds the key held; a reader does not see the others.
    static std::optional<key_facts> view(const lock_facts& of, const testing::asked& one);
    void take(lock_facts& of, const testing::asked& one) const;
    void give_back(lock_facts& of, const testing::asked& one, time_point now) const;
    void check_order(const testing::asked& one, time_point now) const;
    fakes::sorted_set queue_of(const testing::asked& one) const;
    void check_held(const testing::asked& one, const lock_facts& expected, time_point now) const;
    void check_taken(const claim& of, const key_facts& key, time_point now) const;
    void check_kept(const testing::asked& one, time_point now) const;
    void check_readers(const testing::asked& one, time_point now) const;
    void check_downgrade(const claim& of, time_point now) const;
    void check_in_time(const claim& of, const key_facts& key, time_point now) const;
    void check_fence(const claim& of, time_point now) const;
    std::string name() const { return "n" + std::to_string(node_); }

    std::size_t node_;
    const fakes::redis_model* model_;
    lease_checker* judge_;
    bool is_late_checked_;  // what is promised of late commands is promised in this world
    duration good_for_;     // how long a command of a program that is gone may take a key
    std::size_t database_ = 0;
    // Of the command that is being executed.
    std::vector<part> asked_;
    std::size_t requests_ = 0;
    facts fences_before_;
    std::map<std::string, lock_facts> locks_before_;
    std::set<std::string> waiting_before_;  // entries of their queues
    std::int64_t tolerance_us_ = 0;

    text_set given_back_;  // of which a release was executed
};

}  // namespace redlock::simulation
