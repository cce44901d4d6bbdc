// What the machines that watch the nodes want done, as data; knows no reason and no wire format.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/node/bootstrap.hpp"
#include "core/node/membership.hpp"
#include "core/node/node_clocks.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace redlock::core {

/// What is written to a record together with the clock's offset.
struct amendment {
    enum class kind : std::uint8_t {
        keep,    ///< The node remembers its leases.
        strike,  ///< It may have forgotten leases: its quarantine begins again.
        open,    ///< No earlier lease can be alive.
    };
    kind what = kind::keep;
    /// The record names an earlier process: from now on it names the present one.
    bool names_process = false;
    std::chrono::milliseconds quarantine{0};  ///< Raised to that; a larger one stands.
    std::chrono::milliseconds ttl_max{0};
};

struct node_order {
    enum class task : std::uint8_t {
        // To be sent to the node.
        bootstrap,         ///< `step`, on its record.
        look,              ///< Read its clock and, where the guard is on, its record.
        write_clock,       ///< Write what was `found` of its clock, and `changes`, to its record.
        turn,              ///< Turn its record into that of another list: `turned`.
        read_replication,  ///< Read its role and its replication ids.
        greet_again,       ///< Run the handshake again, on a new connection.

        // To be used for what is sent to the node from now on.
        use_record,
        use_clock,

        // To be reported.
        clock_gap,         ///< Our own clock stood still, for `gap` at most.
        settled,           ///< Acquires need not wait any longer.
        report_objection,  ///< The node has no vote.
        report_ttl_max,    ///< Its record has a ttl_max that no report named yet.
    };

    task what{};
    std::size_t node = 0;
    bootstrap::task step{};
    clock_check found{};
    amendment changes{};
    duration gap{};
    std::optional<membership::turn> turned{};
};

using node_orders = std::vector<node_order>;

}  // namespace redlock::core
