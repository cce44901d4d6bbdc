// The value-or-error type of the blocking interface; knows no operation.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>
#include <redlock/export.hpp>

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

namespace redlock {

/// Why a call of the blocking interface has no value: an error code, of which `value()` makes a
/// `std::system_error`.
class call_error : public error_code {
public:
    using error_code::error_code;
    call_error() noexcept = default;
    call_error(const error_code& why) noexcept : error_code(why) {}
};

/// Called by `result<T>::value()` if there is no value. Throws `std::system_error` with the code.
[[noreturn]] REDLOCK_EXPORT void throw_exception_from_error(const call_error& e,
                                                            const boost::source_location& where);

/// A value, or the reason why there is none (`boost::system::result`).
template <class T, class E = call_error>
using result = boost::system::result<T, E>;

}  // namespace redlock
