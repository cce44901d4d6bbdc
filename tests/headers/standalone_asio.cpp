// Compiled only: the headers beside standalone Asio, whose namespace is `asio`.
// SPDX-License-Identifier: MIT
#include <redlock/redlock.hpp>

namespace asio {
class io_context {};
}  // namespace asio

using namespace redlock;

asio::io_context standalone() { return {}; }
