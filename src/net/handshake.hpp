// What is said to a node before the first command; knows no connection and no time.
// SPDX-License-Identifier: MIT
#pragma once

#include "net/call.hpp"
#include "resp/reply.hpp"

#include <redlock/options.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::net {

/// AUTH, SELECT, CLIENT SETNAME, SCRIPT LOAD: sent in one write, answered in order.
class handshake {
public:
    enum class outcome : std::uint8_t { more, done, failed };

    handshake(const node_options& node, std::string_view client_name)
        : node_(&node), client_name_(client_name) {}

    /// Starts anew: everything to say, appended to `out`.
    void begin(std::string& out);
    outcome on_reply(const resp::reply& reply);
    /// Why it failed; secrets never appear.
    const failure& why() const noexcept { return why_; }

private:
    enum class step : std::uint8_t { auth, select, set_name, load };

    step current() const noexcept;
    outcome fail(error_code error, std::string detail);

    const node_options* node_;
    std::string_view client_name_;
    std::size_t answered_ = 0;
    failure why_;
};

}  // namespace redlock::net
