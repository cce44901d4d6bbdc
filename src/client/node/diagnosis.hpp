// What the facts of one node mean for locks, and what to do about it; asks no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/node/concerns.hpp"
#include "client/node/judgement.hpp"
#include "wire/failure.hpp"

#include <redlock/node_report.hpp>
#include <redlock/options.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// What a probe found of one node, besides its report.
struct probed {
    std::optional<wire::failure> failure{};    ///< Why it does not answer.
    std::optional<objection> against{};        ///< Why it has no vote.
    std::optional<wire::failure> deafness{};   ///< Why it can't be listened to.
    std::string refused_write{};               ///< What it answered to a write of the probe's.
    server_settings settings{};
    std::string refused_config{};              ///< The error that it answered to CONFIG GET.
    std::string lateness{};                    ///< That its round trip is too long; see `session`.
    std::string of_ttl_max{};                  ///< That another client's differs.
};

/// Locks need it not, but to vote at once after a restart a node does.
inline constexpr std::string_view config_right = "config|get";

/// In the order of `node_problem`.
std::vector<node_finding> diagnose(const node_report& of, const probed& facts,
                                   const client_options& client);

}  // namespace redlock::detail
