// Giving keys back on the nodes that may have them; waiting for a client's end or a lease's loss.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/lease.hpp"
#include "core/release.hpp"
#include "wire/failure.hpp"
#include "wire/lock.hpp"
#include "wire/request.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace redlock::detail {

/// One compare-and-delete per node. It outlives its completion: a node whose connection breaks gets
/// it first on the next one. Where a connection broke that may still hold commands of the lease, it
/// raises the fence above them. A key that has to stay in the way of others is not deleted, and
/// runs out.
///
/// Where another program may go on extending the lease, each node first notes that it may not take
/// the key again. A note does not last: what is owed may go out when those on the other nodes are
/// gone, and so goes to all of them again.
class release_round : public operation {
public:
    /// The round goes on in the background; only the completion is called off.
    void cancel(error_code why, time_point) final { end(why); }

protected:
    /// A waiter leaves the nodes' queues, or, with `waits_on`, stays in them and is not woken by
    /// the keys that it gives back itself.
    explicit release_round(bool waits_on) : waits_on_(waits_on) {}
    /// To the nodes of `ask`; it is owed to those that may have the key.
    void send(footprint left, node_mask ask, time_point now);
    /// The nodes have answered, as far as they will: leads to `end`.
    virtual void settled(error_code outcome) { end(outcome); }
    void end(error_code outcome);
    virtual void complete(error_code outcome) = 0;

private:
    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) final;
    void on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                    time_point now) final;
    void on_paid(time_point now) final;
    bool is_wanted(std::uint32_t) const noexcept final { return true; }
    bool write_again(std::size_t node, std::uint32_t round, wire::request& out,
                     time_point now) const final;
    bool is_owed(std::size_t node) const noexcept final;
    void send_to(node_mask nodes, time_point now);
    /// `is_again`: for the message of `release_facts`.
    void write(wire::request& out, std::size_t node, bool is_again, time_point now) const;
    void cast(std::size_t node, core::choice b);

    footprint left_;
    bool waits_on_;
    std::optional<core::release> machine_;
};

/// Nobody waits for it.
class background_release final : public release_round {
public:
    background_release(footprint left, bool waits_on)
        : release_round(waits_on), of_(std::move(left)) {}
    void start(time_point now) override;
    bool has_caller() const noexcept override { return false; }
    void discard() noexcept override {}

private:
    void complete(error_code) override {}

    footprint of_;
};

/// Called by the holder.
class release_operation : public release_round {
public:
    explicit release_operation(std::shared_ptr<lease_state> state)
        : release_round(false), state_(std::move(state)) {}
    void start(time_point now) final;

private:
    void settled(error_code outcome) final;

    std::shared_ptr<lease_state> state_;
    held_lease_ptr lease_;  // null where it was over
    time_point called_{};
    bool was_lost_ = false;
};

/// Closes the client, unless that is under way or done, and ends when the client is closed. Closing
/// ends every other operation; this one goes on until the client is closed.
class close_operation : public quiet_operation {
public:
    void start(time_point now) final;
    /// client_closed means that the closing has begun, which this waits for: it goes on.
    void cancel(error_code why, time_point now) final;
    void on_closed(error_code outcome) final { end(outcome); }

protected:
    virtual void complete(error_code outcome) = 0;

private:
    void end(error_code outcome);
};

class lost_operation : public quiet_operation, private dependent {
public:
    explicit lost_operation(std::shared_ptr<lease_state> state) : state_(std::move(state)) {}
    void start(time_point now) final;
    void cancel(error_code why, time_point) final { end(why, {}); }

protected:
    virtual void complete(error_code outcome, loss why) = 0;

private:
    void on_lease_over(std::optional<loss> lost, error_code why, time_point now) final;
    void end(error_code outcome, loss why);

    std::shared_ptr<lease_state> state_;
};

}  // namespace redlock::detail
