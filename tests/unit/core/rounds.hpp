// A brute-force oracle and every order of answers, for machines that count; knows none of them.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

namespace redlock::core::testing {

/// How many nodes said what so far.
struct plain_count {
    std::size_t yes = 0;
    std::size_t no = 0;
    std::size_t unable = 0;
};

/// What a plain_count is, and what it can still become.
struct outlook {
    bool won = false;            ///< More than half said yes.
    bool denied = false;         ///< More than half said no.
    bool answered = false;       ///< More than half said one or the other.
    bool can_win = false;        ///< Some completion of the pending ones is won.
    bool can_be_denied = false;  ///< Some completion is denied.
    bool can_answer = false;     ///< Some completion is answered.
};

/// Finds out what is still possible by trying every completion.
class oracle {
public:
    explicit oracle(std::size_t nodes) : nodes_(nodes) {}

    const outlook& at(const plain_count& t) {
        const auto [place, fresh] = known_.try_emplace({t.yes, t.no, t.unable});
        outlook& o = place->second;
        if (fresh) {
            o = {.won = most(t.yes), .denied = most(t.no), .answered = most(t.yes + t.no)};
            complete(t, nodes_ - t.yes - t.no - t.unable, o);
        }
        return o;
    }

private:
    bool most(std::size_t count) const { return 2 * count > nodes_; }

    void complete(const plain_count& t, std::size_t pending, outlook& o) const {
        if (pending == 0) {
            o.can_win = o.can_win || most(t.yes);
            o.can_be_denied = o.can_be_denied || most(t.no);
            o.can_answer = o.can_answer || most(t.yes + t.no);
            return;
        }
        complete({t.yes + 1, t.no, t.unable}, pending - 1, o);
        complete({t.yes, t.no + 1, t.unable}, pending - 1, o);
        complete({t.yes, t.no, t.unable + 1}, pending - 1, o);
    }

    std::size_t nodes_;
    std::map<std::tuple<std::size_t, std::size_t, std::size_t>, outlook> known_;
};

/// Casts every kind by every node in every order; each step starts from a copy of the state before.
/// Returns the number of complete sequences: nodes! x kinds^nodes.
template <class State, class Kind, class Step>
std::size_t every_order(std::size_t nodes, const std::vector<Kind>& kinds, const State& before,
                        const Step& step, std::uint32_t asked = 0) {
    if (asked + 1 == std::uint32_t{1} << nodes) return 1;
    std::size_t sequences = 0;
    for (std::size_t node = 0; node < nodes; ++node) {
        const std::uint32_t bit = std::uint32_t{1} << node;
        if ((asked & bit) != 0) continue;
        for (const Kind kind : kinds) {
            State next = before;
            step(next, node, kind);
            sequences += every_order(nodes, kinds, next, step, asked | bit);
        }
    }
    return sequences;
}

/// Casts every vector of `kinds`, or only every multiset of them, each in five orders: as it is,
/// backwards, and shuffled thrice. Returns the number of vectors.
template <class State, class Kind, class Step>
std::size_t several_orders(std::size_t nodes, const std::vector<Kind>& kinds, bool multisets,
                           const State& fresh, const Step& step) {
    std::mt19937 random(20240611);
    std::vector<std::size_t> chosen(nodes, 0);
    std::vector<std::size_t> order(nodes);
    for (std::size_t count = 1;; ++count) {
        std::iota(order.begin(), order.end(), std::size_t{0});
        for (int pass = 0; pass < 5; ++pass) {
            State state = fresh;
            for (const std::size_t node : order) step(state, node, kinds[chosen[node]]);
            if (pass == 0) std::reverse(order.begin(), order.end());
            else std::shuffle(order.begin(), order.end(), random);
        }
        std::size_t digit = 0;
        while (digit < nodes && chosen[digit] + 1 == kinds.size()) ++digit;
        if (digit == nodes) return count;
        const std::size_t next = ++chosen[digit];
        // A multiset is a vector that never grows; all vectors are the numbers to this base.
        std::fill_n(chosen.begin(), digit, multisets ? next : std::size_t{0});
    }
}

}  // namespace redlock::core::testing
