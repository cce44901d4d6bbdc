// The leases of many threads, and what the judge of exclusion and fences says of them; knows no
// client.
// SPDX-License-Identifier: MIT
#pragma once

#include "judge/exclusion.hpp"

#include <redlock/clock.hpp>
#include <redlock/lease.hpp>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace redlock::testing {

/// A lease that its holder gives up now, or that is over already.
inline judge::span span_until_now(const lease& held, clock::time_point granted_at) {
    judge::span s;
    s.resource = held.resource();
    s.owner = held.owner().to_string();
    s.fence = held.fence();
    s.granted_at = s.asked_at = granted_at;
    s.trusted_until = s.seen_until = std::min(clock::now(), held.valid_until());
    return s;
}

inline void sort_by_grant(std::vector<judge::span>& spans) {
    std::sort(spans.begin(), spans.end(), [](const judge::span& a, const judge::span& b) {
        return a.granted_at < b.granted_at;
    });
}

/// Two holders at once and fences out of order, as text; empty when good. The judge keeps the
/// latest few thousand leases, so it is given them in order.
inline std::vector<std::string> find_violations(std::vector<judge::span> spans) {
    sort_by_grant(spans);
    std::vector<std::string> found;
    judge::exclusion judge(
        [&found](judge::violation v) { found.push_back(std::move(v.text)); });
    for (const auto& span : spans) judge.add(span);
    return found;
}

/// Thread-safe.
class history {
public:
    void add(judge::span span) {
        const std::lock_guard lock(mutex_);
        spans_.push_back(std::move(span));
    }
    std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return spans_.size();
    }
    std::vector<std::string> violations() const {
        const std::lock_guard lock(mutex_);
        return find_violations(spans_);
    }

    /// For how long nobody had the one resource that all leases are of, between two holders.
    clock::duration longest_gap() const {
        const std::lock_guard lock(mutex_);
        auto list = spans_;
        sort_by_grant(list);
        clock::duration longest{};
        for (std::size_t i = 1; i < list.size(); ++i) {
            longest = std::max(longest, list[i].granted_at - list[i - 1].trusted_until);
        }
        return longest;
    }

private:
    mutable std::mutex mutex_;
    std::vector<judge::span> spans_;
};

}  // namespace redlock::testing
