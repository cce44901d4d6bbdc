// Operations of one client, one after the other, for a command that prints what came of them; knows
// no operation in particular.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/drain.hpp"
#include "tools/exit_status.hpp"
#include "tools/first_contact.hpp"
#include "tools/signals.hpp"

#include <redlock/client.hpp>
#include <redlock/clock.hpp>
#include <redlock/event.hpp>
#include <redlock/resource_state.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <tuple>
#include <utility>

namespace redlock::tool {

/// A client whose operations run one after the other, once it has met the nodes. A signal calls them
/// off, so that nothing of them stays on the nodes.
class asking {
public:
    explicit asking(client_options options)
        : longest_answer_(tool::longest_answer(options)),
          contact_(observe(options)),
          client_(context_.get_executor(), std::move(options)) {
        for (const int s : not_ignored({SIGINT, SIGTERM, SIGHUP})) signals_.add(s);
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
        contact_.wait(context_, [this] { return is_called_off(); });
        if (is_called_off()) {
            std::get<0>(got) = boost::asio::error::operation_aborted;
            return got;
        }
        bool is_over = false;
        start(client_, boost::asio::bind_cancellation_slot(
                           give_up_.slot(), [&](error_code ec, Results... results) {
                               got = {ec, std::move(results)...};
                               is_over = true;
                           }));
        while (!is_over) context_.run_one();
        return got;
    }

    /// After a grant: waits until every node has answered what was asked of it, so that each that can
    /// keeps the key. A lease on a bare quorum ends with the first node that fails. A node that hangs
    /// costs half a second, or a quarter of the lease's time where that is less.
    void wait_for_all(const lease& of) {
        using std::chrono::milliseconds;
        const auto until =
            clock::now() + std::min<milliseconds>(milliseconds(500), of.remaining() / 4);
        // A node answers in order, also one that is still being connected.
        boost::asio::cancellation_signal enough;
        bool is_over = false;
        client_.async_inspect(
            std::string(of.resources().front()),
            boost::asio::bind_cancellation_slot(
                enough.slot(), [&](error_code, const resource_state&) { is_over = true; }));
        while (!is_over && !is_called_off() && clock::now() < until) {
            context_.run_one_for(until - clock::now());
        }
        enough.emit(boost::asio::cancellation_type::terminal);
        while (!is_over) context_.run_one();
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
    client_options& observe(client_options& options) {
        options.on_event = [this](const event& e) {
            if (e.kind == event_kind::refused) detail_ = e.detail;
        };
        return options;
    }

    std::string detail_;
    int ended_by_ = 0;
    std::chrono::milliseconds longest_answer_;
    boost::asio::io_context context_{1};
    boost::asio::signal_set signals_{context_};
    boost::asio::cancellation_signal give_up_;
    first_contact contact_;
    client client_;
};

}  // namespace redlock::tool
