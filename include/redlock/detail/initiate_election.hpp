// The boundary between the templates of an asynchronous election and the compiled library, which
// type-erases handlers.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/initiate.hpp>
#include <redlock/leader_info.hpp>
#include <redlock/refusal.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace redlock::detail {

class election_state;
using election_ptr = std::shared_ptr<election_state>;

using campaign_handler = asio::any_completion_handler<void(error_code, refusal)>;
using leader_handler = asio::any_completion_handler<void(error_code, std::optional<leader_info>)>;

// Any thread may call the handlers; each posts itself to its executor.
REDLOCK_EXPORT election_ptr make_election(const impl_ptr& impl, std::string name,
                                          const acquire_options& options);
/// Ends the campaign that is under way, and releases the lease in the background.
REDLOCK_EXPORT void abandon_election(election_state& state) noexcept;
REDLOCK_EXPORT bool holds_office(const election_state& state) noexcept;
REDLOCK_EXPORT std::uint64_t fence_of(const election_state& state) noexcept;
REDLOCK_EXPORT std::stop_token lost_token_of(const election_state& state) noexcept;
REDLOCK_EXPORT void touch_term_of(const election_state& state) noexcept;
REDLOCK_EXPORT void start_campaign(const election_ptr& state, campaign_handler handler);
REDLOCK_EXPORT void start_resign(const election_ptr& state, plain_handler handler);
REDLOCK_EXPORT void start_term_lost(const election_ptr& state, lost_handler handler);
REDLOCK_EXPORT void start_leader(const election_ptr& state, leader_handler handler);
REDLOCK_EXPORT void start_observe(const election_ptr& state, std::optional<leader_info> last,
                                  leader_handler handler);

// Classes with constructors, as those of the client are.
class initiate_of_election : public initiate {
public:
    initiate_of_election(impl_ptr impl, election_ptr state) noexcept
        : initiate(std::move(impl)), state_(std::move(state)) {}

protected:
    election_ptr state_;
};

class initiate_campaign : public initiate_of_election {
public:
    using initiate_of_election::initiate_of_election;
    template <class Handler>
    void operator()(Handler&& handler) const {
        start_campaign(state_, homing(std::forward<Handler>(handler)));
    }
};

class initiate_resign : public initiate_of_election {
public:
    using initiate_of_election::initiate_of_election;
    template <class Handler>
    void operator()(Handler&& handler) const {
        start_resign(state_, homing(std::forward<Handler>(handler)));
    }
};

class initiate_term_lost : public initiate_of_election {
public:
    using initiate_of_election::initiate_of_election;
    template <class Handler>
    void operator()(Handler&& handler) const {
        start_term_lost(state_, homing(std::forward<Handler>(handler)));
    }
};

class initiate_leader : public initiate_of_election {
public:
    using initiate_of_election::initiate_of_election;
    template <class Handler>
    void operator()(Handler&& handler) const {
        start_leader(state_, homing(std::forward<Handler>(handler)));
    }
};

class initiate_observe : public initiate_of_election {
public:
    using initiate_of_election::initiate_of_election;
    template <class Handler>
    void operator()(Handler&& handler, std::optional<leader_info> last) const {
        start_observe(state_, std::move(last), homing(std::forward<Handler>(handler)));
    }
};

}  // namespace redlock::detail
