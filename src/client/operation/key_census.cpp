// Reckons from some of a node's keys what all keys of the library take there.
// SPDX-License-Identifier: MIT
#include "client/operation/key_census.hpp"

#include "wire/keys.hpp"
#include "wire/scan.hpp"

#include <algorithm>

namespace redlock::detail {

namespace {

// What MEMORY USAGE leaves out: the key's places in the server's tables of keys and of expiries.
constexpr std::uint64_t bytes_of_places = 57;
// Of a key that can't be measured, by and large: docs/nodes.md, "Memory".
constexpr std::uint64_t usual_bytes = 160;
// A lock takes less, however long its name: what takes more is other data.
constexpr std::int64_t most_bytes_of_lock = 2'000;

}  // namespace

std::string key_census::on_page(const resp::reply& reply, std::string_view prefix) {
    const auto page = wire::read_scan(reply);
    if (!page) {
        if (reply.is_error("NOPERM")) missing_right_ = "scan";
        return {};
    }
    for (std::size_t i = 0; i < page->keys.size(); ++i) {
        const std::string_view key = page->keys[i].text();
        ++seen_;
        if (!key.starts_with(prefix) || key == wire::record_key(prefix)) continue;
        kind& of = kinds_[static_cast<std::size_t>(role_of(prefix, key.substr(prefix.size())))];
        ++of.count;
        if (of.chosen.size() < most_measured) of.chosen.emplace_back(key);
    }
    ++pages_;
    is_complete_ = page->cursor == "0";
    return is_complete_ || pages_ == most_pages ? std::string() : std::string(page->cursor);
}

std::vector<std::string> key_census::chosen() const {
    std::vector<std::string> all;
    for (const kind& each : kinds_) all.insert(all.end(), each.chosen.begin(), each.chosen.end());
    return all;
}

void key_census::on_usage(std::size_t i, const resp::reply& reply) {
    if (reply.is_error("NOPERM")) missing_right_ = "memory|usage";
    // Nil: it has gone.
    if (reply.type() != resp::reply_type::integer || reply.integer() < 0) return;
    for (std::size_t role = 0; role < key_roles; ++role) {
        kind& of = kinds_[role];
        if (i >= of.chosen.size()) {
            i -= of.chosen.size();
            continue;
        }
        const bool is_lock = static_cast<key_role>(role) == key_role::lock;
        if (is_lock && reply.integer() > most_bytes_of_lock) return;
        ++of.measured;
        of.bytes += static_cast<std::uint64_t>(reply.integer()) + bytes_of_places;
        return;
    }
}

key_usage key_census::usage_of(key_role role, double scale) const {
    const kind& of = kinds_[static_cast<std::size_t>(role)];
    const double each = of.measured == 0 ? static_cast<double>(usual_bytes)
                                         : static_cast<double>(of.bytes) /
                                               static_cast<double>(of.measured);
    const double count = static_cast<double>(of.count) * scale;
    return {static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(count * each)};
}

key_memory key_census::result(std::uint64_t keys, bool has_fences) const {
    key_memory out;
    out.is_known = pages_ > 0;
    out.missing_right = missing_right_;
    if (!out.is_known) return out;
    out.is_counted = is_complete_;
    const bool is_sample = !is_complete_ && seen_ > 0 && keys > seen_;
    const double scale =
        is_sample ? static_cast<double>(keys) / static_cast<double>(seen_) : 1.0;
    out.locks = usage_of(key_role::lock, scale);
    out.fences = usage_of(key_role::fence, scale);
    out.queues = usage_of(key_role::queue, scale);
    out.readers = usage_of(key_role::readers, scale);
    out.slots = usage_of(key_role::slots, scale);
    out.revocations = usage_of(key_role::revoked, scale);
    out.notes = usage_of(key_role::note, scale);
    if (has_fences && out.locks.count > out.fences.count) {
        out.locks.bytes = out.locks.bytes / out.locks.count * out.fences.count;
        out.locks.count = out.fences.count;
    }
    return out;
}

}  // namespace redlock::detail
