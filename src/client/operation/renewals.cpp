// Which leases are due for renewal, and when a round of them goes out.
// SPDX-License-Identifier: MIT
#include "client/operation/renewals.hpp"

#include <cassert>

namespace redlock::detail {

void renewals::add(held_lease& what) {
    assert(!what.is_over());
    // It may become due again while it waits here, since the holder may extend it. A round must not
    // name it twice: the second answer would deny its own key.
    if (what.set_due(true)) return;
    due_.push({what.machine().report_at(), held_lease_ptr(&what)});
}

boost::intrusive_ptr<renewal_round> renewals::next_round() {
    if (due_.empty() || !window_.has_room()) return nullptr;
    auto round = boost::intrusive_ptr<renewal_round>(new renewal_round(window_));
    while (!due_.empty() && round->take(due_.top().lease)) {
        due_.top().lease->set_due(false);
        due_.pop();
    }
    window_.enter();
    return round;
}

}  // namespace redlock::detail
