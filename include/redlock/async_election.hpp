// The election over the nodes, for programs with an event loop; names no socket and no script.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/client.hpp>
#include <redlock/detail/access.hpp>
#include <redlock/detail/initiate_election.hpp>
#include <redlock/export.hpp>
#include <redlock/leader_info.hpp>
#include <redlock/loss.hpp>
#include <redlock/options.hpp>
#include <redlock/refusal.hpp>

#include <boost/asio/async_result.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace redlock {

/// At most one leader of all programs that campaign under a name: an `election` over a `client`.
/// What is said there of leaders, of losses and of the next leader holds here, too.
///
/// Completion, cancellation, fork and thread safety of the `async_` functions are those of
/// `client`.
///
/// **Leaves behind.** The destructor of a leader resigns in the background, and ends a campaign
/// that is under way with `asio::error::operation_aborted`. Other operations go on.
/// **Thread safety.** Any thread may call any member. Only moving, assigning and destroying an
/// election exclude all other calls to it. One campaign at a time: a second one is
/// `errc::would_deadlock`.
class async_election {
public:
    /// Sends nothing. The options are those of `election`. The election uses the connections of
    /// `over`, also after that client is moved. Once they are closed, each operation completes
    /// with `errc::client_closed`; so the client may be destroyed before the election.
    async_election(client& over, std::string name, acquire_options options = {})
        : state_(detail::make_election(detail::access::impl(over), std::move(name), options)) {}
    ~async_election() { detail::abandon_election(state_); }
    /// The operations of an election that was moved from complete with `client_closed`. Those that
    /// are under way go on. An election that another one is assigned to ends as by its destructor.
    async_election(async_election&&) noexcept = default;
    async_election& operator=(async_election&& other) noexcept {
        if (this != &other) {
            detail::abandon_election(state_);
            state_ = std::move(other.state_);
        }
        return *this;
    }

    /// Completes when this election leads. While it waits it rides out failures of the nodes.
    ///
    /// **Completion.** Without an error the refusal is empty. Else it has the error, one vote per
    /// node, and a `message()` that says why.
    /// **Cancellation.** This election does not lead then. `async_resign` cancels it, too.
    /// **Leaves behind.** After an error what `client::async_acquire` leaves behind after one.
    /// **Errors.** `would_deadlock`: this election leads, or campaigns already. Else those of
    /// `client::async_acquire`: `contended` or `no_quorum` when `options.wait` is over.
    template <detail::token_for<void(error_code, refusal)> T = detail::default_token>
    [[nodiscard]] auto async_campaign(T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, refusal)>(
            detail::initiate<&detail::start_campaign, detail::election_ptr>{state_}, token);
    }

    /// Gives the leadership up; the next campaigner is woken. The leadership is over with this
    /// call, whatever the outcome. If a campaign is under way that ends instead, and this
    /// succeeds.
    ///
    /// **Completion, cancellation, leaves behind.** As `client::async_release`.
    /// **Errors.** `not_held`: this election does not lead; or the nodes say that the lease was
    /// gone already. `lost`: the lease was lost before. `no_quorum`: too few nodes answered.
    template <detail::token_for<void(error_code)> T = detail::default_token>
    [[nodiscard]] auto async_resign(T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code)>(
            detail::initiate<&detail::start_resign, detail::election_ptr>{state_}, token);
    }

    /// Waits until the leadership of this term is lost. A loss is a value, not an error.
    ///
    /// **Completion.** As `client::async_lost`.
    /// **Errors.** `not_held`: this election does not lead, or resigned instead.
    template <detail::token_for<void(error_code, loss)> T = detail::default_token>
    [[nodiscard]] auto async_lost(T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, loss)>(
            detail::initiate<&detail::start_term_lost, detail::election_ptr>{state_}, token);
    }

    /// The leader that a quorum of nodes names; empty if there is none. See `election::leader`.
    ///
    /// **Completion.** When every node has answered or failed.
    /// **Errors.** `no_quorum`: too few nodes answered. Else those of `client::async_inspect`.
    template <detail::token_for<void(error_code, std::optional<leader_info>)> T =
                  detail::default_token>
    [[nodiscard]] auto async_leader(T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, std::optional<leader_info>)>(
            detail::initiate<&detail::start_leader, detail::election_ptr>{state_}, token);
    }

    /// Completes with the leader as soon as it is another one than `last`, or was elected again;
    /// empty: there is no leader. How soon, and what counts as a change, see `election::observe`.
    /// `last` is copied during the call. It can't be a temporary: g++ 12 destroys one twice if it
    /// stands in a `co_await` expression.
    ///
    /// **Leaves behind.** Nothing, also when cancelled.
    /// **Errors.** Those of `client::async_watch`.
    template <detail::token_for<void(error_code, std::optional<leader_info>)> T =
                  detail::default_token>
    [[nodiscard]] auto async_observe(const std::optional<leader_info>& last, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, std::optional<leader_info>)>(
            detail::initiate<&detail::start_observe, detail::election_ptr>{state_}, token, last);
    }
    template <detail::token_for<void(error_code, std::optional<leader_info>)> T =
                  detail::default_token>
    [[nodiscard]] auto async_observe(std::nullopt_t, T&& token = T{}) {
        return boost::asio::async_initiate<T, void(error_code, std::optional<leader_info>)>(
            detail::initiate<&detail::start_observe, detail::election_ptr>{state_}, token,
            std::nullopt);
    }
    void async_observe(std::optional<leader_info>&& last, auto&&... token) = delete;

    /// See `election::held`, `election::fence`, `election::lost_token` and `election::touch`.
    [[nodiscard]] bool held() const noexcept { return detail::holds_office(state_); }
    std::uint64_t fence() const noexcept { return detail::fence_of(state_); }
    std::stop_token lost_token() const noexcept { return detail::lost_token_of(state_); }
    void touch() const noexcept { detail::touch_term_of(state_); }

private:
    detail::election_ptr state_;
};

}  // namespace redlock
