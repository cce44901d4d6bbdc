// The exit statuses of the command; knows no operation.
// SPDX-License-Identifier: MIT
#pragma once

namespace redlock::tool {

enum exit_status : int {
    success = 0,
    contended = 120,       ///< Another holder kept the resource until the wait was over.
    no_quorum = 121,       ///< Too few nodes could vote.
    lease_lost = 122,      ///< The lease was lost and CMD stopped.
    not_held = 123,        ///< The token is no proof of a lease that is held.
    no_sign = 124,         ///< CMD gave no sign of life and was stopped.
    own_failure = 125,     ///< Configuration, usage, or the system refused something.
    not_executable = 126,  ///< CMD was found but could not be run.
    not_found = 127,       ///< There is no such CMD.
    signalled = 128,       ///< Plus the signal's number.
};

}  // namespace redlock::tool
