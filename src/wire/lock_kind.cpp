// The kinds of lock.
// SPDX-License-Identifier: MIT
#include "wire/lock_kind.hpp"

#include "wire/extend.hpp"

namespace redlock::wire {

constinit const lock_kind plain_lock{.is_fenced = false,
                                     .is_shared = false,
                                     .write_acquire = write_set,
                                     .read_acquire = read_set,
                                     .write_extend = write_extend,
                                     .read_extension = read_extension,
                                     .write_release = write_plain_release,
                                     .read_release = read_release};

constinit const lock_kind fenced_lock{.is_fenced = true,
                                      .is_shared = false,
                                      .write_acquire = write_acquire,
                                      .read_acquire = read_acquire,
                                      .write_extend = write_extend,
                                      .read_extension = read_extension,
                                      .write_release = write_release,
                                      .read_release = read_release};

constinit const lock_kind shared_lock{.is_fenced = true,
                                      .is_shared = true,
                                      .write_acquire = write_share,
                                      .read_acquire = read_acquire,
                                      .write_extend = write_extend_share,
                                      .read_extension = read_extension,
                                      .write_release = write_release_share,
                                      .read_release = read_release};

constinit const lock_kind set_lock{.is_fenced = true,
                                   .is_shared = false,
                                   .write_acquire = write_acquire_all,
                                   .read_acquire = read_acquire_all,
                                   .write_extend = write_extend_all,
                                   .read_extension = read_extension,
                                   .write_release = write_release_all,
                                   .read_release = read_release};

constinit const lock_kind plain_set_lock{.is_fenced = false,
                                         .is_shared = false,
                                         .write_acquire = write_set_all,
                                         .read_acquire = read_set_all,
                                         .write_extend = write_extend_all,
                                         .read_extension = read_extension,
                                         .write_release = write_plain_release_all,
                                         .read_release = read_release};

constinit const lock_kind slot_lock{.is_fenced = true,
                                    .is_shared = false,
                                    .write_acquire = write_acquire_slot,
                                    .read_acquire = read_acquire,
                                    .write_extend = write_extend_slot,
                                    .read_extension = read_extension,
                                    .write_release = write_release_slot,
                                    .read_release = read_release};

}  // namespace redlock::wire
