// A call of the redlock command and what came of it; knows no lock.
// SPDX-License-Identifier: MIT
#pragma once

#include "../support/has_text.hpp"
#include "support/cluster.hpp"
#include "tool_process.hpp"

#include <string>
#include <utility>
#include <vector>

namespace redlock::testing {

using call_words = std::vector<std::string>;

struct tool_outcome {
    int status;
    std::string out;
    std::string err;
};

inline tool_outcome outcome_of(tool_process& running) {
    const int status = running.wait();
    return {status, running.out(), running.err()};
}

inline tool_outcome outcome_of(const call_words& arguments) {
    tool_process running(arguments);
    return outcome_of(running);
}

/// "COMMAND OPTIONS..." on these nodes, which are named behind the command.
inline call_words call_on(const cluster& nodes, call_words words) {
    words.insert(words.begin() + 1, {"--config", nodes.config()});
    return words;
}

inline tool_outcome outcome_on(const cluster& nodes, call_words words) {
    return outcome_of(call_on(nodes, std::move(words)));
}

/// `run` on these nodes, with the rest behind.
inline call_words run_on(const cluster& nodes, call_words rest) {
    rest.insert(rest.begin(), "run");
    return call_on(nodes, std::move(rest));
}

}  // namespace redlock::testing
