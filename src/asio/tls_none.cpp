// In place of TLS, in a build without it; `validate` refuses nodes that want it.
// SPDX-License-Identifier: MIT
#include "asio/tls.hpp"

#include <stdexcept>
#include <utility>

namespace redlock::detail {

class tls_setup {};
struct tls_stream::state {};

std::shared_ptr<tls_setup> make_tls_setup(const node_options&) {
    throw std::invalid_argument("/tls: this build of redlock has no TLS");
}

std::string read_again_tls(tls_setup&) { return {}; }

tls_stream::tls_stream(std::shared_ptr<tls_setup> setup) : setup_(std::move(setup)) {}
tls_stream::~tls_stream() = default;
error_code tls_stream::begin() { return tls_errc::refused; }
error_code tls_stream::feed(std::string_view, std::string&) { return tls_errc::refused; }
error_code tls_stream::at_end(error_code how) const { return how; }
bool tls_stream::is_ready() const noexcept { return false; }
bool tls_stream::is_resumed() const noexcept { return false; }
error_code tls_stream::encrypt(std::string_view) { return tls_errc::refused; }
void tls_stream::end() {}

}  // namespace redlock::detail
