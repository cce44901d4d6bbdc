// A client whose operations a command waits for: its first connections and its end.
// SPDX-License-Identifier: MIT
#include "tools/asking.hpp"

#include "tools/exit_status.hpp"

#include <redlock/clock.hpp>
#include <redlock/error.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/vote.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace redlock::tool {

namespace asio = boost::asio;

void drain(asio::io_context& context, std::chrono::milliseconds limit,
           const std::function<void()>& leave) {
    using namespace std::chrono_literals;
    context.restart();
    context.run_for(limit + 100ms);
    if (!context.stopped()) leave();
}

void drain(asio::io_context& context, std::chrono::milliseconds limit, int status) {
    drain(context, limit, [status] { ::_exit(status); });
}

std::chrono::milliseconds longest_answer(const client_options& client) {
    return client.node_timeout.count() > 0 ? client.node_timeout : longest_measured_timeout;
}

first_contact::first_contact(client_options& options)
    : nodes_(options.nodes.size()),
      quorum_(redlock::quorum_of(nodes_)),
      until_(std::chrono::steady_clock::now() + options.connect_timeout +
             (options.node_timeout.count() > 0 ? options.node_timeout
                                               : shortest_measured_timeout)) {
    options.on_event = [this, next = std::move(options.on_event)](const event& e) {
        happened(e);
        if (next) next(e);
    };
}

void first_contact::happened(const event& e) {
    const std::string node(e.node);
    if (e.kind == event_kind::node_up) {
        met_.insert(node);
        refused_.erase(node);
    } else if (e.kind == event_kind::node_down) {
        e.error == errc::timed_out ? void(refused_.erase(node)) : void(refused_.insert(node));
    }
}

bool first_contact::wait(asio::io_context& context,
                         const std::function<bool()>& is_called_off) {
    while (!is_made() && !is_hopeless() && !(is_called_off && is_called_off())) {
        if (std::chrono::steady_clock::now() >= until_) break;
        context.run_one_until(until_);
    }
    return is_made();
}

int work(client_options options, const work_of_client& start) {
    asio::io_context context(1);
    first_contact contact(options);
    client by(context.get_executor(), options);
    contact.wait(context);
    std::optional<int> status;
    start(by, [&status](int of) { status = of; });
    while (!status) context.run_one();
    by.close();
    drain(context, longest_answer(options), *status);
    return *status;
}

asking::asking(client_options options)
    : longest_answer_(tool::longest_answer(options)),
      contact_(observe(options)),
      client_(context_.get_executor(), std::move(options)) {
    for (const int s : not_ignored({SIGINT, SIGTERM, SIGHUP})) signals_.add(s);
    signals_.async_wait([this](error_code ec, int signal) {
        if (ec) return;
        ended_by_ = signal;
        give_up_.emit(asio::cancellation_type::terminal);
    });
}

void asking::wait_for_all(const lease& of) {
    using std::chrono::milliseconds;
    const auto until =
        clock::now() + std::min<milliseconds>(milliseconds(500), of.remaining() / 4);
    // A node answers in order, also one that is still being connected.
    asio::cancellation_signal enough;
    bool is_over = false;
    client_.async_inspect(
        std::string(of.resources().front()),
        asio::bind_cancellation_slot(
            enough.slot(), [&](error_code, const resource_state&) { is_over = true; }));
    while (!is_over && !is_called_off() && clock::now() < until) {
        context_.run_one_for(until - clock::now());
    }
    enough.emit(asio::cancellation_type::terminal);
    while (!is_over) context_.run_one();
}

int asking::end(int status) {
    if (ended_by_ != 0) status = signalled + ended_by_;
    signals_.cancel();
    client_.close();
    drain(context_, longest_answer_, status);
    return status;
}

client_options& asking::observe(client_options& options) {
    options.on_event = [this](const event& e) {
        if (e.kind == event_kind::refused) detail_ = e.detail;
    };
    return options;
}

}  // namespace redlock::tool
