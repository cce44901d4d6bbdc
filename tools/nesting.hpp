// Which locks the runs around this one hold, and whether one of them is enough.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>
#include <redlock/resource_state.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::tool {

/// A lock of a `redlock run` that this process was started by, as the environment names it. The
/// writer is not known: what counts is whether the nodes say that this owner holds it.
struct held_lock {
    std::string resource{};
    std::string owner{};  ///< The whole owner value.
    std::uint64_t fence = 0;
};

/// Of several runs around each other, the outermost first: those that REDLOCK_HELD lists, and the
/// one of REDLOCK_RESOURCE, REDLOCK_OWNER and REDLOCK_FENCE. What is not of their form is left out.
/// Each text may be null.
std::vector<held_lock> read_held(const char* list, const char* resource, const char* owner,
                                 const char* fence);
/// The text of REDLOCK_HELD; of too many the outermost are left out.
std::string write_held(const std::vector<held_lock>& held);

inline constexpr std::size_t most_held = 256;
inline constexpr std::size_t most_held_bytes = 100'000;

enum class kind_of_lock : std::uint8_t { exclusive, shared, slot };

/// On what an inner run of a resource stands.
struct footing {
    enum class kind : std::uint8_t {
        own,       ///< No outer run has what it wants: it acquires, as any run.
        outer,     ///< `under` has it.
        deadlock,  ///< `under` shares what it wants alone, and would be waited for.
        crowded,   ///< Outer runs have some slots, and as many as it wants don't fit beside them.
        partly,    ///< `under` has some of what it wants, and would be waited for.
    };
    kind what = kind::own;
    held_lock under{};
    std::vector<std::uint16_t> slots{};  ///< If it has some.
    std::string note{};                  ///< Of the lease that it stands on; empty: none.
};
/// `permits`: how many slots it wants, if it wants slots, of how many.
footing find_footing(const std::vector<held_lock>& around, kind_of_lock wanted,
                     const resource_state& state, int permits = 1, int of_slots = max_slots);
/// Of an inner run of several resources, by that of each. One outer run has to have them all.
footing together(const std::vector<footing>& all);

}  // namespace redlock::tool
