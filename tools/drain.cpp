// The end of a client's event loop, bounded.
// SPDX-License-Identifier: MIT
#include "tools/drain.hpp"

#include <unistd.h>

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

}  // namespace redlock::tool
