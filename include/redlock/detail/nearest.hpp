// Finds the known name that a misspelt one resembles most; knows no option.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

constexpr std::size_t longest_word = 64;  // no known name is near a longer one

inline std::string folded(std::string_view word) {
    std::string out(word);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (c == '-') c = '_';
    }
    return out;
}

// Optimal string alignment: row i holds the distances of a's first i characters to b's prefixes.
inline std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
            const bool swapped =
                i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[a.size()][b.size()];
}

// Whole words of a name, such as "hold_ms" of "max_hold_ms".
inline bool is_part(const std::string& typed, std::string_view name) {
    const std::string words = '_' + folded(name) + '_';
    return !typed.empty() && words.find('_' + typed + '_') != words.npos;
}

/// The name in `known` that is nearest to `word`, by insertions, deletions, replacements and swaps
/// of neighbours. If none is near: the shortest name that contains `word` as one or more whole
/// words, or empty. Letter case does not count, nor '-' in place of '_'.
inline std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
    if (word.size() > longest_word) return {};
    const std::string typed = folded(word);
    std::string_view best;
    std::size_t best_distance = longest_word;
    for (const std::string_view name : known) {
        const std::size_t far = distance(typed, folded(name));
        // A third of the letters may be wrong; also a forgotten unit: "node_timeout".
        const std::size_t letters = std::max(typed.size(), name.size());
        const std::size_t allowed = std::max<std::size_t>(1, letters / 3);
        if (far <= allowed && far < best_distance) {
            best = name;
            best_distance = far;
        }
    }
    if (!best.empty()) return best;
    for (const std::string_view name : known) {
        if (is_part(typed, name) && (best.empty() || name.size() < best.size())) best = name;
    }
    return best;
}

/// "is not known; did you mean "x"?", or the list of the known names.
inline std::string unknown_name(std::string_view word, std::span<const std::string_view> known) {
    if (const auto meant = nearest(word, known); !meant.empty()) {
        return "is not known; did you mean \"" + std::string(meant) + "\"?";
    }
    std::string out = "is not known; known are ";
    for (const std::string_view& name : known) out.append(&name == &known[0] ? "" : ", ") += name;
    return out;
}

}  // namespace redlock::detail
