// Waiting for a lease to be lost; sends nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/lease/held_lease.hpp"
#include "client/base/operation.hpp"

#include <memory>
#include <string>

namespace redlock::detail {

class lost_operation : public operation, private dependent {
public:
    explicit lost_operation(std::shared_ptr<lease_state> state) : state_(std::move(state)) {}
    void start(time_point now) final;
    void cancel(error_code why, time_point now) final;

protected:
    virtual void complete(error_code outcome, loss why) = 0;

private:
    void on_lease_over(std::optional<loss> lost, error_code why, time_point now) final;
    void end(error_code outcome, loss why);

    // It sends nothing, so nothing is ever answered.
    void on_reply(std::size_t, std::uint32_t, const resp::reply&, time_point) final {}
    void on_failure(std::size_t, std::uint32_t, const wire::failure&, time_point) final {}
    bool is_wanted(std::uint32_t) const noexcept final { return false; }

    std::shared_ptr<lease_state> state_;
    bool over_ = false;
};

}  // namespace redlock::detail
