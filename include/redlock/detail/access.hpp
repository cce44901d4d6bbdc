// How the library reaches what its public classes keep to themselves; knows no use of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/lease.hpp>

#include <memory>
#include <utility>

namespace redlock::detail {

struct access {
    /// The client behind a client, or behind what was made of one. Null if that was moved from.
    template <class Client>
    static const auto& impl(const Client& of) noexcept { return of.impl_; }
    static lease lease_of(std::shared_ptr<lease_state> state) noexcept {
        return lease(std::move(state));
    }
    static const std::shared_ptr<lease_state>& state(const lease& of) noexcept { return of.state_; }
    /// Ends the lease without posting a release: the caller sends it.
    static std::shared_ptr<lease_state> surrender(lease&& held) noexcept;
};

}  // namespace redlock::detail
