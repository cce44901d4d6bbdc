// Taking a resource from its holders, as only an operator may; holds nothing itself.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/operation.hpp"
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
class revoke_operation : public operation {
public:
    explicit revoke_operation(resource_state shown) : shown_(std::move(shown)) {}
    void start(time_point now) final;
    void on_settled(time_point now) final;
    void cancel(error_code why, time_point now) final;

protected:
    virtual void complete(error_code outcome, revocation done) = 0;

private:
    // The key of the resource, or of one of its slots.
    struct target {
        std::string key;
        std::optional<std::uint16_t> slot{};
        std::set<std::string> owners{};  // abbreviated, as the operator has seen them
        std::set<std::string> values{};  // of these
        std::set<std::string> others{};  // of holders that came later
    };
    enum class phase : std::uint32_t { look, revoke };

    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) final;
    void on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                    time_point now) final;
    bool is_wanted(std::uint32_t) const noexcept final { return !over_; }

    void find_targets();
    void ask(phase next, time_point now);
    void ask_about(std::uint32_t target, node_mask nodes, time_point now);
    void note(std::size_t node, const wire::failure& why);
    void answered(time_point now);
    void conclude();
    void end(error_code outcome);

    resource_state shown_;
    std::vector<target> targets_;
    revocation done_;
    std::set<std::string> revoked_;   // whole, since abbreviated values may collide
    std::set<std::string> holders_;
    node_mask failed_;
    std::uint64_t fence_ = 0;  // the highest on any node; then that which is proposed
    phase phase_ = phase::look;
    std::size_t open_ = 0;  // answers still to come
    bool over_ = false;
};

}  // namespace redlock::detail
