// Opens ports with TLS on servers that run already; knows certificates, no client and no locks.
// SPDX-License-Identifier: MIT
#pragma once

#include "../../support/certificates.hpp"
#include "direct.hpp"

#include <redlock/options.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace redlock::testing {

/// Redis can be built without TLS.
inline bool is_built_with_tls(direct server) {
    return !server.command({"CONFIG", "GET", "tls-port"}).items.empty();
}

inline std::uint16_t free_tls_port() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool found = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    ::close(fd);
    if (!found) throw std::runtime_error("no free port");
    return ntohs(address.sin_port);
}

/// From now on the server has a port with TLS, beside the one without and in place of an earlier
/// one, and shows this certificate there. `clients`: whether it wants one of the client, as
/// `tls-auth-clients` says it.
inline std::uint16_t open_tls_port(direct server, const certificates& papers,
                                   const std::string& certificate = "good",
                                   const std::string& clients = "no") {
    for (int tries = 0; tries < 20; ++tries) {
        const std::uint16_t port = free_tls_port();
        const auto answer = server.command(
            {"CONFIG", "SET", "tls-cert-file", papers.file(certificate), "tls-key-file",
             papers.key(certificate), "tls-ca-cert-file", papers.file("ca"), "tls-auth-clients",
             clients, "tls-port", std::to_string(port)});
        if (answer.type != reply::kind::error) return port;
    }
    throw std::runtime_error("no TLS port could be opened");
}

/// Has a client reach the node by its port with TLS, and trust its certificate.
inline void use_tls(node_options& node, std::uint16_t port, const certificates& papers) {
    node.port = port;
    node.host = "localhost";
    node.tls.emplace();
    node.tls->ca_file = papers.file("ca");
}

}  // namespace redlock::testing
