// Where the project's own files are, for tests that read them; knows no file.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

namespace redlock::testing {

/// The folder of the project. `__FILE__` would not tell: compiler caches make it relative.
std::filesystem::path project_folder();

}  // namespace redlock::testing
