// The two commands of a lock cycle on one node, ready to be sent, also as the library sends them;
// knows neither how the library forms them nor what is measured.
// SPDX-License-Identifier: MIT
#pragma once

#include "setting.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// For one key on one node. Both are answered with one line, `+OK` or `:1` where they succeed.
struct lock_commands {
    std::string acquire;
    std::string release;
    std::size_t fence_at = 0;  ///< Of its digits in `acquire`; 0: there is none.

    /// Each use has to be above those before, with as many digits.
    void set_fence(std::uint64_t fence);
};

/// What the library sends to each node for one cycle, as the nodes were seen to get it: the
/// resource is to be replaced, and the fence.
class recorded_commands {
public:
    explicit recorded_commands(setting& on);

    /// One for each node, for a resource.
    std::vector<lock_commands> of(std::string_view resource) const;
    /// Fenced: the words of one command for several resources, to acquire or to release them all.
    std::vector<std::string> of_many(bool releases, const std::vector<std::string>& resources,
                                     std::uint64_t fence) const;
    /// The next fence; 0 where there are none.
    std::uint64_t next_fence() noexcept { return fence_ == 0 ? 0 : ++fence_; }

private:
    using words = std::vector<std::string>;
    struct cycle {
        words acquire{};
        words release{};
    };

    std::vector<cycle> nodes_;
    std::uint64_t fence_ = 0;
};

/// The least that a lock of that kind takes as one command for each half, on one node after the
/// other: plain, SET NX PX and compare-and-delete; fenced, GET, EXISTS, GET, SET and SET, then GET,
/// DEL and EXISTS, each half in one script.
class least_commands {
public:
    /// Loads the scripts.
    explicit least_commands(setting& on);

    std::vector<lock_commands> of(std::string_view resource) const;
    /// The next fence; 0 where there are none.
    std::uint64_t next_fence() noexcept { return fence_ == 0 ? 0 : ++fence_; }

private:
    std::size_t nodes_;
    std::string acquire_sha1_;
    std::string release_sha1_;
    std::uint64_t fence_ = 0;
};

/// Counts the answers to such commands, however they are cut; throws `std::runtime_error` on one
/// that says no: nobody contends here.
class yes_counter {
public:
    /// How many end in these bytes.
    std::size_t feed(std::string_view bytes);

private:
    std::size_t column_ = 0;  // in the line of the next byte
};

/// `SET key value NX PX 10000` and `DEL key`: the least that a lock needs.
lock_commands bare_commands(const std::string& key, const std::string& value);

}  // namespace bench
