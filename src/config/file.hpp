// Whole small files; knows nothing of what stands in them.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/result.hpp>

#include <cstddef>
#include <filesystem>
#include <string>

namespace redlock::config {

/// The content of `path`, but no more than `limit` + 1 bytes of it: one more shows that it is too
/// long. Pipes are read as well.
result<std::string> read_file(const std::filesystem::path& path, std::size_t limit);

}  // namespace redlock::config
