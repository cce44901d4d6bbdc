// What help and manual say besides the options; knows no format of theirs.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/outline.hpp"

namespace redlock::tool {

/// Adds the examples, what `--json` prints, and the variables, files and exit statuses.
void add_guide(outline& to);

}  // namespace redlock::tool
