// One connection as whoever performs its I/O sees it; knows nothing of what is said on it.
// SPDX-License-Identifier: MIT
#pragma once

#include "value/quorum.hpp"

#include <redlock/error.hpp>

#include <string>
#include <string_view>

namespace redlock::detail {

/// What a connection's state machine asks of the world. A performer reports back through
/// `connection::on_…`, never from within these calls.
class transport {
public:
    virtual void open() = 0;
    /// Drops the connection at once; nothing more is reported of it.
    virtual void drop() = 0;

protected:
    ~transport() = default;
};

/// What whoever performs reports of a connection, and writes to it: the bytes of `outgoing()` are
/// taken to the socket once per turn of its loop.
class connection {
public:
    virtual void on_open(time_point now) = 0;
    virtual void on_bytes(std::string_view bytes, time_point now) = 0;
    virtual void on_down(error_code why, time_point now) = 0;
    /// Bytes to write; the performer takes them from the front, and says so.
    virtual std::string& outgoing() noexcept = 0;
    virtual void on_written() noexcept = 0;

protected:
    ~connection() = default;
};

}  // namespace redlock::detail
