// Waiting for the first connections of a client; knows no operation.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/event.hpp>
#include <redlock/options.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <set>
#include <string>

namespace redlock::tool {

/// On a busy machine the handshake with a healthy node may take longer than `connect_timeout`. A
/// service has time to try again; a command that asks once would say that the nodes are down. So it
/// first waits until a quorum of nodes is connected. It does not wait where so many nodes have
/// refused the connection that there can be no quorum, and for three seconds at most.
class first_contact {
public:
    /// Observes the client that will be made with these options, and must outlive it.
    explicit first_contact(client_options& options);
    first_contact(const first_contact&) = delete;
    first_contact& operator=(const first_contact&) = delete;

    /// Runs the loop of the client's events until that is known, or until `is_called_off`. Whether a
    /// quorum has been connected.
    bool wait(boost::asio::io_context& context, const std::function<bool()>& is_called_off = {});

private:
    void happened(const event& e);
    bool is_made() const { return met_.size() >= quorum_; }
    bool is_hopeless() const { return refused_.size() > nodes_ - quorum_; }

    static constexpr auto longest = std::chrono::seconds(3);

    std::size_t nodes_;
    std::size_t quorum_;
    std::chrono::steady_clock::time_point until_ = std::chrono::steady_clock::now() + longest;
    std::set<std::string> met_;
    std::set<std::string> refused_;  // not by silence, when last tried
};

}  // namespace redlock::tool
