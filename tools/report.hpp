// What the command writes to standard output, standard error and files, and what it asks the
// operator.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/formats.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::tool {

/// Where a standard stream is closed, puts in its place what can be neither read nor written: else
/// a file or connection that is opened later would take its number. CMD finds it closed.
void fill_closed_streams() noexcept;

/// Finds the passwords of URIs in the words of a command line, so that `redacted` leaves them out
/// wherever they appear; also a password with blanks, which splits its URI into several words, and
/// one in the name of CMD's program.
void keep_secret(const std::vector<std::string>& words);

/// `text` without the passwords that `keep_secret` found, with every "://user:password@" made
/// "://***@", and every token of a lease "redlock1.***": messages quote the arguments that they are
/// about.
std::string redacted(std::string_view text);

/// `text` from outside, safe for a terminal: redacted, and `printable`.
std::string shown(std::string_view text);

/// The names as people read them: 'a', 'b'; of many 'a', 'b', 'c' and 61 more.
std::string quoted(const std::vector<std::string>& resources);

/// From now on what standard error does not take within `limit` is kept, up to a bound, and goes
/// before the next line: a reader that stalls, as a terminal after ^S, must not keep redlock from
/// renewing a lease, or from ending CMD when it is lost.
void hurry(std::chrono::milliseconds limit) noexcept;
/// Whether something is kept.
bool is_behind() noexcept;
/// Writes what was kept, as far as it is taken.
void catch_up();
/// Writes what was kept, for as long as that takes or until a signal arrives, and ends the hurry.
void take_time();

/// Writes `what`, redacted and escaped, as one line to standard error, in one write. Line breaks
/// become spaces.
void complain(std::string_view what);

/// Complains, and throws the `ending` of a command that failed.
[[noreturn]] void fail(std::string_view what);

/// From now on `complain` writes a JSON object, of the kind "message" and with a "text".
void complain_in_json() noexcept;

/// Writes a JSON object, with its texts redacted, as one line to standard error, in one write. It
/// begins with the time, if `what` has none.
void tell(const json_value& what);

/// Writes `text` unchanged to standard output. Where that fails, complains and returns false.
bool print(std::string_view text);

/// Asks on the terminal whether to go on. Where there is none, it fails with the words that
/// `command` asks before it does anything, and that a script has to say --yes, `condition` given.
/// `what`: what will happen.
bool is_confirmed(const std::string& command, const std::string& condition,
                  const std::string& what);
/// The same; where the answer is no it fails.
void confirm(const std::string& command, const std::string& condition, const std::string& what);

enum class readers { owner, all };  ///< Which users may read it; `all` as far as the umask allows.

/// A program that opens the file sees the old text or the new one, never a part. A device, a pipe
/// and a symbolic link are not replaced. Returns what failed; empty where nothing did.
std::string replace_file(const std::string& file, std::string_view text, readers who);

}  // namespace redlock::tool
