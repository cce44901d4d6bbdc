// A Redis master in memory to which a test speaks in words; knows no client and no node of a world.
// SPDX-License-Identifier: MIT
#pragma once

#include "testing/model.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::testing {

/// RESP2 on one line: a blank per line end, none at the end.
inline std::string one_line(std::string bytes) {
    for (std::size_t at = 0; (at = bytes.find("\r\n", at)) != std::string::npos;) {
        bytes.replace(at, 2, " ");
    }
    if (!bytes.empty()) bytes.pop_back();
    return bytes;
}

/// One server and one connection to it. Replies are read on one line.
struct desk {
    fakes::redis_model server{7};
    fakes::client_state connection{};
    time_point now = time_point{} + std::chrono::hours(1);

    std::string operator()(const fakes::command& c) { return ask(connection, c); }
    std::string ask(fakes::client_state& from, const fakes::command& c) {
        return one_line(to_resp2(server.execute(from, c, now)));
    }
    std::string eval(const std::string& script, const std::vector<std::string>& keys = {},
                     const std::vector<std::string>& args = {}) {
        fakes::command c{"EVAL", script, std::to_string(keys.size())};
        c.insert(c.end(), keys.begin(), keys.end());
        c.insert(c.end(), args.begin(), args.end());
        return (*this)(c);
    }
};

inline bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

}  // namespace redlock::testing
