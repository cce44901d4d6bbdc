// Taking a resource from its holders, as only an operator may; holds nothing itself.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/operation/node_survey.hpp"
#include "value/node_mask.hpp"
#include "wire/failure.hpp"

#include <redlock/resource_state.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace redlock::detail {

/// First the nodes report the values that hold each key. Those that the operator has seen are then
/// revoked on all nodes. A holder that came later keeps the lock.
class revoke_operation : public node_survey<revocation> {
public:
    explicit revoke_operation(resource_state shown) : shown_(std::move(shown)) {}

private:
    // The key of the resource, or of one of its slots.
    struct target {
        std::string key;
        std::optional<std::uint16_t> slot{};
        std::set<std::string> owners{};  // abbreviated, as the operator has seen them
        std::set<std::string> values{};  // of these
        std::set<std::string> others{};  // of holders that came later
    };
    enum class phase : std::uint32_t { none, look, revoke };

    error_code check() final;
    bool go_on(time_point now) final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t, const wire::failure& why, time_point) final {
        note(node, why);
    }

    void find_targets();
    void ask_about_targets(time_point now);
    void ask_about(std::uint32_t target, node_mask nodes, time_point now);
    void note(std::size_t node, const wire::failure& why);
    void conclude();

    resource_state shown_;
    std::vector<target> targets_;
    std::set<std::string> revoked_;   // whole, since abbreviated values may collide
    std::set<std::string> holders_;
    node_mask failed_;
    std::uint64_t fence_ = 0;  // the highest on any node; then that which is proposed
    phase phase_ = phase::none;
};

}  // namespace redlock::detail
