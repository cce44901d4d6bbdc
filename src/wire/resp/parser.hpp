// Turns received bytes into RESP2 replies within limits; knows nothing of sockets or commands.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/reply.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace redlock::resp {

struct parser_limits {
    std::size_t max_reply_bytes = 1 << 20;  ///< Of one whole reply, as it is on the wire.
    std::size_t max_elements = 65536;       ///< Of one whole reply, those of nested arrays too.
};

/// One per connection. Allocates nothing once its buffers have grown to the replies they see.
class parser {
public:
    enum class outcome : std::uint8_t {
        need_more,  ///< All bytes are taken and no further reply is complete.
        complete,   ///< `out` is the next reply. More may follow: call again.
        broken,     ///< Protocol error or limit passed; stays so until `reset()`.
    };

    explicit parser(parser_limits limits = {});
    ~parser();
    parser(parser&&) noexcept;
    parser& operator=(parser&&) noexcept;

    /// Takes bytes from the front of `bytes` and advances it. It may take more than the reply it
    /// returns, so an empty `bytes` does not mean that nothing is left: call until `need_more`.
    /// `out` is valid until the next call of any member that is not const; it is nil unless the
    /// outcome is `complete`.
    outcome feed(std::string_view& bytes, reply& out);

    /// Why the parser is broken; empty when it is not.
    std::string_view error() const noexcept;

    /// Forgets everything, for a new connection.
    void reset();

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace redlock::resp
