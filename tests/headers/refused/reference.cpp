// Does not compile, on purpose: a section that returns a reference to what may be gone.
// SPDX-License-Identifier: MIT
#include <redlock/with_lock.hpp>

#include <stop_token>

int& value();

bool section(redlock::blocking_client& client) {
    return redlock::with_lock(client, "r", [](const redlock::lease&, std::stop_token) -> int& {
               return value();
           }).has_value();
}
