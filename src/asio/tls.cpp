// TLS for a stream, whichever library provides it, and its errors as text.
// SPDX-License-Identifier: MIT
#include "asio/tls.hpp"

namespace redlock::detail {

namespace {

class tls_errors final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "redlock.tls"; }
    std::string message(int value) const override {
        switch (static_cast<tls_errc>(value)) {
            case tls_errc::untrusted:
                return "no trusted root signed the server's certificate: name its root in ca_file";
            case tls_errc::wrong_name:
                return "the server's certificate is for another name: connect by a name that it "
                       "has, or set server_name to one";
            case tls_errc::expired:
                return "the server's certificate has expired: renew it, and look at the clocks";
            case tls_errc::not_yet_valid:
                return "the server's certificate is not valid yet: look at the clocks";
            case tls_errc::bad_certificate:
                return "the server's certificate can't be used: make another one";
            case tls_errc::wants_certificate:
                return "the server wants a client certificate that it trusts: set cert_file and "
                       "key_file";
            case tls_errc::refused:
                return "the server refused the TLS handshake: it takes other versions or ciphers "
                       "(ours begin with TLS 1.2), or does not trust our certificate";
            case tls_errc::no_tls:
                return "the server answered without TLS: use redis:// for this port, or the "
                       "server's TLS port";
            case tls_errc::cut: return "the server hung up in the TLS handshake";
            case tls_errc::broken:
                return "the server sent bytes that are no TLS of this connection";
        }
        return "unknown TLS error";
    }
};

}  // namespace

const boost::system::error_category& tls_category() noexcept {
    static const tls_errors instance;
    return instance;
}

}  // namespace redlock::detail
