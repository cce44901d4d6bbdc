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

namespace redlock::detail {

class election_state;
using election_ptr = std::shared_ptr<election_state>;

using campaign_handler = asio::any_completion_handler<void(error_code, refusal)>;
using leader_handler = asio::any_completion_handler<void(error_code, std::optional<leader_info>)>;

// Any thread may call the handlers; each posts itself to its executor. `executor_of`: the client's.
// All take the null pointer of an election that was moved from, and of a client that was.
REDLOCK_EXPORT election_ptr make_election(const impl_ptr& impl, std::string name,
                                          const acquire_options& options);
REDLOCK_EXPORT asio::any_io_executor executor_of(const election_ptr& state,
                                                 asio_build = {}) noexcept;
/// Ends the campaign that is under way, and releases the lease in the background.
REDLOCK_EXPORT void abandon_election(const election_ptr& state) noexcept;
REDLOCK_EXPORT bool holds_office(const election_ptr& state) noexcept;
REDLOCK_EXPORT std::uint64_t fence_of(const election_ptr& state) noexcept;
REDLOCK_EXPORT std::stop_token lost_token_of(const election_ptr& state) noexcept;
REDLOCK_EXPORT void touch_term_of(const election_ptr& state) noexcept;
REDLOCK_EXPORT void start_campaign(const election_ptr& state, campaign_handler handler);
REDLOCK_EXPORT void start_resign(const election_ptr& state, plain_handler handler);
REDLOCK_EXPORT void start_term_lost(const election_ptr& state, lost_handler handler);
REDLOCK_EXPORT void start_leader(const election_ptr& state, leader_handler handler);
REDLOCK_EXPORT void start_observe(const election_ptr& state, std::optional<leader_info> last,
                                  leader_handler handler);

}  // namespace redlock::detail
