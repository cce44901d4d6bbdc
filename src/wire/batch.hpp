// The requests of one turn to one node, as one command; knows no connection and no operation.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node/fence_source.hpp"
#include "value/time.hpp"
#include "wire/request.hpp"
#include "wire/resp/scripts.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::wire {

/// What the node is to compare before it lets any key be taken.
struct batch_conditions {
    std::string_view epoch;             ///< Of the node record; empty: not compared.
    std::optional<std::int64_t> until;  ///< In us of the node's clock; nothing: no limit.
};

/// Collects requests, and writes them as one call of requests.lua, or of plain.lua, in the order in
/// which they were added. The node does them at once, one after the other, and each has its answer.
class batch {
public:
    /// A server does nothing else while a script runs: requests for so many keys take less than a
    /// millisecond, but for rare ones (docs/performance.md).
    static constexpr std::size_t most = 64;

    /// With fences: `record_key` is the key of the node record. Without: it is empty.
    explicit batch(std::string record_key) : record_key_(std::move(record_key)) {}

    bool empty() const noexcept { return size_ == 0; }
    bool has_room_for(const request& what) const noexcept { return locks_ + what.locks <= most; }
    std::size_t size() const noexcept { return size_; }
    std::size_t bytes() const noexcept {
        return keys_.size() + queues_.size() + sets_.size() + words_.size();
    }

    /// Preconditions: it has room for it, and the request is not a command of its own.
    void add(const request& what);
    /// Appends the command to `out`, and is empty then. Precondition: it was not empty.
    void write(std::string& out, resp::script_form form, const batch_conditions& when,
               const core::fence_limits& limits);
    void clear() noexcept;

private:
    std::string record_key_;
    std::string keys_;
    std::string queues_;
    std::string sets_;
    std::string words_;
    std::size_t size_ = 0;
    std::size_t locks_ = 0;
    std::size_t word_count_ = 0;
    std::size_t set_count_ = 0;
};

}  // namespace redlock::wire
