// What each node answered to the tries of one acquire, for its caller; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/context.hpp"
#include "client/lease/lease_state.hpp"
#include "value/time.hpp"
#include "wire/acquire.hpp"

#include <redlock/error.hpp>
#include <redlock/vote.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::detail {

class try_votes {
public:
    /// A new try begins. The votes of the last one are kept.
    void next_try() noexcept { before_ = std::move(votes_); }
    /// All nodes answered so; or, `pending`, have not answered a round yet.
    void set_all(const context& shared, vote answer, error_code why, std::string_view detail);
    /// What a round requested.
    struct question {
        std::span<const std::string> resources;
        std::uint16_t slots = 0;
        std::uint64_t fence = 0;
        time_point sent_at{};
        /// The nodes' time now, in us; nothing where it is not known.
        std::optional<std::int64_t> node_time_us{};
    };
    void note(std::size_t node, const wire::acquire_answer& answer, const question& query,
              time_point now);
    /// A node that has not answered this try is shown as it answered the one before, which is why
    /// this one was made.
    void recall();

    const cast_votes& all() const noexcept { return votes_; }
    cast_votes take() noexcept { return std::move(votes_); }

private:
    cast_votes votes_;
    cast_votes before_;
};

}  // namespace redlock::detail
