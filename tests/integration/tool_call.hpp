// A call of the redlock command and what came of it; knows no lock.
// SPDX-License-Identifier: MIT
#pragma once

#include "support/cluster.hpp"
#include "tool_process.hpp"

#include <string>
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

/// `run` on these nodes, with the rest behind.
inline call_words run_on(const cluster& nodes, const call_words& rest) {
    call_words all{"run", "--config", nodes.config()};
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
}

inline bool has_text(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
}

}  // namespace redlock::testing
