// What the operations of one asynchronous election share: its campaign and its term; knows no
// node.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/initiate_election.hpp>
#include <redlock/detail/kept_options.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace redlock::detail {

/// One `async_campaign`. Its acquire owns it.
struct campaign {
    campaign(election_ptr in, campaign_handler h) : of(std::move(in)), handler(std::move(h)) {}

    const election_ptr of;
    campaign_handler handler;
    // Under the election's mutex:
    asio::cancellation_signal signal{};  // of the acquire
    bool has_begun = false;              // the acquire, so that the signal reaches it
    bool is_withdrawn = false;
};

class election_state {
public:
    election_state(impl_ptr client, std::string called, const acquire_options& how);

    /// False, and nothing changes, if there is a campaign or a term. A term that was lost makes
    /// room.
    bool begin(const std::shared_ptr<campaign>& what);
    /// The acquire of the campaign was started: it can be cancelled.
    void has_begun(campaign& what);
    void withdraw(campaign& what);
    /// Whether the election leads from now on. If not, the lease is to be given back.
    bool end(campaign& what, lease& granted);
    /// Takes the term away; empty if there is none. If a campaign is under way withdraws that, and
    /// says so.
    struct departure {
        bool was_campaign = false;
        std::optional<lease> term{};
    };
    departure resign();

    bool is_held() const;
    std::uint64_t fence() const;
    std::stop_token lost_token() const;
    void touch() const;
    state_ptr term_state() const;  ///< Null if there is no term.

    const impl_ptr impl;
    const std::string name;
    const kept_options options;

private:
    static void withdraw_locked(campaign& what);

    mutable std::mutex gate_;
    std::optional<lease> term_;
    std::weak_ptr<campaign> running_;
};

}  // namespace redlock::detail
