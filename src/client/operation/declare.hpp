// Declaring the nodes new, as only an operator may; knows no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/operation/node_survey.hpp"

#include <redlock/vote.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace redlock::detail {

/// Completes with one vote per node: granted where it took the declaration. No error if a quorum
/// took it.
class declare_operation : public node_survey<std::vector<node_vote>> {
private:
    error_code check() final;
    bool go_on(time_point now) final;
    void on_reply(std::size_t node, std::uint32_t question, const resp::reply& reply,
                  time_point now) final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t, const wire::failure& why,
                time_point now) final {
        note(node, why, now);
    }
    /// It carries what the server says in the handshake.
    bool write_again(std::size_t node, std::uint32_t question, wire::request& out,
                     time_point now) const final;

    void note(std::size_t node, const wire::failure& why, time_point now);

    time_point sent_at_{};
};

}  // namespace redlock::detail
