// Queries every node for the holders of a resource, for what is held, or for its runs; takes
// nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/survey.hpp"
#include "value/nodes.hpp"
#include "wire/questions.hpp"

#include <redlock/resource_state.hpp>
#include <redlock/run_record.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace redlock::detail {

/// Each node answers once, with all that it has of the resource at that instant.
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
    // What the nodes say of the key of a slot.
    struct slot_look {
        resource_state state{};
        std::vector<std::string> values{};
    };

    bool check() final;
    bool begin(time_point now) final;
    bool go_on(time_point now) final;
    bool write(std::size_t node, std::uint32_t question, wire::request& out,
               resp::script_form form) const final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                time_point now) final;
    void read_slot(std::size_t node, const wire::slot_view& slot);
    void find_slots(time_point now);
    void note_standing(time_point now);
    void find_readers();
    void drop_foreign_fence();
    void tell_age(time_point now);

    std::string resource_;
    node_mask silent_;
    // Whole values: abbreviated ones may collide.
    std::vector<std::string> values_;
    std::vector<std::vector<std::string>> readers_;
    std::map<std::uint16_t, slot_look> slots_;
    bool is_conclusive_ = true;
};

/// Reads the keys of a quorum of nodes page by page, side by side: what is held has its key on one
/// of them at least. In place of a node that fails it reads another. Where only leases are wanted,
/// the node says of each page which they are: of other programs' strings there may be many.
class list_operation : public node_survey<std::vector<std::string>> {
public:
    explicit list_operation(list_query what) : what_(std::move(what)) {}

private:
    /// More names are not kept, and the operation fails. A node that needs more steps is none.
    static constexpr std::size_t most = 1'000'000;

    enum question : std::uint32_t { ask_for_page, ask_for_forms };

    /// What a node named last, and where it goes on.
    struct page {
        std::size_t steps = 0;
        std::string cursor = "0";
        std::vector<std::string> keys{};
    };

    /// So that a name is looked for before it is copied.
    struct hash_of_text {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };

    bool begin(time_point now) final;
    bool go_on(time_point now) final;
    bool write(std::size_t node, std::uint32_t question, wire::request& out,
               resp::script_form form) const final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                time_point now) final;
    std::vector<std::string> take_result() final;
    void ask_another(time_point now);
    void read_page(std::size_t node, const wire::scanned& found, time_point now);
    void finish_page(std::size_t node, std::string_view forms, time_point now);
    bool is_news(std::string_view key) const;

    list_query what_;
    std::vector<page> pages_;  // by the index of their nodes
    std::unordered_set<std::string, hash_of_text, std::equal_to<>> found_;
    node_mask unused_{};  // that were not read
    node_mask complete_;  // nodes that have named all
};

/// Notes a run on every node, or none. Completes with those on record, from the latest start on.
class runs_operation : public node_survey<std::vector<run_record>> {
public:
    /// `noted` is kept for `keep` at least.
    runs_operation(std::string resource, std::optional<run_record> noted,
                   std::chrono::milliseconds keep)
        : resource_(std::move(resource)), noted_(std::move(noted)), keep_(keep) {}

private:
    bool check() final;
    bool begin(time_point now) final;
    bool go_on(time_point now) final;
    bool write(std::size_t node, std::uint32_t question, wire::request& out,
               resp::script_form form) const final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t, std::uint32_t, const wire::failure&, time_point) final {}

    std::string resource_;
    std::optional<run_record> noted_;
    std::chrono::milliseconds keep_;
    node_mask answered_;
    error_code refused_;  // by a node that answered
};

}  // namespace redlock::detail
