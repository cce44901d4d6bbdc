// A lock for a scope.
// SPDX-License-Identifier: MIT
#include <redlock/guard.hpp>

#include <redlock/detail/section.hpp>

#include <boost/system/errc.hpp>

#include <utility>

namespace redlock {

guard::guard(blocking_client& client, std::string resource, acquire_options options) noexcept {
    try {
        if (auto got = client.acquire(std::move(resource), options)) {
            lease_ = std::move(*got);
        } else {
            why_ = std::move(got).error();
        }
    } catch (...) {
        // An acquire allocates; it throws nothing but that it could not.
        why_.code = make_error_code(boost::system::errc::not_enough_memory);
    }
}

const refusal& guard::why() const noexcept {
    if (!lease_.state() || held()) return why_;
    try {
        why_ = detail::why_over(lease_);
    } catch (...) {
        why_.code = errc::lost;  // without memory for the reason
    }
    return why_;
}

}  // namespace redlock
