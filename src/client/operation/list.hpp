// Asking the nodes which resources are held there; takes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/operation/node_survey.hpp"
#include "value/node_mask.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace redlock::detail {

/// Reads the keys of a quorum of nodes page by page, side by side: what is held has its key on one
/// of them at least. In place of a node that fails it reads another.
class list_operation : public node_survey<std::vector<std::string>> {
public:
    explicit list_operation(std::string prefix) : prefix_(std::move(prefix)) {}

private:
    /// More are not kept, and the operation fails.
    static constexpr std::size_t most = 1'000'000;

    /// So that a name is looked for before it is copied.
    struct hash_of_text {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };

    bool go_on(time_point now) final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                time_point now) final;
    std::vector<std::string> take_result() final;
    void ask_another(time_point now);
    void ask_for_page(std::size_t node, std::string_view cursor, time_point now);
    void note(std::string_view key);

    std::string prefix_;
    std::unordered_set<std::string, hash_of_text, std::equal_to<>> found_;
    node_mask unused_{};  // that were not read
    bool has_begun_ = false;
    node_mask complete_;  // nodes that have named all
};

}  // namespace redlock::detail
