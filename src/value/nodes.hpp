// Sets of nodes in one word, and how many of them are a quorum.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>
#include <redlock/vote.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <type_traits>

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
            assert(left_ != 0);
            return static_cast<std::size_t>(std::countr_zero(left_));
        }
        constexpr iterator& operator++() noexcept {
            assert(left_ != 0);
            left_ &= left_ - 1;
            return *this;
        }
        friend constexpr bool operator==(iterator, iterator) noexcept = default;

    private:
        friend class node_mask;
        constexpr explicit iterator(std::uint32_t left) noexcept : left_(left) {}
        std::uint32_t left_;  // not visited yet; 0 at the end
    };

    constexpr node_mask() noexcept = default;
    static constexpr node_mask only(std::size_t node) noexcept { return node_mask(bit(node)); }
    static constexpr node_mask first(std::size_t count) noexcept {
        assert(count <= max_nodes);
        return node_mask(static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1));
    }

    /// Those of the first `count` for which `holds`.
    template <class Holds>
    static constexpr node_mask where(std::size_t count, Holds holds) {
        node_mask out;
        for (std::size_t i = 0; i < count; ++i) out.set(i, holds(i));
        return out;
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

    std::uint32_t bits_ = 0;  // only of numbers below `max_nodes`
};

constexpr std::size_t quorum(std::size_t nodes) noexcept { return quorum_of(nodes); }

/// The nodes of a list. A joint list names those of the old list and of the new one, and a quorum
/// is more than half of each: two programs with the old and with the new list alone may share no
/// node.
class node_lists {
public:
    constexpr node_lists() noexcept = default;
    /// A list of so many nodes, which does not change. (Explicit: of a client's nodes this is the
    /// list only as long as that does not change.)
    explicit constexpr node_lists(std::size_t nodes) noexcept
        : old_(node_mask::first(nodes)), after_(old_) {}
    constexpr node_lists(node_mask old, node_mask after) noexcept : old_(old), after_(after) {}
    explicit node_lists(const client_options& options) noexcept {
        for (std::size_t i = 0; i < options.nodes.size(); ++i) {
            old_.set(i, options.nodes[i].change != list_change::joining);
            after_.set(i, options.nodes[i].change != list_change::leaving);
        }
    }

    constexpr node_mask old() const noexcept { return old_; }
    constexpr node_mask after() const noexcept { return after_; }
    constexpr node_mask all() const noexcept { return old_ | after_; }
    constexpr bool is_joint() const noexcept { return !(old_ == after_); }
    constexpr std::size_t size() const noexcept { return all().size(); }

    /// These nodes are a quorum.
    constexpr bool is_quorum(node_mask nodes) const noexcept {
        return is_majority(old_, nodes) && (!is_joint() || is_majority(after_, nodes));
    }
    /// The others are none.
    constexpr bool prevents_quorum(node_mask nodes) const noexcept {
        return !is_quorum(all() - nodes);
    }
    /// More than half of the old list, or of the new one.
    constexpr bool is_majority_of_any(node_mask nodes) const noexcept {
        return is_majority(old_, nodes) || is_majority(after_, nodes);
    }

    /// `of` has a value for each node. Returns the one that the nodes of a quorum have at least, by
    /// `before`: in order the quorum-th, of a joint list the later one of both lists'.
    template <class Values, class Before = std::less<>>
    auto quorum_th(const Values& of, Before before = {}) const {
        auto found = nth(old_, of, before);
        if (!is_joint()) return found;
        auto other = nth(after_, of, before);
        return before(found, other) ? other : found;
    }

    friend constexpr bool operator==(const node_lists&, const node_lists&) noexcept = default;

private:
    static constexpr bool is_majority(node_mask list, node_mask nodes) noexcept {
        return (nodes & list).size() >= quorum(list.size());
    }
    template <class Values, class Before>
    static auto nth(node_mask list, const Values& of, Before before) {
        assert(!list.empty());
        std::array<std::decay_t<decltype(of[0])>, max_nodes> each{};
        std::size_t count = 0;
        for (const std::size_t node : list) {
            assert(node < std::size(of));
            each[count++] = of[node];
        }
        const auto at = each.begin() + static_cast<std::ptrdiff_t>(quorum(count) - 1);
        std::nth_element(each.begin(), at, each.begin() + static_cast<std::ptrdiff_t>(count),
                         before);
        return *at;
    }

    node_mask old_;
    node_mask after_;  // as `old_`, unless the list changes
};

}  // namespace redlock
