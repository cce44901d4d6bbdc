// A node in memory that carries out requests by the text of a script, and all that it keeps; knows no
// client.
// SPDX-License-Identifier: MIT
#pragma once

#include "support/requests.hpp"
#include "testing/model.hpp"

#include <cstdint>
#include <string>
#include <variant>

namespace redlock::testing {

inline const std::string record_epoch = "eeeeeeeeeeeeeeeeeeeeee";

/// A node, and one connection to it.
struct script_node {
    fakes::redis_model server{};
    fakes::client_state from{};

    explicit script_node(time_point now) {
        carry_out({"SET", "N", record_epoch + " and so on"}, now);
    }

    fakes::model_reply carry_out(const fakes::command& what, time_point now) {
        return server.execute(from, what, now);
    }
    fakes::model_reply carry_out(const std::string& script, const requests& what, time_point now) {
        fakes::command whole{"EVAL", script};
        const auto keys = keys_of(what);
        whole.push_back(std::to_string(keys.size()));
        whole.insert(whole.end(), keys.begin(), keys.end());
        const auto arguments = arguments_of(what);
        whole.insert(whole.end(), arguments.begin(), arguments.end());
        return carry_out(whole, now);
    }
    std::int64_t us(time_point now) const { return server.wall.ms(now) * 1'000; }
};

/// All that a node keeps, and until when.
inline std::string keys_and_times_of(script_node& on, time_point now) {
    on.server.database().sweep(on.server.wall.ms(now));
    std::string out;
    for (const auto& [key, what] : on.server.database().all()) {
        out += key + (what.expires_ms ? " until " + std::to_string(*what.expires_ms) : "") + ":";
        if (const auto* text = what.text()) out += " " + *text;
        if (const auto* set = std::get_if<fakes::sorted_set>(&what.value)) {
            for (const auto& [score, member] : set->all()) {
                out += " " + member + "=" + std::to_string(score);
            }
        }
        out += "\n";
    }
    return out;
}

}  // namespace redlock::testing
