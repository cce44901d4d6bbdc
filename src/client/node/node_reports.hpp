// The texts about a node that voters and observers read; decides no vote.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/node/concerns.hpp"
#include "client/base/context.hpp"
#include "client/node/judgement.hpp"
#include "core/node/eligibility.hpp"
#include "core/node/node_clocks.hpp"
#include "wire/failure.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// Words what the machines found, and emits it as `node_reported`. They have decided whether an
/// objection, a step or a ttl_max is news. What was reported of server settings, and of resources
/// without a fence, is kept here: each is one mistake, which every handshake and every acquire
/// would report again.
class node_reports {
public:
    /// `eligibility` and `clocks` outlive it. `set`: the one that this client names.
    node_reports(context& shared, const core::eligibility& eligibility,
                 const core::node_clocks& clocks, std::string set);

    /// Why the node has no vote. It has none.
    objection object(std::size_t node, time_point now) const;

    void report_objection(std::size_t node, time_point now) const;
    /// The node loses its vote: its clock stepped, or its data are not its last ones.
    void report_strike(std::size_t node, const core::clock_check& found) const;
    /// The record has another ttl_max than this client.
    void report_ttl_max(std::size_t node) const;
    std::string tell_of_ttl_max(std::size_t node) const;
    /// Reports each concern once per node, and again when it comes back after a handshake without
    /// it.
    void report_concerns(std::size_t node, const server_settings& settings);
    /// Reports a complaint about the node's files, where the last handshake had another one or none.
    void report_files(std::size_t node, const std::string& complaint);
    /// Reports this once per resource, for a bounded number of them.
    void report_without_fence(std::size_t node, std::string_view resource,
                              std::string_view holder);

private:
    void warn(std::size_t node, error_code why, std::string_view detail) const;
    bool lacks_quorum(std::size_t node, time_point now) const;
    std::string tell_of_skew(std::size_t node) const;
    std::string tell_of_change(std::size_t node) const;
    std::string tell_of_sets(std::size_t node) const;

    context* shared_;
    const core::eligibility* eligibility_;
    const core::node_clocks* clocks_;
    std::string set_;
    std::vector<unsigned> concerns_;          // a bit for each kind that the last handshake showed
    std::vector<std::string> files_;          // the complaint of each node's last handshake
    std::vector<std::string> without_fence_;  // the resources that were reported
};

}  // namespace redlock::detail
