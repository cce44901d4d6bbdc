// Asking every node which resources are held there; takes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/operation/node_survey.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace redlock::detail {

/// Reads the keys of each node page by page, of all nodes side by side. A node that fails is left
/// out; a quorum has to name all of its keys.
class list_operation : public node_survey<std::vector<std::string>> {
public:
    explicit list_operation(std::string prefix) : prefix_(std::move(prefix)) {}

private:
    /// More are not kept, and the operation fails.
    static constexpr std::size_t most = 100'000;

    bool go_on(time_point now) final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t, std::uint32_t, const wire::failure&, time_point) final {}
    std::vector<std::string> take_result() final { return {found_.begin(), found_.end()}; }
    void ask_for_page(std::size_t node, const std::string& cursor, time_point now);

    std::string prefix_;
    std::set<std::string> found_;
    bool has_asked_ = false;
    std::size_t complete_ = 0;  // nodes that have named all
};

}  // namespace redlock::detail
