// The password and the certificates of one node, read again at each connection; knows no socket.
// SPDX-License-Identifier: MIT
#pragma once

#include "asio/tls.hpp"

#include <redlock/options.hpp>

#include <memory>
#include <string>

namespace redlock::detail {

/// Shared by the connections to one node. Used on one strand. Reads small files there: a file
/// system that hangs holds up the client.
class node_files {
public:
    /// Writes the password that it reads to `node`, which outlives it. Throws
    /// `std::invalid_argument` where a file can't be used and nothing stands in for it, with the
    /// field that names it.
    explicit node_files(node_options& node);

    /// Reads what has changed, and keeps what it had where that can't be used. Returns which file
    /// that is, why, and the remedy; else nothing.
    std::string read_again();

    /// Null for a node without TLS.
    const std::shared_ptr<tls_setup>& tls() const noexcept { return tls_; }

private:
    std::string read_password();

    node_options* node_;
    std::shared_ptr<tls_setup> tls_;
};

}  // namespace redlock::detail
