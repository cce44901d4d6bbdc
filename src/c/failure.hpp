// How a function of the C interface ends: as a number, with the reason kept for the calling thread.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/c.h>

#include <redlock/config.hpp>
#include <redlock/refusal.hpp>

#include <string>
#include <utility>

namespace redlock::c {

/// Keeps the reason for redlock_last_error(), and returns its number.
int fail(refusal why) noexcept;
int fail(config_error why) noexcept;
/// An argument that is refused: "client is null".
int refuse(std::string what);

/// Keeps the reason of what is no error: a try that met contention.
void note(refusal why) noexcept;

/// Forgets the reason of the call before.
void begin() noexcept;

/// The number of the exception that is being handled, whose reason it keeps.
int fail_by_exception() noexcept;

/// Runs one function of the interface. No exception leaves it.
template <class F>
int guarded(F&& body) noexcept {
    begin();
    try {
        return body();
    } catch (...) {
        return fail_by_exception();
    }
}

}  // namespace redlock::c
