// The folder that was the project's when the tests were configured; knows no file in it.
// SPDX-License-Identifier: MIT
#include "project.hpp"

namespace redlock::testing {

std::filesystem::path project_folder() { return REDLOCK_PROJECT_FOLDER; }

}  // namespace redlock::testing
