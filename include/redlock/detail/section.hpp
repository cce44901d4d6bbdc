// How a function that ran under a lease ended; knows neither threads nor executors.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/access.hpp>
#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/lease.hpp>
#include <redlock/loss.hpp>
#include <redlock/refusal.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>

namespace redlock::detail {

/// What `with_lock` and `client::async_with_lock` run.
template <class F>
concept section_function = std::invocable<F, const lease&, std::stop_token>;

/// Why a lease that was granted is over. The code is zero if it is not.
REDLOCK_EXPORT refusal why_over(const lease& held);

/// Why a lease was lost; empty if it was not. One that is over by the clock is `loss::expired`
/// before its client could report it.
REDLOCK_EXPORT std::optional<loss> loss_of(const lease& held) noexcept;

/// As `boost::system::system_error`, with the code and the reasons.
REDLOCK_EXPORT std::exception_ptr as_exception(const refusal& why);

/// Whether a section had its lease until its end. Constructed when the function has ended, before
/// the release.
class REDLOCK_EXPORT section_end {
public:
    explicit section_end(const lease& held)
        : state_(access::state(held)), before_(why_over(held)) {}
    /// The code is zero if the lease was held. `outcome`: what the release completed with.
    refusal after_release(error_code outcome) const;

private:
    std::shared_ptr<lease_state> state_;
    refusal before_;
};

}  // namespace redlock::detail
