// Queries every node for the holders of a resource; takes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/operation/node_survey.hpp"
#include "client/operation/slot_survey.hpp"
#include "value/node_mask.hpp"

#include <redlock/resource_state.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace redlock::detail {

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
    // Of the i-th note.
    static constexpr std::uint32_t ask_of_note = ask_of_slot + 3 * slot_survey::most_at_once;

    enum class note_of : std::uint8_t { resource, slot, reader };
    // Where a note is shown: of which slot, or reader.
    struct note_place {
        note_of of = note_of::resource;
        std::size_t index = 0;
    };
    // A note that the value of a key says there is.
    struct noted {
        std::string key;
        std::string value;
        note_place where;
    };

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
    bool ask_for_notes(time_point now);
    void on_note(std::size_t node, const noted& what, const resp::reply& reply);
    void find_note();
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
    std::vector<std::string> reader_values_;         // of those that count
    slot_survey slots_;
    std::vector<noted> notes_;
    std::size_t asked_notes_ = 0;  // that queries went out for
    node_mask talking_;  // that have answered all questions so far
    bool has_begun_ = false;
    bool is_counted_ = false;  // all but the notes
    bool is_conclusive_ = false;
};

}  // namespace redlock::detail
