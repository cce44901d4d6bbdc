// Rounds that prolong a lease, asked for by its holder or by its renewal; knows no timers.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/extension.hpp"
#include "runtime/holding.hpp"
#include "runtime/operation.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace redlock::detail {

/// One round of compare-and-expire over all nodes.
class extension_round : public operation, private dependent {
public:
    void cancel(error_code why, time_point now) final;

protected:
    /// Sends it; the outcome comes through `on_end`, exactly once.
    void send(holding_ptr lease, duration ttl, time_point now);
    /// Ends it, also without having been sent.
    void end(error_code outcome, time_point now);
    virtual void on_end(error_code outcome, time_point now) = 0;
    /// The lease it is about; null once it has ended or before it was sent.
    const holding_ptr& lease() const noexcept { return lease_; }

private:
    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) final;
    void on_failure(std::size_t node, std::uint32_t round, const net::failure& why,
                    time_point now) final;
    bool is_wanted(std::uint32_t round) const noexcept final;
    bool write_with_script(std::uint32_t round, std::string& out) const final;
    void on_lease_over(std::optional<loss> lost, error_code why, time_point now) final;
    void cast(std::size_t node, core::ballot b, time_point now);

    holding_ptr lease_;
    duration ttl_{};
    std::optional<core::extension> machine_;
    bool over_ = false;
};

/// The lease's own renewal, for its present ttl.
class renewal final : public extension_round {
public:
    explicit renewal(holding_ptr lease) : target_(std::move(lease)) {}
    void start(time_point now) override;
    void discard() noexcept override {}

private:
    void on_end(error_code outcome, time_point now) override;

    holding_ptr target_;
};

/// Asked for by the holder.
class extend_operation : public extension_round {
public:
    extend_operation(std::shared_ptr<lease_state> state, std::chrono::milliseconds ttl)
        : state_(std::move(state)), asked_(ttl) {}
    void start(time_point now) final;

protected:
    virtual void complete(error_code outcome) = 0;

private:
    void on_end(error_code outcome, time_point now) final;

    std::shared_ptr<lease_state> state_;
    std::chrono::milliseconds asked_;
};

}  // namespace redlock::detail
