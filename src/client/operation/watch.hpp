// Waiting for a resource to change hands; takes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/operation/watches.hpp"

#include <redlock/error.hpp>
#include <redlock/resource_state.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace redlock::detail {

/// It sends nothing by itself: `watches` does, for all of them.
class watch_operation : public watcher {
public:
    watch_operation(std::string resource, resource_state last)
        : resource_(std::move(resource)), last_(std::move(last)) {}
    void start(time_point now) final;
    void on_settled(time_point now) final;
    void cancel(error_code why, time_point) final { end(why, {}); }

protected:
    /// Called exactly once.
    virtual void complete(error_code outcome, resource_state state) = 0;

private:
    const std::string& resource() const noexcept final { return resource_; }
    void showed(const resource_state& state) final;
    void end(error_code outcome, resource_state state);

    void on_reply(std::size_t, std::uint32_t, const resp::reply&, time_point) final {}
    void on_failure(std::size_t, std::uint32_t, const wire::failure&, time_point) final {}
    bool is_wanted(std::uint32_t) const noexcept final { return false; }

    std::string resource_;
    resource_state last_;
    bool over_ = false;
};

}  // namespace redlock::detail
