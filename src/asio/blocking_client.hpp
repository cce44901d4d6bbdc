// How the files of this folder block on the client behind a blocking client.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/blocking_client.hpp>
#include <redlock/detail/begun_call.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/error.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <functional>
#include <stop_token>
#include <utility>

namespace redlock::detail {

struct blocking_access {
    /// Null if the client was moved from.
    static impl_ptr impl(const blocking_client& of) noexcept;

    using starter = std::function<void(asio::cancellation_slot,
                                       const std::function<void(error_code)>& done)>;
    /// Calls `start`, and blocks until that has called `done`, now or in the client's own thread. A
    /// stop is emitted to the slot, in that thread. Returns the error, or why nothing was started.
    static error_code run(blocking_client& of, const std::stop_token& stop, const starter& start);

    /// The same for what `start(handler)` initiates, with the value that it completes with.
    template <class Value, class F>
    static std::pair<error_code, Value> value_of(blocking_client& of, const std::stop_token& stop,
                                                 F&& start) {
        Value got{};
        const error_code why = run(of, stop, [&](asio::cancellation_slot slot, const auto& done) {
            start(asio::bind_cancellation_slot(slot, [&got, done](error_code ec, Value value) {
                got = std::move(value);
                done(ec);
            }));
        });
        return {why, std::move(got)};
    }

    /// See `begin_acquire`.
    static std::function<void()> begin(blocking_client& of, resource_list resources,
                                       const acquire_options& options, lease_outcome done);
};

}  // namespace redlock::detail
