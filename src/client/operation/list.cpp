// Asking the nodes which resources are held there.
// SPDX-License-Identifier: MIT
#include "client/operation/list.hpp"

#include "value/companion.hpp"
#include "value/time.hpp"
#include "wire/scan.hpp"

#include <algorithm>

namespace redlock::detail {

bool list_operation::go_on(time_point now) {
    if (!std::exchange(has_begun_, true)) {
        unused_ = client().nodes.all();
        const node_mask all = unused_;
        while (!client().shared.lists().is_quorum(all - unused_)) ask_another(now);
        return true;
    }
    const bool is_missing_some = !client().shared.lists().is_quorum(complete_);
    if (is_missing_some && !unused_.empty()) {
        ask_another(now);
        return true;
    }
    end(is_missing_some ? error_code(errc::no_quorum) : error_code());
    return false;
}

void list_operation::ask_another(time_point now) {
    if (unused_.empty() || is_over()) return;
    const std::size_t next = *unused_.begin();
    unused_.erase(next);
    ask_for_page(next, "0", now);
}

void list_operation::ask_for_page(std::size_t node, std::string_view cursor, time_point now) {
    wire::request scan;
    wire::write_scan(scan.words, cursor, client().shared.options().key_prefix + prefix_);
    ask(0, scan, node_mask::only(node), now);
}

void list_operation::read(std::size_t node, std::uint32_t, const resp::reply& reply,
                          time_point now) {
    const auto page = wire::read_scan(reply);
    if (!page) return ask_another(now);
    for (std::size_t i = 0; i < page->keys.size(); ++i) note(page->keys[i].text());
    if (found_.size() > most) return end(errc::backlog);
    if (page->cursor != "0") return ask_for_page(node, page->cursor, now);
    complete_.insert(node);
}

void list_operation::failed(std::size_t, std::uint32_t, const wire::failure&, time_point now) {
    ask_another(now);
}

// Most keys are fences of resources that nobody holds: their names are not copied.
void list_operation::note(std::string_view key) {
    const client_options& options = client().shared.options();
    if (!key.starts_with(options.key_prefix)) return;
    const std::string_view resource = key.substr(options.key_prefix.size());
    if (role_of(options.key_prefix, resource) != key_role::lock) return;
    const bool is_new = found_.find(resource) == found_.end();
    if (is_new && validate_resource(options, resource).empty()) found_.emplace(resource);
}

std::vector<std::string> list_operation::take_result() {
    std::vector<std::string> names;
    names.reserve(found_.size());
    while (!found_.empty()) names.push_back(std::move(found_.extract(found_.begin()).value()));
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace redlock::detail
