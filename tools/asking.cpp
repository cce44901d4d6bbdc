// A client whose operations a command waits for: its first connections and its end.
// SPDX-License-Identifier: MIT
#include "tools/asking.hpp"

#include <redlock/error.hpp>
#include <redlock/vote.hpp>

#include <unistd.h>

#include <utility>

namespace redlock::tool {

void drain(boost::asio::io_context& context, std::chrono::milliseconds limit,
           const std::function<void()>& leave) {
    using namespace std::chrono_literals;
    context.restart();
    context.run_for(limit + 100ms);
    if (!context.stopped()) leave();
}

void drain(boost::asio::io_context& context, std::chrono::milliseconds limit, int status) {
    drain(context, limit, [status] { ::_exit(status); });
}

std::chrono::milliseconds longest_answer(const client_options& client) {
    return client.node_timeout.count() > 0 ? client.node_timeout : longest_measured_timeout;
}

first_contact::first_contact(client_options& options)
    : nodes_(options.nodes.size()), quorum_(redlock::quorum_of(nodes_)) {
    options.on_event = [this, next = std::move(options.on_event)](const event& e) {
        happened(e);
        if (next) next(e);
    };
}

void first_contact::happened(const event& e) {
    const std::string node(e.node);
    if (e.kind == event_kind::node_up) {
        met_.insert(node);
        refused_.erase(node);
    } else if (e.kind == event_kind::node_down) {
        if (e.error == errc::timed_out)
            refused_.erase(node);
        else
            refused_.insert(node);
    }
}

bool first_contact::wait(boost::asio::io_context& context,
                         const std::function<bool()>& is_called_off) {
    while (!is_made() && !is_hopeless() && !(is_called_off && is_called_off())) {
        if (std::chrono::steady_clock::now() >= until_) break;
        context.run_one_until(until_);
    }
    return is_made();
}

}  // namespace redlock::tool
