// The listeners of all nodes as one: opened and closed together; knows no waiter.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/node/listener.hpp"
#include "value/node_mask.hpp"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace redlock::detail {

class node_listeners {
public:
    void add(std::unique_ptr<listener> l) { listeners_.push_back(std::move(l)); }
    void clear() noexcept { listeners_.clear(); }

    std::size_t size() const noexcept { return listeners_.size(); }
    listener& operator[](std::size_t node) const noexcept { return *listeners_[node]; }
    auto begin() const noexcept { return listeners_.begin(); }
    auto end() const noexcept { return listeners_.end(); }

    /// From now on every node is listened to, as far as it can be reached; until `close`. Does
    /// nothing after `close_for_good`.
    void open(time_point now) const {
        if (is_closed_) return;
        for (const auto& l : listeners_) l->open(now);
    }
    void close() const {
        for (const auto& l : listeners_) l->close();
    }
    void close_for_good() {
        is_closed_ = true;
        close();
    }
    bool is_listening(std::size_t node) const noexcept { return listeners_[node]->is_listening(); }
    /// The nodes on which a wake-up would arrive.
    node_mask listening() const noexcept {
        node_mask mask;
        for (std::size_t i = 0; i < listeners_.size(); ++i) {
            if (is_listening(i)) mask.insert(i);
        }
        return mask;
    }

private:
    std::vector<std::unique_ptr<listener>> listeners_;
    bool is_closed_ = false;
};

}  // namespace redlock::detail
