// How an acquire or an adoption ends.
// SPDX-License-Identifier: MIT
#include "client/operation/granting.hpp"

#include "client/lease/held_lease.hpp"

#include <redlock/detail/recycling.hpp>

#include <cassert>
#include <chrono>
#include <string>
#include <utility>

namespace redlock::detail {

using std::chrono::duration_cast;
using std::chrono::microseconds;

std::shared_ptr<lease_state> keep_lease(client_parts& client, requested_lease request,
                                        granted_lease what, time_point now) {
    assert(what.left.kind != nullptr && !what.proof.value.empty());
    assert(request.votes.size() == client.shared.size() && request.begun <= now);
    client.shared.counts().granted.add();
    client.shared.emit({.kind = event_kind::granted,
                        .severity = severity::debug,
                        .resource = request.resource,
                        .duration = duration_cast<microseconds>(now - request.begun),
                        .votes = request.votes,
                        .detail = request.detail});
    auto state = std::allocate_shared<lease_state>(
        recycling_memory<lease_state>(), std::move(request.resource), what.owner, what.fence,
        what.machine.valid_until(), std::move(request.votes), std::move(what.proof),
        std::move(request.several));
    state->home = client.host.home();
    held_lease_ptr lease(new held_lease(client.shared, client.host, state, std::move(what.left),
                                        what.machine));
    lease->take_claim(std::move(what.claim));
    lease->begin_span(what.span, now);
    client.host.adopt(std::move(lease));
    return state;
}

std::shared_ptr<lease_state> refuse_lease(client_parts& client, requested_lease request,
                                          error_code why, time_point now) {
    assert(why && request.begun <= now);
    client.shared.counts().refused(why);
    const bool is_cancelled = why.category() != category() || why == errc::client_closed;
    const bool is_expected = is_cancelled || why == errc::contended;
    client.shared.emit({.kind = event_kind::refused,
                        .severity = is_expected ? severity::info : severity::warning,
                        .resource = request.resource,
                        .error = why,
                        .duration = duration_cast<microseconds>(now - request.begun),
                        .votes = request.votes,
                        .detail = request.detail});
    return std::allocate_shared<lease_state>(recycling_memory<lease_state>(),
                                             std::move(request.resource), std::move(request.votes),
                                             std::move(request.several),
                                             std::string(request.detail));
}

}  // namespace redlock::detail
