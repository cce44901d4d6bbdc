// A file that is replaced as a whole; knows nothing of its content.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::tool {

enum class readers { owner, all };  ///< Who may read it; `all` as far as the umask allows.

/// A program that opens the file sees the old text or the new one, never a part. A device, a pipe and
/// a symbolic link are not replaced. Returns what failed; empty where nothing did.
std::string replace_file(const std::string& file, std::string_view text, readers who);

}  // namespace redlock::tool
