// The operation that waits until a client is closed.
// SPDX-License-Identifier: MIT
#include "client/operation/close.hpp"

#include "client/operation/client_parts.hpp"

namespace redlock::detail {

void close_operation::start(time_point now) { client().host.close(now); }

void close_operation::cancel(error_code why, time_point) {
    if (!over_ && why == errc::client_closed) return client().host.await_closed(*this);
    end(why);
}

void close_operation::end(error_code outcome) {
    if (over_) return;
    over_ = true;
    client().host.finished(*this);
    complete(outcome);
}

}  // namespace redlock::detail
