// Asking every node which resources are held there.
// SPDX-License-Identifier: MIT
#include "client/operation/list.hpp"

#include "client/operation/client_parts.hpp"
#include "value/quorum.hpp"
#include "value/time.hpp"
#include "wire/request.hpp"
#include "wire/scan.hpp"

namespace redlock::detail {

void list_operation::start(time_point now) { client().host.await_settled(*this, now); }

void list_operation::on_settled(time_point now) {
    if (over_) return;
    asked_ = client().shared.size();
    for (const std::size_t node : client().nodes.all()) ask(node, "0", now);
}

void list_operation::ask(std::size_t node, const std::string& cursor, time_point now) {
    wire::request scan;
    wire::write_scan(scan.words, cursor, client().shared.options().key_prefix + prefix_);
    const auto result = client().nodes.send(*this, 0, scan, now, node_mask::only(node));
    for (const auto& [silent, why] : result.failures) on_failure(silent, 0, why, now);
}

void list_operation::on_reply(std::size_t node, std::uint32_t, const resp::reply& reply,
                              time_point now) {
    if (over_) return;
    const auto page = wire::read_scan(reply);
    if (!page) return ended(false);
    const client_options& options = client().shared.options();
    for (const std::string& key : page->keys) {
        if (!key.starts_with(options.key_prefix)) continue;
        std::string resource = key.substr(options.key_prefix.size());
        // A fence, for one, can't be a resource.
        if (validate_resource(options, resource).empty()) found_.insert(std::move(resource));
    }
    if (found_.size() > most) return end(errc::backlog);
    if (page->cursor == "0") return ended(true);
    ask(node, page->cursor, now);
}

void list_operation::on_failure(std::size_t, std::uint32_t, const wire::failure&, time_point) {
    if (!over_) ended(false);
}

void list_operation::ended(bool is_complete) {
    if (is_complete) ++complete_;
    if (--asked_ > 0) return;
    end(complete_ >= redlock::quorum(client().shared.size()) ? error_code()
                                                             : error_code(errc::no_quorum));
}

void list_operation::cancel(error_code why, time_point) { end(why); }

void list_operation::end(error_code outcome) {
    if (over_) return;
    over_ = true;
    client().host.finished(*this);
    complete(outcome, {found_.begin(), found_.end()});
}

}  // namespace redlock::detail
