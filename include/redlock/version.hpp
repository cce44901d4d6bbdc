// The version of the library, and the one place that states it; knows nothing else.
// SPDX-License-Identifier: MIT
#pragma once

#define REDLOCK_VERSION_MAJOR 0
#define REDLOCK_VERSION_MINOR 1
#define REDLOCK_VERSION_PATCH 0
#define REDLOCK_VERSION "0.1.0"
