// Whole small files; knows nothing of what stands in them.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/result.hpp>

#include <cstddef>
#include <filesystem>
#include <string>

namespace redlock::detail {

/// The content of `path`, but no more than `limit` + 1 bytes of it: one more shows that it is too
/// long. Pipes are read as well.
result<std::string> read_file(const std::filesystem::path& path, std::size_t limit);

/// A password, or why there is none: "can't be read: Permission denied", "is empty".
struct file_secret {
    std::string text{};
    std::string why{};  ///< Empty where `text` is the password. Contains none of the file.
};

/// The password in `path`: without a byte order mark, and without the end of the last line.
file_secret read_secret(const std::filesystem::path& path);

/// Whether it is a regular file: a pipe can be read once, and may have to be waited for.
bool can_be_read_again(const std::filesystem::path& path) noexcept;

}  // namespace redlock::detail
