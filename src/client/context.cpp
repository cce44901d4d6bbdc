// What the parts of one client share.
// SPDX-License-Identifier: MIT
#include "client/context.hpp"

namespace redlock::detail {

context::context(const client_options& options, random_source& random)
    : options_(&options), random_(&random), client_id_(random.fresh_owner().to_string()) {
    for (const auto& node : options.nodes) names_.emplace_back(display_name(node));
}

void context::emit(const event& e) const {
    if (!options_->on_event) return;
    try {
        options_->on_event(e);
    } catch (...) {
    }
}

}  // namespace redlock::detail
