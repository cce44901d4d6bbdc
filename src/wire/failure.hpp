// Why a node gave no answer, or none that counts; knows no command.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/reply.hpp"

#include <redlock/error.hpp>
#include <redlock/vote.hpp>

#include <string>

namespace redlock::wire {

struct failure {
    vote answer = vote::unreachable;  ///< refused, timed_out or unreachable
    error_code error;
    std::string detail;
};

/// An error reply, or a reply of a kind that the command can't have.
failure read_failure(const resp::reply& reply);

}  // namespace redlock::wire
