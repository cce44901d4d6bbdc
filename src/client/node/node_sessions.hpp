// The sessions of all nodes as one: hands commands to them; knows no operation and no answer.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/call.hpp"
#include "client/node/session.hpp"
#include "value/node_mask.hpp"
#include "value/quorum.hpp"
#include "wire/request.hpp"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace redlock::detail {

class node_sessions {
public:
    void add(std::unique_ptr<session> s) {
        assert(s && size() < max_nodes);
        sessions_.push_back(std::move(s));
    }
    void clear() noexcept { sessions_.clear(); }

    std::size_t size() const noexcept { return sessions_.size(); }
    session& operator[](std::size_t node) const noexcept {
        assert(node < size());
        return *sessions_[node];
    }
    auto begin() const noexcept { return sessions_.begin(); }
    auto end() const noexcept { return sessions_.end(); }

    node_mask all() const noexcept { return node_mask::first(size()); }

    struct fan_out {
        node_mask sent{};
        std::vector<std::pair<std::size_t, wire::failure>> failures;
    };
    /// Hands it to the nodes of `mask`. The failures are for the caller to count, after it has noted
    /// what was sent.
    fan_out send(call& what, std::uint32_t round, const wire::request& text, time_point now,
                 node_mask mask) const;
    /// An empty one to write, before it is sent. Each call ends the use of the one before.
    wire::request& blank() noexcept {
        blank_.clear();
        return blank_;
    }
    /// In what time all nodes have answered one command about a lease of `ttl`, if they ever do: so
    /// long an operation waits for them at most.
    duration time_for_all(duration ttl = core::any_ttl) const noexcept;
    /// In what time a quorum has, by those of its nodes with the shortest time-outs.
    duration time_for_quorum(const node_lists& lists) const noexcept;
    /// The same by the shortest time-outs that they have for any ttl: what the windows on the load
    /// go by.
    duration shortest_time_for_quorum(const node_lists& lists) const noexcept;
    /// How long after the request the last node may vote: it may have to be sent the scripts
    /// first.
    duration time_to_vote(duration ttl = core::any_ttl) const noexcept {
        return 2 * time_for_all(ttl);
    }

private:
    std::vector<std::unique_ptr<session>> sessions_;
    wire::request blank_;
};

}  // namespace redlock::detail
