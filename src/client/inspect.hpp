// Queries every node for the holders of a resource, or for what is held; takes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/survey.hpp"
#include "value/nodes.hpp"
#include "wire/failure.hpp"
#include "wire/questions.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/resource_state.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace redlock::detail {

/// The questions: the key's value, its ttl, and its fence.
enum class key_question : std::uint8_t { value, ttl, fence };

/// Notes an answer in `node`, and the whole value in `value`, since abbreviated ones may collide.
/// Where the node refused a question, its first answer says all.
void note_answer(node_state& node, std::string& value, key_question what, const resp::reply& reply);
void note_failure(node_state& node, const wire::failure& why);

/// First each node names the slots that are taken there. That is a hint: only the key of a
/// slot names its holder. So the keys of all slots that were named are read then, some at a time.
class slot_survey {
public:
    /// The number of slots that are read at a time.
    static constexpr std::size_t most_at_once = 32;

    void begin(const node_lists& nodes) { nodes_ = nodes; }
    void named(const wire::slots_answer& by_a_node);

    /// The slots to read next; empty when all were read.
    std::vector<std::uint16_t> next();
    /// About the i-th of these.
    void answered(std::size_t node, std::size_t i, key_question what, const resp::reply& reply);
    /// The answers about the last ones have come, or will not.
    void close();

    /// The slots that a quorum of nodes has for the same owner, in their order.
    std::vector<slot_state> take_held() { return std::move(held_); }
    /// Whether the nodes that did not answer could not change which slots these are.
    bool is_conclusive() const noexcept { return is_conclusive_; }
    /// The smallest number that any node knows of; 0: no program names one.
    std::uint16_t count() const noexcept { return count_; }

private:
    struct look {
        std::uint16_t slot = 0;
        resource_state state{};
        std::vector<std::string> values{};
    };

    node_lists nodes_;
    std::set<std::uint16_t> open_;  // named, and not read yet
    std::vector<look> looks_;
    std::vector<slot_state> held_;
    std::uint16_t count_ = 0;
    bool is_conclusive_ = true;
};

class inspect_operation : public node_survey<resource_state> {
public:
    /// `silent`: nodes that get no queries, as if they had not answered in time.
    explicit inspect_operation(std::string resource, node_mask silent = {})
        : resource_(std::move(resource)), silent_(silent) {}

protected:
    /// Once it is complete: whether the nodes that did not answer, or have no vote, could not
    /// change the holders of the resource and its slots.
    bool is_conclusive() const noexcept { return is_conclusive_; }

private:
    // The queries to each node.
    static constexpr std::uint32_t ask_value = 0;
    static constexpr std::uint32_t ask_ttl = 1;
    static constexpr std::uint32_t ask_fence = 2;
    static constexpr std::uint32_t ask_queue = 3;
    static constexpr std::uint32_t ask_readers = 4;
    static constexpr std::uint32_t ask_slots = 5;
    // Of the i-th slot of those that are looked at: its value, ttl and fence.
    static constexpr std::uint32_t ask_of_slot = 6;
    error_code check() final;
    bool go_on(time_point now) final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                time_point now) final;
    void begin(time_point now);
    void ask_about(std::uint32_t first_question, const std::string& key, node_mask nodes,
                   time_point now);
    bool ask_for_slots(time_point now);
    void count(time_point now);
    std::optional<std::int64_t> time_of(std::size_t node, time_point now) const;  // in ms
    void on_queue(std::size_t node, const resp::reply& reply, time_point now);
    void on_readers(std::size_t node, const resp::reply& reply, time_point now);
    void note_standing(time_point now);
    void find_readers();
    void drop_foreign_fence();
    void tell_age(time_point now);

    std::string resource_;
    node_mask silent_;
    std::vector<std::string> values_;
    std::vector<std::vector<std::string>> readers_;  // whole: abbreviated ones may collide
    slot_survey slots_;
    node_mask talking_;  // that have answered all questions so far
    bool has_begun_ = false;
    bool is_conclusive_ = false;
};

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
