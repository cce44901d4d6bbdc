// Asking every node which resources are held there.
// SPDX-License-Identifier: MIT
#include "client/operation/list.hpp"

#include "value/quorum.hpp"
#include "value/time.hpp"
#include "wire/scan.hpp"

namespace redlock::detail {

bool list_operation::go_on(time_point now) {
    if (!std::exchange(has_asked_, true)) {
        for (const std::size_t node : client().nodes.all()) ask_for_page(node, "0", now);
        return true;
    }
    const bool has_quorum = complete_ >= redlock::quorum(client().shared.size());
    end(has_quorum ? error_code() : error_code(errc::no_quorum));
    return false;
}

void list_operation::ask_for_page(std::size_t node, const std::string& cursor, time_point now) {
    wire::request scan;
    wire::write_scan(scan.words, cursor, client().shared.options().key_prefix + prefix_);
    ask(0, scan, node_mask::only(node), now);
}

void list_operation::read(std::size_t node, std::uint32_t, const resp::reply& reply,
                          time_point now) {
    const auto page = wire::read_scan(reply);
    if (!page) return;
    const client_options& options = client().shared.options();
    for (const std::string& key : page->keys) {
        if (!key.starts_with(options.key_prefix)) continue;
        std::string resource = key.substr(options.key_prefix.size());
        // A fence, for one, can't be a resource.
        if (validate_resource(options, resource).empty()) found_.insert(std::move(resource));
    }
    if (found_.size() > most) return end(errc::backlog);
    if (page->cursor != "0") return ask_for_page(node, page->cursor, now);
    ++complete_;
}

}  // namespace redlock::detail
