// Why a node gave no answer, or none that counts; knows no command.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>
#include <redlock/vote.hpp>

#include <string>

namespace redlock::wire {

struct failure {
    vote answer = vote::unreachable;  ///< refused, timed_out or unreachable
    error_code error;
    std::string detail;
};

}  // namespace redlock::wire
