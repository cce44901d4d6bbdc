// A judge of histories that is another program; knows nothing of what it goes by.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>

namespace redlock::chaos {

/// Has `program` judge the histories in a directory: whether all is as it should be. Throws where
/// it comes to no verdict.
bool ask_second_checker(const std::filesystem::path& program,
                        const std::filesystem::path& directory);

}  // namespace redlock::chaos
