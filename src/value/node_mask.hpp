// A set of nodes, by their numbers; knows nothing else of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace redlock {

class node_mask {
public:
    /// Visits the numbers in rising order.
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = std::size_t;
        using difference_type = std::ptrdiff_t;
        using pointer = const std::size_t*;
        using reference = std::size_t;

        constexpr std::size_t operator*() const noexcept {
            return static_cast<std::size_t>(std::countr_zero(left_));
        }
        constexpr iterator& operator++() noexcept {
            left_ &= left_ - 1;
            return *this;
        }
        friend constexpr bool operator==(iterator, iterator) noexcept = default;

    private:
        friend class node_mask;
        constexpr explicit iterator(std::uint32_t left) noexcept : left_(left) {}
        std::uint32_t left_;
    };

    constexpr node_mask() noexcept = default;
    static constexpr node_mask only(std::size_t node) noexcept { return node_mask(bit(node)); }
    static constexpr node_mask first(std::size_t count) noexcept {
        assert(count <= max_nodes);
        return node_mask(static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1));
    }

    constexpr bool contains(std::size_t node) const noexcept { return (bits_ & bit(node)) != 0; }
    constexpr bool empty() const noexcept { return bits_ == 0; }
    constexpr std::size_t size() const noexcept {
        return static_cast<std::size_t>(std::popcount(bits_));
    }
    constexpr void insert(std::size_t node) noexcept { bits_ |= bit(node); }
    constexpr void erase(std::size_t node) noexcept { bits_ &= ~bit(node); }
    constexpr void set(std::size_t node, bool is_member) noexcept {
        is_member ? insert(node) : erase(node);
    }

    constexpr iterator begin() const noexcept { return iterator(bits_); }
    constexpr iterator end() const noexcept { return iterator(0); }

    constexpr node_mask& operator|=(node_mask other) noexcept {
        bits_ |= other.bits_;
        return *this;
    }
    constexpr node_mask& operator-=(node_mask other) noexcept {
        bits_ &= ~other.bits_;
        return *this;
    }
    friend constexpr node_mask operator|(node_mask a, node_mask b) noexcept { return a |= b; }
    friend constexpr node_mask operator-(node_mask a, node_mask b) noexcept { return a -= b; }
    friend constexpr node_mask operator&(node_mask a, node_mask b) noexcept {
        return node_mask(a.bits_ & b.bits_);
    }
    friend constexpr bool operator==(node_mask, node_mask) noexcept = default;

private:
    static_assert(max_nodes <= 32);
    constexpr explicit node_mask(std::uint32_t bits) noexcept : bits_(bits) {}
    static constexpr std::uint32_t bit(std::size_t node) noexcept {
        assert(node < max_nodes);
        return std::uint32_t{1} << node;
    }

    std::uint32_t bits_ = 0;
};

}  // namespace redlock
