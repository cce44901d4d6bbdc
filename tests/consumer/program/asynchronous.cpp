// A user's program that shares an event loop with the library, which refuses options without a node.
// SPDX-License-Identifier: MIT
#include <redlock/client.hpp>

#include <boost/asio/io_context.hpp>

#include <stdexcept>

int main() {
    boost::asio::io_context context;
    try {
        const redlock::client client(context, redlock::client_options());
    } catch (const std::invalid_argument&) {
        return 0;
    }
    return 1;
}
