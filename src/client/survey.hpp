// What operations use of their client, and the operation that queries every node.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/context.hpp"
#include "client/lease.hpp"
#include "client/node_tracker.hpp"
#include "client/remote_queue.hpp"
#include "client/session.hpp"
#include "core/load.hpp"
#include "core/queue.hpp"
#include "value/clock.hpp"
#include "wire/failure.hpp"
#include "wire/request.hpp"
#include "wire/resp/command.hpp"

#include <redlock/error.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace redlock::detail {

/// Keeps the operations, and the leases that they are granted.
class operation_host : public lease_keeper {
public:
    /// The operation is forgotten. Called before its completion is handed over, which may throw
    /// where memory is short.
    virtual void finished(operation& what) noexcept = 0;
    /// Begins what another operation, or the client itself, needs done.
    virtual void begin(operation_ptr what, time_point now) = 0;
    /// Calls `on_settled` when it is known which nodes may vote: at once, or later.
    virtual void await_settled(operation& what, time_point now) = 0;
    /// Calls `on_closed` when the client is closed, at once if it is. Until then closing does not
    /// end `what`.
    virtual void await_closed(operation& what) = 0;
    virtual void close(time_point now) = 0;
    /// Keeps a lease that was granted.
    virtual void adopt(held_lease_ptr what) = 0;
    /// Gives a lease back in the background, or lets it run out.
    virtual void give_back(lease_state& state, time_point now) = 0;
    virtual void let_go(lease_state& state, time_point now) = 0;
    /// Where the leases of this client go when their holders are done with them.
    virtual std::shared_ptr<lease_home> home() const = 0;

protected:
    ~operation_host() = default;
};

class watches;

struct client_parts {
    context& shared;
    node_sessions& nodes;
    node_tracker& tracker;
    core::local_queues& local;
    remote_queue& remote;
    core::admission& admission;
    owner_claims& owners;
    watches& watched;
    operation_host& host;
};

inline bool operation::leave() noexcept {
    if (std::exchange(is_over_, true)) return false;
    client().host.finished(*this);
    return true;
}

/// It sends questions, each to some nodes: the first ones by `begin`, when it is known which nodes
/// may vote. When each of these has answered or failed, `go_on` sends others or ends it. A node
/// answers or fails in time by itself, so a survey needs no deadline of its own.
template <class Result>
class node_survey : public operation {
public:
    void start(time_point now) final {
        if (!check()) return end(errc::invalid_argument);
        client().host.await_settled(*this, now);
    }
    void on_settled(time_point now) final {
        if (!is_over()) proceed(now);
    }
    void cancel(error_code why, time_point) final { end(why); }

protected:
    /// Called exactly once.
    virtual void complete(error_code outcome, Result result) = 0;

    /// Whether the arguments are valid: else nothing is sent.
    virtual bool check() { return true; }
    /// Both send questions by `ask` and return true; or return false, after `end` or to call
    /// `proceed` later.
    virtual bool begin(time_point now) = 0;
    virtual bool go_on(time_point now) = 0;
    /// Writes the question for that node. Returns whether it calls a script.
    virtual bool write(std::size_t node, std::uint32_t question, wire::request& out,
                       resp::script_form form) const = 0;
    /// The answer of a node to one question.
    virtual void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
                      time_point now) = 0;
    /// The node did not answer it.
    virtual void failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                        time_point now) = 0;
    /// What the caller gets at the end, however that comes.
    virtual Result take_result() { return std::move(result_); }

    /// All these nodes get the same. What a node fails at once counts as answered, but leads to
    /// `go_on` only after all that is sent together.
    void ask(std::uint32_t question, node_mask nodes, time_point now) {
        if (nodes.empty()) return;
        wire::request& what = client().nodes.blank();
        write(*nodes.begin(), question, what, resp::script_form::by_hash);
        ask(question, what, nodes, now);
    }
    void ask(std::uint32_t question, const wire::request& what, node_mask nodes, time_point now) {
        open_ += nodes.size();
        const auto result = client().nodes.send(*this, question, what, now, nodes);
        for (const auto& [node, why] : result.failures) on_failure(node, question, why, now);
    }
    void proceed(time_point now) {
        assert(open_ == 0);
        bool has_asked = true;
        while (has_asked && open_ == 0 && !is_over()) {
            open_ = 1;  // until all is sent
            has_asked = std::exchange(has_begun_, true) ? go_on(now) : begin(now);
            --open_;
        }
    }
    void end(error_code outcome) {
        if (leave()) complete(outcome, take_result());
    }
    /// Without an error where these nodes are a quorum.
    void end_by(node_mask nodes) {
        const bool is_quorum = client().shared.lists().is_quorum(nodes);
        end(is_quorum ? error_code() : error_code(errc::no_quorum));
    }
    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) override {
        if (is_over()) return;
        read(node, round, reply, now);
        answered(now);
    }

    Result result_{};

private:
    void on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                    time_point now) final {
        if (is_over()) return;
        failed(node, round, why, now);
        answered(now);
    }
    bool is_wanted(std::uint32_t) const noexcept final { return !is_over(); }
    bool write_again(std::size_t node, std::uint32_t question, wire::request& out,
                     time_point) const final {
        return write(node, question, out, resp::script_form::whole);
    }
    void answered(time_point now) {
        if (is_over()) return;
        assert(open_ > 0);
        if (--open_ == 0) proceed(now);
    }

    std::size_t open_ = 0;  // answers still to come
    bool has_begun_ = false;
};

}  // namespace redlock::detail
