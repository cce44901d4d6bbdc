// Who trusted which lease when, and whether two did at once; knows no client.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>
#include <redlock/lease.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace redlock::testing {

/// One holder's trust in one lease: from when it was handed out to when it ended for the holder.
struct held_span {
    std::string resource;
    std::string owner;
    clock::time_point granted_at;
    clock::time_point trusted_until;
    std::uint64_t fence = 0;
};

/// The span of a lease that its holder gives up now, or of one that is over already.
inline held_span span_until_now(const lease& held, clock::time_point granted_at) {
    return {held.resource(), held.owner().to_string(), granted_at,
            std::min(clock::now(), held.valid_until()), held.fence()};
}

/// Every pair of neighbours that trusted one resource at the same time, as text; empty when good.
inline std::vector<std::string> find_overlaps(const std::vector<held_span>& spans) {
    std::map<std::string, std::vector<held_span>> by_resource;
    for (const auto& span : spans) by_resource[span.resource].push_back(span);
    std::vector<std::string> found;
    for (auto& [resource, list] : by_resource) {
        std::sort(list.begin(), list.end(), [](const held_span& a, const held_span& b) {
            return a.granted_at < b.granted_at;
        });
        const held_span* last = nullptr;  // of those before, the one trusted longest
        for (const auto& span : list) {
            if (last != nullptr && span.granted_at < last->trusted_until) {
                const auto overlap = std::min(last->trusted_until, span.trusted_until) -
                                     span.granted_at;
                found.push_back(resource + ": " + last->owner + " and " + span.owner + " for " +
                                std::to_string(overlap.count()) + " ns");
            }
            if (last == nullptr || span.trusted_until > last->trusted_until) last = &span;
        }
    }
    return found;
}

/// The spans of many threads. Thread-safe. Those of other processes come in through a file:
/// `redlock::clock` is the same for all processes of a machine.
class history {
public:
    void add(held_span span) {
        const std::lock_guard lock(mutex_);
        spans_.push_back(std::move(span));
    }
    std::size_t size() const {
        const std::lock_guard lock(mutex_);
        return spans_.size();
    }
    std::vector<std::string> overlaps() const {
        const std::lock_guard lock(mutex_);
        return find_overlaps(spans_);
    }

    /// For how long nobody had the one resource that all spans are of, between two holders.
    clock::duration longest_gap() const {
        const std::lock_guard lock(mutex_);
        auto list = spans_;
        std::sort(list.begin(), list.end(), [](const held_span& a, const held_span& b) {
            return a.granted_at < b.granted_at;
        });
        clock::duration longest{};
        for (std::size_t i = 1; i < list.size(); ++i) {
            longest = std::max(longest, list[i].granted_at - list[i - 1].trusted_until);
        }
        return longest;
    }

    /// One line per span: resource (without white space), owner, two times in nanoseconds.
    void save(const std::string& path) const {
        const std::lock_guard lock(mutex_);
        std::ofstream file(path, std::ios::app);
        for (const auto& s : spans_) {
            file << s.resource << ' ' << s.owner << ' ' << s.granted_at.time_since_epoch().count()
                 << ' ' << s.trusted_until.time_since_epoch().count() << '\n';
        }
    }
    void load(const std::string& path) {
        std::ifstream file(path);
        held_span span;
        clock::rep granted_at = 0;
        clock::rep trusted_until = 0;
        while (file >> span.resource >> span.owner >> granted_at >> trusted_until) {
            span.granted_at = clock::time_point(clock::duration(granted_at));
            span.trusted_until = clock::time_point(clock::duration(trusted_until));
            add(span);
        }
    }

private:
    mutable std::mutex mutex_;
    std::vector<held_span> spans_;
};

}  // namespace redlock::testing
