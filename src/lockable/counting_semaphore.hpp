// A semaphore on a blocking client: the permits of one object, each a slot.
// SPDX-License-Identifier: MIT
#pragma once

#include "lockable/mutex.hpp"

#include <redlock/lease.hpp>

#include <cstddef>
#include <vector>

namespace redlock::detail {

/// A permit is one acquisition and the lease behind it. Any thread may give back any permit, and
/// does not name it: its own come first, because a thread that acquires mostly also releases. Of
/// several, those go first whose lease was lost: a slot is then given back late rather than while a
/// thread still works under it. Each loss is reported once: to the thread that acquired the permit,
/// or that gives it back. Not thread-safe.
class permits {
public:
    /// What a thread's operation has to report.
    struct arrival {
        bool is_lost = false;
        std::vector<lease> ended{};  ///< Of the losses that it reports.
    };
    /// Before a thread acquires. All losses of its permits are reported by this operation. Those
    /// permits have still to be given back.
    arrival arrive(thread_number thread);

    void begin(thread_number thread, lease granted);

    /// What a release ends.
    struct departure {
        bool is_enough = false;       ///< There were so many. If not, nothing has changed.
        std::vector<lease> held{};    ///< These are to be released.
        bool is_lost = false;         ///< The operation reports a loss.
        std::vector<lease> ended{};   ///< Of the losses that it reports.
    };
    /// `is_lost` only for an operation that may throw: else the thread's next one reports it.
    departure depart(thread_number thread, std::size_t count, bool may_throw);

    /// A release has shown a loss that its operation may not throw: the thread's next one does.
    void note_loss(thread_number thread);

    /// The lease that a thread acquired last, of those that were neither given back nor reported
    /// lost; else null.
    const lease* latest(thread_number thread) const noexcept;
    /// A sign of life of a thread: for all leases that it acquired.
    void touch(thread_number thread) const noexcept;

    /// Losses that nobody asks for leave an entry. Beyond so many the oldest is forgotten.
    static constexpr std::size_t most_losses = 1'000;

private:
    struct entry {
        thread_number thread = 0;
        lease held{};
        bool is_given_back = false;  // only the report of its loss is left
        bool is_reported = false;    // the loss, and only giving it back is left
    };

    bool report(entry& lost, std::vector<lease>& ended);
    std::vector<entry>::iterator next_to_go(thread_number thread) noexcept;
    void tidy() noexcept;

    std::vector<entry> entries_;  // in the order of their acquisition
};

}  // namespace redlock::detail
