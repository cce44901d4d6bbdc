// Taking over a lease that another process acquired; takes no key that is free.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/lease.hpp"
#include "core/extend.hpp"
#include "wire/failure.hpp"
#include "wire/lock.hpp"
#include "wire/owner_value.hpp"

#include <redlock/options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::detail {

/// One round of extensions that prolong the keys only where they still hold the lease's value.
///
/// How long the lease was valid in the other process is not known here, so only what a quorum says
/// now counts. A key that is gone is not taken again, unlike by a renewal: another client may have
/// held the lock in between, under a higher fence, and this lease's fence must not come after it.
/// Where a quorum denies the lease, the keys that were prolonged are given back: else each try
/// would have what is left of a lease that is over stand in the way for longer.
class adopt_operation : public operation {
public:
    adopt_operation(std::string token, const acquire_options& options)
        : token_(std::move(token)), options_(options) {}
    void start(time_point now) final;
    void on_settled(time_point now) final;
    void cancel(error_code why, time_point now) final { end(why, nullptr, now); }
    void shorten(duration gap) final {
        if (count_) count_->shorten(gap);
    }

protected:
    virtual void complete(error_code outcome, std::shared_ptr<lease_state> state) = 0;

private:
    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) final;
    void on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                    time_point now) final;
    void on_late_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                       time_point now) final;
    /// Also for a node that was still connecting when the others had decided: as long as the lease
    /// is held, the more nodes keep it, the more of them may fail.
    bool is_wanted(std::uint32_t) const noexcept final { return !is_over() || is_held(); }
    duration lease_ttl(std::uint32_t) const noexcept final { return ttl_; }
    bool write_again(std::size_t node, std::uint32_t round, wire::request& out,
                     time_point now) const final;

    std::string check();
    std::string resource() const;
    bool is_of_several() const noexcept { return known_->resources.size() > 1; }
    bool is_held() const noexcept { return adopted_ && adopted_->is_held(); }
    const footprint& left() const noexcept;
    footprint traces_of_lease(time_point now);
    void write(wire::request& out) const;
    void note(std::size_t node, const wire::failure& why, time_point now);
    void cast(std::size_t node, core::choice c, time_point now);
    void learn_late(std::size_t node, const wire::compare_answer& answer, time_point now);
    void take(time_point now);
    void deny(time_point now);
    void end(error_code outcome, std::shared_ptr<lease_state> state, time_point now,
             std::string_view detail = {});

    std::string token_;
    acquire_options options_;
    std::optional<wire::lease_token> known_;
    footprint left_;  // until the lease has it
    duration ttl_{};
    time_point begun_{};
    event_ids ids_;
    std::optional<core::adoption> count_;
    cast_votes votes_;
    std::shared_ptr<lease_state> adopted_;
};

}  // namespace redlock::detail
