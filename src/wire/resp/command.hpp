// Commands in RESP, and the scripts that are sent by their SHA1.
// SPDX-License-Identifier: MIT
#pragma once

#include <cassert>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace redlock::resp {

/// Appends one command to `out`. Arguments may be empty and may hold any bytes; `more` of them are
/// announced, for somebody else to append. Allocates at most once, where `out` has to grow.
void append_command(std::string& out, std::span<const std::string_view> args, std::size_t more = 0);

inline void append_command(std::string& out, std::initializer_list<std::string_view> args,
                           std::size_t more = 0) {
    append_command(out, std::span<const std::string_view>(args.begin(), args.size()), more);
}

/// Appends arguments that were announced.
void append_words(std::string& out, std::initializer_list<std::string_view> words);

struct script {
    std::string_view name;  ///< The file name without `.lua`.
    std::string_view text;
    std::string_view sha1;  ///< 40 lower-case hex digits, as SCRIPT LOAD answers.
};

// One per file in lua/ and lua/seldom/, with what it includes. The definitions are generated from
// the files, qualified, so a file without a declaration here does not compile.
const script& look() noexcept;
const script& plain() noexcept;
const script& record() noexcept;
const script& requests() noexcept;
const script& revoke() noexcept;
const script& runs() noexcept;
const script& wait() noexcept;

/// How a script is called: by its SHA1, or with its whole text on a node that may have lost it.
enum class script_form : bool { by_hash, whole };

/// The first two words of a call.
constexpr std::string_view verb(script_form form) noexcept {
    return form == script_form::whole ? "EVAL" : "EVALSHA";
}
constexpr std::string_view body(script_form form, const script& s) noexcept {
    assert(!s.text.empty() && s.sha1.size() == 40);
    return form == script_form::whole ? s.text : s.sha1;
}

/// Those that each handshake loads, in the order of their names: not those of lua/seldom/, which
/// few clients use. A node gets their text with the first call.
std::span<const script> all_scripts() noexcept;

}  // namespace redlock::resp
