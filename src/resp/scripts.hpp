// The Lua scripts and their SHA1, embedded at build time; knows nothing of how they are called.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

namespace redlock::resp {

struct script {
    std::string_view name;  ///< The file name without `.lua`.
    std::string_view text;
    std::string_view sha1;  ///< 40 lower-case hex digits, as SCRIPT LOAD answers.
};

// One per file in lua/, with what it includes. The definitions are generated from the files,
// qualified, so a file without a declaration here does not compile.
const script& acquire() noexcept;
const script& birth() noexcept;
const script& extend() noexcept;
const script& node() noexcept;
const script& release() noexcept;
const script& wait() noexcept;

/// In the order of their names.
std::span<const script> all_scripts() noexcept;

}  // namespace redlock::resp
