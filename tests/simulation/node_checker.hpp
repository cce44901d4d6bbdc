// What the protocol promises of one node, seen at each command that it executes; knows no client.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/plan.hpp"
#include "simulation/lease_checker.hpp"
#include "simulation/texts.hpp"
#include "support/redis_model/redis_model.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace redlock::simulation {

class node_checker {
public:
    node_checker(std::size_t node, const plan& in, const fakes::redis_model& model,
                 lease_checker& judge);

    void before(const fakes::command& c, const fakes::client_state& client, time_point now);
    /// The same command has been executed.
    void after(const fakes::command& c, const fakes::model_reply& said, time_point now);
    /// It holds other data from now on.
    void forget() noexcept { given_back_.clear(); }

private:
    struct key_facts {
        std::string value;
        std::optional<std::int64_t> expires_ms;
    };
    /// Of one lease in a command that may take or prolong its key.
    struct claim {
        std::string key;
        std::string value;
        std::optional<key_facts> key_before{};
        std::string fence_key{};  // empty: without a fence
        std::int64_t fence = 0;   // that is proposed
        std::int64_t tolerance_us = 0;
        std::optional<key_facts> fence_before{};
        bool is_granted = false;  // the node said so
    };

    struct release {
        std::string value;
        std::string key;
        std::optional<key_facts> key_before{};
    };

    std::optional<key_facts> find(const std::string& key, time_point now) const;
    void check_taken(const claim& of, const key_facts& key, time_point now) const;
    void check_in_time(const claim& of, const key_facts& key, time_point now) const;
    void check_fence(const claim& of, time_point now) const;
    std::string name() const { return "n" + std::to_string(node_); }

    std::size_t node_;
    const fakes::redis_model* model_;
    lease_checker* judge_;
    bool is_late_checked_;  // what is promised of late commands is promised in this world
    duration good_for_;     // how long a command of a program that is gone may take a key
    std::size_t database_ = 0;
    std::vector<claim> claims_;       // of the command that is being executed
    std::optional<release> release_;  // likewise
    text_set given_back_;             // of which a release was executed
};

}  // namespace redlock::simulation
