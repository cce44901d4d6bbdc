// TLS over bytes that the transport carries: handshake, encryption, verification; knows no socket.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>
#include <redlock/options.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace redlock::detail {

/// Why a connection with TLS ended, or was not made. Each message has the reason and the remedy.
enum class tls_errc {
    untrusted = 1,      ///< No trusted root signed the server's certificate.
    wrong_name,         ///< The certificate does not name the host that we connect to.
    expired,
    not_yet_valid,
    bad_certificate,    ///< It was refused for another reason.
    wants_certificate,  ///< The server wants one of ours.
    refused,            ///< The server ended the handshake for another reason.
    no_tls,             ///< The server answered with something else.
    cut,                ///< It hung up in the middle of the handshake.
    broken              ///< What came later was not encrypted with our keys.
};
const boost::system::error_category& tls_category() noexcept;
inline error_code make_error_code(tls_errc e) noexcept {
    return {static_cast<int>(e), tls_category()};
}

/// What the connections to one node have in common: its certificates, and the last session, which
/// the next connection resumes. Used on one strand.
class tls_setup;
/// Throws `std::invalid_argument` where a file can't be used, with the field that names it. The
/// node has `tls`, and this build has TLS.
std::shared_ptr<tls_setup> make_tls_setup(const node_options& node);
/// Where a file has changed, reads all of them for the connections that begin from now on. Where
/// one can't be used, the setup keeps what it had. Returns which one that is, why, and the remedy;
/// else nothing.
std::string read_again_tls(tls_setup& setup);

/// One connection. Not thread-safe.
class tls_stream {
public:
    explicit tls_stream(std::shared_ptr<tls_setup> setup);
    ~tls_stream();

    /// Forgets the connection before, and begins the handshake of the next.
    error_code begin();
    /// Bytes came. Appends to `plain` what they decrypt to.
    error_code feed(std::string_view cipher, std::string& plain);
    /// The connection has ended: what that means.
    error_code at_end(error_code how) const;
    /// The handshake is over, and the certificate is good.
    bool is_ready() const noexcept;
    /// Whether this connection resumed the session of an earlier one.
    bool is_resumed() const noexcept;
    /// Only once it is ready.
    error_code encrypt(std::string_view plain);
    /// Says goodbye to the server.
    void end();
    /// What is to be sent, in order. The caller takes from the front.
    std::string& to_send() noexcept { return to_send_; }

private:
    struct state;

    error_code advance();
    void collect();

    std::shared_ptr<tls_setup> setup_;
    std::unique_ptr<state> state_;
    std::string to_send_;
};

}  // namespace redlock::detail

namespace boost::system {
template <>
struct is_error_code_enum<redlock::detail::tls_errc> : std::true_type {};
}  // namespace boost::system
