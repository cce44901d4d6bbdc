// A client whose operations a command waits for: its first connections, its operations one after
// the other, and its end.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/signals.hpp"

#include <redlock/client.hpp>
#include <redlock/event.hpp>
#include <redlock/options.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace redlock::tool {

/// Lets a closed client send its last releases. The system's resolver can't be interrupted, and the
/// context's destructor waits for it: where it hangs, `leave` must end the process.
void drain(boost::asio::io_context& context, std::chrono::milliseconds limit,
           const std::function<void()>& leave);
/// The same; the process ends with `status`.
void drain(boost::asio::io_context& context, std::chrono::milliseconds limit, int status);

/// The most that a node may take over one command: `node_timeout`, or what is measured at most.
std::chrono::milliseconds longest_answer(const client_options& client);

/// On a busy machine the handshake with a healthy node may take longer than `connect_timeout`. A
/// service has time to try again; a command that asks once would say that the nodes are down. So it
/// first waits until a quorum of nodes is connected. It does not wait where so many nodes have
/// refused the connection that there can be no quorum, and for `connect_timeout` and one
/// `node_timeout` at most.
class first_contact {
public:
    /// Observes the client that will be made with these options, and must outlive it.
    explicit first_contact(client_options& options);
    first_contact(const first_contact&) = delete;
    first_contact& operator=(const first_contact&) = delete;

    /// Runs the loop of the client's events until that is known, or until `is_called_off`. Whether
    /// a quorum has been connected.
    bool wait(boost::asio::io_context& context, const std::function<bool()>& is_called_off = {});

private:
    void happened(const event& e);
    bool is_made() const { return met_.size() >= quorum_; }
    bool is_hopeless() const { return refused_.size() > nodes_ - quorum_; }

    std::size_t nodes_;
    std::size_t quorum_;
    std::chrono::steady_clock::time_point until_;
    std::set<std::string> met_;
    std::set<std::string> refused_;  // not by silence, when last tried
};

/// Makes a client of these options that has met the nodes, and begins its work by `start`, which is
/// given the client and a function that ends the work with an exit status. Returns that status when
/// the client is closed. A signal ends the process.
using work_of_client = std::function<void(client&, std::function<void(int)>)>;
int work(client_options options, const work_of_client& start);

/// A client whose operations run one after the other, once it has met the nodes. A signal calls
/// them off, so that nothing of them stays on the nodes.
class asking {
public:
    explicit asking(client_options options);

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

    /// After a grant: waits until every node has answered its requests, so that each that
    /// can keeps the key. A lease on a bare quorum ends with the first node that fails. A node
    /// that hangs costs half a second, or a quarter of the lease's time where that is less.
    void wait_for_all(const lease& of);

    /// Ends the client; the last releases leave. Returns the exit status: `status`, or that of the
    /// signal that ended it.
    int end(int status);

    bool is_called_off() const noexcept { return ended_by_ != 0; }
    /// What the last event of a refusal said besides its error.
    const std::string& detail() const noexcept { return detail_; }

private:
    client_options& observe(client_options& options);

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
