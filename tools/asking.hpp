// Operations of one client, one after the other, for a command that prints what came of them; knows
// no operation in particular.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/drain.hpp"
#include "tools/exit_status.hpp"

#include <redlock/client.hpp>
#include <redlock/event.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <signal.h>

#include <chrono>
#include <string>
#include <tuple>
#include <utility>

namespace redlock::tool {

/// A client whose operations run one after the other. A signal calls them off, so that nothing of
/// them stays on the nodes.
class asking {
public:
    explicit asking(client_options options)
        : longest_answer_(tool::longest_answer(options)),
          client_(context_.get_executor(), observed(std::move(options))) {
        signals_.async_wait([this](error_code ec, int signal) {
            if (ec) return;
            ended_by_ = signal;
            give_up_.emit(boost::asio::cancellation_type::terminal);
        });
    }

    /// `start(client, handler)` begins the operation. Returns what it completed with.
    template <class... Results, class F>
    std::tuple<error_code, Results...> wait_for(F&& start) {
        std::tuple<error_code, Results...> got;
        bool is_over = false;
        start(client_, boost::asio::bind_cancellation_slot(
                           give_up_.slot(), [&](error_code ec, Results... results) {
                               got = {ec, std::move(results)...};
                               is_over = true;
                           }));
        while (!is_over) context_.run_one();
        return got;
    }

    /// Ends the client; the last releases leave. Returns the exit status: `status`, or that of the
    /// signal that ended it.
    int end(int status) {
        if (ended_by_ != 0) status = signalled + ended_by_;
        signals_.cancel();
        client_.close();
        drain(context_, longest_answer_, status);
        return status;
    }

    bool is_called_off() const noexcept { return ended_by_ != 0; }
    /// What the last event of a refusal said besides its error.
    const std::string& detail() const noexcept { return detail_; }

private:
    client_options observed(client_options options) {
        options.on_event = [this](const event& e) {
            if (e.kind == event_kind::refused) detail_ = e.detail;
        };
        return options;
    }

    std::string detail_;
    int ended_by_ = 0;
    std::chrono::milliseconds longest_answer_;
    boost::asio::io_context context_{1};
    boost::asio::signal_set signals_{context_, SIGINT, SIGTERM, SIGHUP};
    boost::asio::cancellation_signal give_up_;
    client client_;
};

}  // namespace redlock::tool
