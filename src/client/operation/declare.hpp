// Declaring the nodes new, as only an operator may; knows no lease.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/operation.hpp"

#include <redlock/vote.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::detail {

class declare_operation : public operation {
public:
    void start(time_point now) final;
    void on_settled(time_point now) final;
    void cancel(error_code why, time_point now) final;

protected:
    /// One vote per node: granted where it took the declaration. No error if a quorum took it.
    virtual void complete(error_code outcome, std::vector<node_vote> answers) = 0;

private:
    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) final;
    void on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                    time_point now) final;
    bool is_wanted(std::uint32_t) const noexcept final { return !over_; }
    /// It carries what the server says in the handshake.
    bool write_again(std::size_t node, std::uint32_t round, wire::request& out, time_point now) const final;
    void answered(std::size_t node, wire::failure what, time_point now);
    void end(error_code outcome);

    std::vector<node_vote> answers_;
    time_point sent_at_{};
    std::size_t open_ = 0;  // answers still to come
    bool over_ = false;
};

}  // namespace redlock::detail
