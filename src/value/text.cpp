// Text for people: escaping, durations and the cause of one vote; knows no operation and no sink.
// SPDX-License-Identifier: MIT
#include "value/text.hpp"

#include "value/owner_id.hpp"

#include <redlock/detail/printable.hpp>

#include <algorithm>
#include <cstdio>

namespace redlock::text {

namespace {

// The value of a lock is 22 characters of identity, "@" and the client's name. The identity may
// come abbreviated already; whole, it would let the reader act as the holder.
std::string holder(std::string_view value) {
    constexpr std::size_t id_length = 22;
    const auto at = value.find('@');
    if (at != value.npos && at <= id_length && at + 1 < value.size()) {
        return printable(value.substr(at + 1), 64);
    }
    if (value.size() >= id_length) return printable(value, 6);
    return printable(value);
}

// Of several resources.
std::string which(const node_vote& v) {
    return v.resource.empty() ? "" : printable(v.resource, longest_shown) + " is ";
}

std::string held_cause(const node_vote& v) {
    std::string_view by = v.detail;
    const std::string_view more = by.substr(std::min(by.find(slots_mark), by.size()));
    by.remove_suffix(more.size());
    if (by.ends_with("; ")) by.remove_suffix(2);
    const bool is_kept = by.ends_with(kept_mark);
    if (is_kept) by.remove_suffix(kept_mark.size());
    std::string out = which(v) + (is_kept ? "kept" : "held");
    if (!by.empty()) out += (is_kept ? ", released by " : " by ") + holder(by);
    if (v.retry_in.count() > 0) out += (is_kept ? ", for " : " for ") + brief(v.retry_in) + " more";
    if (v.retry_in.count() < 0) out += " without expiry";
    if (!more.empty()) out += "; " + printable(more);
    return out;
}

// Cut between two words: what is to be typed stands whole, or not at all.
std::string sentence(std::string_view raw) {
    const auto end = raw.size() <= longest_shown ? raw.npos : raw.rfind(' ', longest_shown);
    return end == raw.npos ? printable(raw) : printable(raw.substr(0, end)) + " ...";
}

std::string with_error(std::string_view what, const node_vote& v) {
    std::string out(what);
    // The server's own words say more than that it answered an error.
    const bool words_suffice = v.error == errc::server_error && !v.detail.empty();
    if (v.error && !words_suffice) out += ": " + printable(v.error.message());
    if (!v.detail.empty()) out += ": " + sentence(v.detail);
    return out;
}

}  // namespace

std::string printable(std::string_view raw, std::size_t limit) {
    return detail::printable(raw, limit);
}

std::string lock_named(std::string_view resource) { return "lock \"" + printable(resource) + '"'; }

std::string brief(std::chrono::microseconds span) {
    const double us = static_cast<double>(span.count());
    char out[40];
    if (us < 9'950) {
        std::snprintf(out, sizeof out, "%.1f ms", us / 1e3);
    } else if (us < 999'500) {
        std::snprintf(out, sizeof out, "%.0f ms", us / 1e3);
    } else if (us < 9'950'000) {
        std::snprintf(out, sizeof out, "%.1f s", us / 1e6);
    } else if (us < 120e6) {
        std::snprintf(out, sizeof out, "%.0f s", us / 1e6);
    } else {
        std::snprintf(out, sizeof out, "%.0f min", us / 60e6);
    }
    return out;
}

std::string listed(std::span<const std::string> names) {
    constexpr std::size_t enough = 200;
    const std::size_t shown = detail::shown_of(names.size());
    std::string out;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i == shown || out.size() > enough) {
            return out + " and " + std::to_string(names.size() - i) + " more";
        }
        out.append(i == 0 ? "" : ", ").append(names[i]);
    }
    return out;
}

std::string cause(const node_vote& v) {
    switch (v.answer) {
        case vote::pending: return "no answer yet";
        case vote::granted: return "granted";
        case vote::held: return held_cause(v);
        case vote::queued:
            if (!v.detail.empty()) return v.detail;
            return which(v) + "free, but another waiter is first";
        case vote::stale: return "has seen a higher fence";
        case vote::quarantine:
            return v.retry_in.count() > 0 ? "in quarantine, " + brief(v.retry_in) + " more"
                                          : std::string("in quarantine");
        case vote::refused: return with_error("refused", v);
        case vote::timed_out:
            return "no answer in time" + (v.detail.empty() ? std::string() : ": " + v.detail);
        case vote::unreachable: return with_error("unreachable", v);
    }
    return "unknown answer";
}

std::string full_cause(const node_vote& v) {
    std::string out = cause(v);
    if (v.answer != vote::held) return out;
    if (v.held_for.count() > 0) out += ", since " + brief(v.held_for);
    if (!v.note.empty()) out += ", note \"" + printable(v.note) + '"';
    return out;
}

}  // namespace redlock::text
