// Giving a key back on the nodes that may have it; knows nothing of why.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/release.hpp"
#include "runtime/lease_state.hpp"
#include "runtime/operation.hpp"

#include <memory>
#include <string>

namespace redlock::detail {

/// One compare-and-delete per node. It outlives its completion: a node whose connection breaks gets
/// it first on the next one, until no key of the lease can be left there.
class release_round : public operation {
public:
    /// The round goes on in the background; only the completion is called off.
    void cancel(error_code why, time_point now) final;

protected:
    /// To the nodes of `ask`; it is owed to those that may have the key.
    void send(std::string key, std::string value, node_mask ask, node_mask may_have_key,
              time_point owed_until, time_point now);
    /// The nodes have answered, as far as they will: leads to `end`.
    virtual void settled(error_code outcome) { end(outcome); }
    void end(error_code outcome);
    virtual void complete(error_code outcome) = 0;

private:
    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) final;
    void on_failure(std::size_t node, std::uint32_t round, const net::failure& why,
                    time_point now) final;
    bool is_wanted(std::uint32_t) const noexcept final { return true; }
    bool write_with_script(std::uint32_t round, std::string& out) const final;
    time_point owed_until(std::size_t node) const noexcept final {
        return (may_have_key_ >> node & 1U) != 0 ? owed_until_ : time_point::min();
    }
    void cast(std::size_t node, core::ballot b);

    std::string key_;
    std::string value_;
    time_point owed_until_ = time_point::min();
    node_mask may_have_key_ = 0;
    std::optional<core::release> machine_;
    bool over_ = false;
};

/// Nobody waits for it.
class background_release final : public release_round {
public:
    background_release(std::string key, std::string value, node_mask nodes, time_point owed_until)
        : key_(std::move(key)), value_(std::move(value)), nodes_(nodes), until_(owed_until) {}
    void start(time_point now) override {
        send(std::move(key_), std::move(value_), nodes_, nodes_, until_, now);
    }
    void discard() noexcept override {}

private:
    void complete(error_code) override {}

    std::string key_;
    std::string value_;
    node_mask nodes_;
    time_point until_;
};

/// Asked for by the holder.
class release_operation : public release_round {
public:
    explicit release_operation(std::shared_ptr<lease_state> state) : state_(std::move(state)) {}
    void start(time_point now) final;

private:
    void settled(error_code outcome) final;

    std::shared_ptr<lease_state> state_;
    bool was_lost_ = false;
};

}  // namespace redlock::detail
