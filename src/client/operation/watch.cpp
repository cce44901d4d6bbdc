// Waiting for a resource to change hands.
// SPDX-License-Identifier: MIT
#include "client/operation/watch.hpp"

#include "client/operation/client_parts.hpp"
#include "value/holder_change.hpp"

#include <utility>

namespace redlock::detail {

void watch_operation::start(time_point now) {
    if (!validate_resource(client().shared.options(), resource_).empty()) {
        return end(errc::invalid_argument, {});
    }
    client().host.await_settled(*this, now);
}

void watch_operation::on_settled(time_point now) {
    if (!over_) client().watched.add(*this, now);
}

void watch_operation::showed(const resource_state& state) {
    if (has_changed_hands(last_, state)) end({}, state);
}

void watch_operation::end(error_code outcome, resource_state state) {
    if (std::exchange(over_, true)) return;
    client().watched.remove(*this);
    client().host.finished(*this);
    complete(outcome, std::move(state));
}

}  // namespace redlock::detail
