// The end of a client's event loop, bounded.
// SPDX-License-Identifier: MIT
#include "tools/drain.hpp"

#include <unistd.h>

namespace redlock::tool {

void drain(boost::asio::io_context& context, std::chrono::milliseconds limit, int status) {
    using namespace std::chrono_literals;
    context.restart();
    context.run_for(limit + 100ms);
    if (!context.stopped()) ::_exit(status);
}

std::chrono::milliseconds longest_answer(const client_options& client) {
    using namespace std::chrono_literals;
    return client.node_timeout > 0ms ? client.node_timeout : 1s;
}

}  // namespace redlock::tool
