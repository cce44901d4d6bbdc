// Why an acquisition ended without a lease; knows nothing of how it went.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/vote.hpp>

#include <boost/assert/source_location.hpp>

#include <exception>
#include <string>
#include <vector>

namespace redlock {

/// Why there is no lease, node by node.
struct refusal {
    boost::system::error_code code;
    std::vector<node_vote> votes;
    /// With `errc::invalid_argument`: which argument was refused, and its bounds.
    std::string detail{};

    /// The code, the detail and the votes in one sentence, without secrets.
    REDLOCK_EXPORT std::string message() const;

    friend bool operator==(const refusal& r, const error_code& e) noexcept { return r.code == e; }
    friend bool operator==(const refusal& r, errc e) noexcept { return r.code == e; }
    friend bool operator==(const refusal& r, condition c) noexcept { return r.code == c; }
};

/// Called by `result<T, refusal>::value()` if there is no value. Throws `std::system_error` with
/// the code and a text that says why, node by node.
[[noreturn]] REDLOCK_EXPORT void throw_exception_from_error(const refusal& r,
                                                            const boost::source_location& where);

/// The code of an exception that `client::async_with_lock` completed with: zero if there is none.
/// An exception that carries no code is rethrown.
REDLOCK_EXPORT error_code code_of(const std::exception_ptr& why);

}  // namespace redlock
