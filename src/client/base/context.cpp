// What the parts of one client share.
// SPDX-License-Identifier: MIT
#include "client/base/context.hpp"

#include <functional>

namespace redlock::detail {

namespace {

template <class What>
void tell(const std::function<void(const What&)>& observer, const What& what) {
    try {
        observer(what);
    } catch (...) {
    }
}

}  // namespace

context::context(const client_options& options, random_source& random)
    : options_(&options),
      random_(&random),
      lists_(options),
      client_id_(random.fresh_owner().to_string()) {
    for (const auto& node : options.nodes) names_.emplace_back(display_name(node));
}

void context::emit(const event& e) const {
    if (options_->on_event) tell(options_->on_event, e);
}

std::uint64_t context::report_begin(span_kind kind, std::uint64_t parent, std::string_view resource,
                                    time_point now, std::uint64_t fence) {
    span_report s;
    s.edge = span_edge::begin;
    s.kind = kind;
    s.id = ++last_span_;
    s.when = now;
    s.parent = parent;
    s.resource = resource;
    s.fence = fence;
    tell(options_->on_span, s);
    return s.id;
}

void context::report_end(span_kind kind, std::uint64_t id, time_point now, error_code why,
                         std::span<const node_vote> votes, std::string_view detail) const {
    span_report s;
    s.edge = span_edge::end;
    s.kind = kind;
    s.id = id;
    s.when = now;
    s.error = why;
    s.detail = detail;
    s.votes = votes;
    tell(options_->on_span, s);
}

}  // namespace redlock::detail
