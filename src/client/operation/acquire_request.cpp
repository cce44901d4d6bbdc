// What the caller of an acquire wants.
// SPDX-License-Identifier: MIT
#include "client/operation/acquire_request.hpp"

#include "core/wait/blocked_keys.hpp"
#include "core/wait/local_queue.hpp"
#include "value/text.hpp"
#include "wire/batch.hpp"

#include <redlock/detail/kept_options.hpp>
#include <redlock/detail/waiting_time.hpp>

#include <algorithm>
#include <utility>

namespace redlock::detail {

static_assert(resource_list::most <= core::blocked_keys::most &&
              resource_list::most <= wire::batch::most);

namespace {

acquire_options bounded(acquire_options options) {
    options.wait = std::min(options.wait, longest_wait);
    options.note = {};
    return options;
}

}  // namespace

acquire_request::acquire_request(std::string resource, const acquire_options& options)
    : shown_(std::move(resource)), options_(bounded(options)), note_(copied_note(options)) {}

acquire_request::acquire_request(resource_list resources, const acquire_options& options)
    : several_(std::move(resources).names()),
      options_(bounded(options)),
      note_(copied_note(options)) {
    shown_ = text::listed(several_);
    if (several_.size() == 1) several_.clear();
}

std::span<const std::string> acquire_request::resources() const noexcept {
    return several_.empty() ? std::span(&shown_, 1) : std::span(several_);
}

std::size_t acquire_request::places(const context& shared) const noexcept {
    return core::local_queues::places_of(kind(shared).is_shared, options_.slots);
}

std::string acquire_request::why_invalid(const client_options& all) const {
    auto why = several_.empty() ? validate_resource(all, shown_)
                                : validate_resources(all, several_);
    if (!why.empty()) return why;
    acquire_options whole = options_;
    whole.note = note_;
    if (const auto issues = validate(whole, all); !issues.empty()) {
        return issues.front().where.substr(1) + " " + issues.front().message;
    }
    if (keys() > 1 && (options_.mode != lock_mode::exclusive || options_.slots > 0)) {
        return "several resources at once are held alone: mode has to be exclusive, and slots 0";
    }
    return {};
}

}  // namespace redlock::detail
