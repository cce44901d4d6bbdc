// The operation that waits until a client is closed; knows no connection and no release.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/operation.hpp"

#include <cstddef>
#include <cstdint>

namespace redlock::detail {

/// Closes the client, unless that is under way or done, and ends when the client is closed. Closing
/// ends every other operation; this one goes on until the client is closed.
class close_operation : public operation {
public:
    void start(time_point now) final;
    /// client_closed means that the closing has begun, which this waits for: it goes on.
    void cancel(error_code why, time_point now) final;
    void on_closed(error_code outcome) final { end(outcome); }

protected:
    virtual void complete(error_code outcome) = 0;

private:
    void end(error_code outcome);

    // It sends nothing, so no reply or failure comes.
    void on_reply(std::size_t, std::uint32_t, const resp::reply&, time_point) final {}
    void on_failure(std::size_t, std::uint32_t, const wire::failure&, time_point) final {}
    bool is_wanted(std::uint32_t) const noexcept final { return false; }

    bool over_ = false;
};

}  // namespace redlock::detail
