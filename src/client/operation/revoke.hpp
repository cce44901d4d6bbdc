// Taking a resource from its holders, as only an operator may; holds nothing itself.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/operation/node_survey.hpp"
#include "core/lock/revocation.hpp"
#include "value/node_mask.hpp"
#include "wire/failure.hpp"

#include <redlock/resource_state.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace redlock::detail {

/// Carries out `core::revocation`.
class revoke_operation : public node_survey<revocation> {
public:
    explicit revoke_operation(resource_state shown) : shown_(std::move(shown)) {}

private:
    using phase = core::revocation::phase;

    error_code check() final;
    bool go_on(time_point now) final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t, const wire::failure& why, time_point) final {
        note(node, why);
    }

    void begin();
    void ask_about_targets(time_point now);
    void ask_about(std::uint32_t target, node_mask nodes, time_point now);
    void note(std::size_t node, const wire::failure& why);
    void conclude();

    resource_state shown_;
    core::revocation machine_;
    node_mask failed_;
};

}  // namespace redlock::detail
