// What the caller of an acquire wants; sends nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/context.hpp"
#include "client/lease/lease_state.hpp"
#include "client/operation/granting.hpp"
#include "value/time.hpp"

#include <redlock/options.hpp>
#include <redlock/resource_list.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// One resource, or several at once, and the options.
class acquire_request {
public:
    acquire_request(std::string resource, const acquire_options& options);
    acquire_request(resource_list resources, const acquire_options& options);

    /// Why nothing may be sent; empty if the request is valid.
    std::string why_invalid(const client_options& all) const;

    const acquire_options& options() const noexcept { return options_; }
    /// The resource; the names of several, for people.
    const std::string& shown() const noexcept { return shown_; }
    std::span<const std::string> resources() const noexcept;
    std::size_t keys() const noexcept { return resources().size(); }
    const wire::lock_kind& kind(const context& shared) const noexcept {
        return shared.kind(options_, keys() > 1, has_note());
    }
    /// Its text, which the options do not have any more.
    const std::string& note() const noexcept { return note_; }
    bool has_note() const noexcept { return !note_.empty(); }
    /// How many may hold the resource at once.
    std::size_t places(const context& shared) const noexcept;
    /// The end of the operation, which began at `begun`. The request has no names from then on.
    requested_lease finish(cast_votes votes, time_point begun, std::string_view detail) noexcept {
        return {std::move(shown_), std::move(several_), std::move(votes), begun, detail};
    }

private:
    std::string shown_;
    std::vector<std::string> several_;  // empty if it is one resource
    acquire_options options_;
    std::string note_;
};

}  // namespace redlock::detail
