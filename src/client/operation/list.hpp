// Asking every node which resources are held there; takes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/operation.hpp"
#include "wire/failure.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace redlock::detail {

/// Reads the keys of each node page by page, of all nodes side by side. A node that fails is left
/// out; a quorum has to name all of its keys.
class list_operation : public operation {
public:
    explicit list_operation(std::string prefix) : prefix_(std::move(prefix)) {}
    void start(time_point now) final;
    void on_settled(time_point now) final;
    void cancel(error_code why, time_point now) final;

protected:
    virtual void complete(error_code outcome, std::vector<std::string> resources) = 0;

private:
    /// More are not kept, and the operation fails.
    static constexpr std::size_t most = 100'000;

    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) final;
    void on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                    time_point now) final;
    bool is_wanted(std::uint32_t) const noexcept final { return !over_; }

    void ask(std::size_t node, const std::string& cursor, time_point now);
    void ended(bool is_complete);
    void end(error_code outcome);

    std::string prefix_;
    std::set<std::string> found_;
    std::size_t asked_ = 0;     // nodes that have more to say
    std::size_t complete_ = 0;  // nodes that have named all
    bool over_ = false;
};

}  // namespace redlock::detail
