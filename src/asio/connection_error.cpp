// Which errors of the system and of Asio mean that there is no way to a node.
// SPDX-License-Identifier: MIT
#include "value/connection_error.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <array>

namespace redlock::detail {

bool is_broken_connection(const error_code& code) noexcept {
    namespace sys = boost::system::errc;
    static constexpr std::array conditions = {
        sys::broken_pipe,          sys::connection_aborted,   sys::connection_refused,
        sys::connection_reset,     sys::host_unreachable,     sys::network_down,
        sys::network_reset,        sys::network_unreachable,  sys::not_connected,
        sys::timed_out,            sys::address_not_available};
    namespace net = boost::asio::error;
    return std::any_of(conditions.begin(), conditions.end(),
                       [&](sys::errc_t c) { return code == c; }) ||
           code == net::eof || code == net::host_not_found ||
           code == net::host_not_found_try_again || code == net::no_data ||
           code == net::no_recovery;
}

}  // namespace redlock::detail
