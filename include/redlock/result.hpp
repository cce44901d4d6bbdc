// The value-or-error type of the blocking interface; knows no operation.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>

#include <boost/system/result.hpp>

namespace redlock {

/// A value, or the reason why there is none (`boost::system::result`).
template <class T, class E = error_code>
using result = boost::system::result<T, E>;

}  // namespace redlock
