// What `redlock run` runs in the failover tests; knows no node and no client.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace redlock::failover {

/// Of the words NAME HISTORY SECTION MS: writes as the holder NAME that it runs under the lease of
/// which `redlock run` informs it, for so long or until SIGTERM.
int run_inside(const std::vector<std::string>& words);

}  // namespace redlock::failover
