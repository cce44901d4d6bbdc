// A number for each thread of this program; knows no lock.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace redlock::detail {

/// Identifies a thread of this process. Unlike `std::thread::id`, no later thread has it again.
using thread_number = std::uint64_t;
thread_number this_thread_number() noexcept;

}  // namespace redlock::detail
