// How an acquire or an adoption ends: with a lease that the client keeps, or with a refusal; decides
// neither.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/operation/client_parts.hpp"
#include "client/base/footprint.hpp"
#include "client/lease/lease_state.hpp"
#include "client/base/owner_claims.hpp"
#include "core/lock/renewal.hpp"
#include "wire/lease_token.hpp"

#include <redlock/error.hpp>
#include <redlock/owner_id.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// What an operation that asks for a lease knows of itself at its end.
struct requested_lease {
    std::string resource;              ///< Of several: all their names, for people.
    std::vector<std::string> several;  ///< Empty where it is one.
    cast_votes votes;
    time_point begun{};
    std::string_view detail{};  ///< For events.
};

/// And what it was granted.
struct granted_lease {
    owner_id owner;
    std::uint64_t fence = 0;
    wire::lease_proof proof;
    footprint left;
    core::renewal machine;
    owner_claims::claim claim{};
    std::uint64_t span = 0;  ///< Of the operation; 0 where nobody traces.
};

/// The client keeps the lease from now on, and reports it.
std::shared_ptr<lease_state> keep_lease(client_parts& client, requested_lease request,
                                        granted_lease what, time_point now);

/// The client reports the refusal. The state carries the votes.
std::shared_ptr<lease_state> refuse_lease(client_parts& client, requested_lease request,
                                          error_code why, time_point now);

}  // namespace redlock::detail
