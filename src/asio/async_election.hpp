// An election for asynchronous callers: campaign, lead, observe.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/initiate_election.hpp>
#include <redlock/lease.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_state.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

namespace redlock::detail {

/// One campaign. Its acquire owns it.
struct campaign {
    /// What follows where it succeeds: the term alone, or a callback that works under it.
    enum class then : bool { lead, work };
    campaign(election_ptr in, campaign_handler h, then what)
        : of(std::move(in)), handler(std::move(h)), follows(what) {}

    const election_ptr of;
    campaign_handler handler;
    const then follows;
    // Under the election's mutex:
    asio::cancellation_signal signal{};  // of the acquire
    bool has_begun = false;              // the acquire, so that the signal reaches it
    bool is_withdrawn = false;
};

class election_state {
public:
    election_state(impl_ptr client, std::string called, const acquire_options& how);

    /// False, and nothing changes, if there is a campaign, a callback or a term. A term that was
    /// lost makes room.
    bool begin(const std::shared_ptr<campaign>& what);
    /// The acquire of the campaign was started: it can be cancelled.
    void has_begun(campaign& what);
    void withdraw(campaign& what);
    /// Whether the election leads from now on. If not, the lease is to be given back.
    bool end(campaign& what, lease& granted);
    /// Takes the term away; empty if there is none. A campaign is withdrawn instead, and a callback
    /// is to stop.
    struct departure {
        bool was_under_way = false;  ///< A campaign or a callback.
        std::optional<lease> term{};
    };
    departure resign();

    /// Runs the callback of a campaign that ended with `then::work`. It is to stop when `stop` is
    /// requested, at a loss, and by `resign()`.
    void work(const std::function<void(const lease&, std::stop_token)>& callback,
              const std::stop_token& stop);
    /// The callback has ended: takes the term away.
    lease end_work();

    /// `get` of the lease of the term; a value that stands for nothing if there is no term.
    template <class F>
    auto of_term(F get) const {
        using value = std::decay_t<std::invoke_result_t<F, const lease&>>;
        const std::lock_guard lock(gate_);
        return term_ ? std::invoke(get, *term_) : value();
    }

    const impl_ptr impl;
    const std::string name;
    const acquire_options options;

private:
    static void withdraw_locked(campaign& what);

    mutable std::mutex gate_;
    std::optional<lease> term_;  // under a callback only the thread that runs it takes it away
    std::optional<std::stop_source> work_;  // of that callback
    std::weak_ptr<campaign> running_;
};

/// One `async_observe`. The watch that is under way owns it.
class observation : public std::enable_shared_from_this<observation> {
public:
    observation(impl_ptr client, std::string name, std::optional<leader_info> last,
                leader_handler handler)
        : impl_(std::move(client)), name_(std::move(name)), last_(std::move(last)),
          handler_(std::move(handler)) {}

    void start();

private:
    void watch();
    void on_change(error_code why, resource_state shown);
    void cancel();
    void finish(error_code why, std::optional<leader_info> found);

    const impl_ptr impl_;
    const std::string name_;
    const std::optional<leader_info> last_;
    resource_state shown_;
    leader_handler handler_;

    std::mutex gate_;  // watches follow each other, but a cancellation comes from any thread
    bool is_cancelled_ = false;
    asio::cancellation_signal signal_;  // of the watch that is under way
};

}  // namespace redlock::detail
