// What an answer shows of the node that gave it; knows no request.
// SPDX-License-Identifier: MIT
#pragma once

namespace redlock::core {

/// Where none of these is set, the node is what it was in the handshake.
struct node_signs {
    bool is_late = false;      ///< It refused a command as late: its clock may have stepped.
    bool is_amnesiac = false;  ///< Its record is missing or another: it may have forgotten leases.
    bool is_replica = false;

    bool any() const noexcept { return is_late || is_amnesiac || is_replica; }
};

}  // namespace redlock::core
