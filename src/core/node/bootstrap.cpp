// Whether the nodes are a new cluster, and which client says so.
// SPDX-License-Identifier: MIT
#include "core/node/bootstrap.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>

namespace redlock::core {

using namespace std::chrono_literals;

namespace {

// How long another client's bootstrap is given, and how often it is looked at.
constexpr std::chrono::microseconds patience = 5s;
constexpr duration between_looks = 20ms;

bool is_younger(const record_facts& r, duration age) noexcept {
    return r.since_us != 0 && std::chrono::microseconds(r.time_us - r.since_us) < age;
}

bool is_under_way(const record_facts& r) noexcept {
    return !r.mark.empty() && is_younger(r, patience);
}

}  // namespace

bootstrap::bootstrap(std::size_t nodes, bool is_wanted, duration window, std::string mark)
    : mark_(std::move(mark)), window_(window), nodes_(nodes), may_open_(is_wanted) {}

bool bootstrap::has(state s) const noexcept {
    return std::any_of(nodes_.begin(), nodes_.end(), [s](const auto& n) { return n.is == s; });
}

bool bootstrap::has_makeable() const noexcept {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].is == state::empty && makeable_.contains(i)) return true;
    }
    return false;
}

bool bootstrap::is_all_ours() const noexcept {
    return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& n) {
        return n.is == state::ours || n.is == state::excused;
    });
}

bool bootstrap::is_new_cluster() const noexcept {
    return may_open_ && has(state::empty) &&
           std::all_of(nodes_.begin(), nodes_.end(), [](const auto& n) {
               return n.is == state::empty || n.is == state::excused;
           });
}

bool bootstrap::may_make() const noexcept {
    return !has_yielded_ && !has(state::unknown) && !has(state::other_set);
}

// Beside a node of another set no record will be made: what is empty is read when that node fits.
bool bootstrap::waits_for_news() const noexcept {
    return has(state::theirs) || (has_yielded_ && has(state::empty) && !has(state::other_set));
}

void bootstrap::look_soon(time_point now) noexcept {
    if (waits_for_news() && next_look_ == time_point::max()) next_look_ = now + between_looks;
}

void bootstrap::found(std::size_t node, const record_facts& record, time_point now,
                      time_point sent) {
    assert(node < nodes_.size());
    node_state& n = nodes_[node];
    if (n.is == state::ordered) sent = std::min(sent, n.ordered_at);
    if (!record.exists) {
        n.is = state::empty;
    } else if (record.mark == mark_ && is_younger(record, window_)) {
        // Also where it stood there already: the reply that made it was lost, or came by another of
        // the server's names. The mark would have gone with the data.
        n.is = state::ours;
        // An answer may have lain here while we slept: what it tells is as old as the question.
        const std::chrono::microseconds age(
            std::max<std::int64_t>(record.time_us - record.since_us, 0));
        first_made_ = std::min(first_made_, std::min(sent, now) - age);
    } else if (record.mark != mark_ && is_under_way(record)) {
        n.is = state::theirs;
        n.mark = record.mark;
        if (patience_ends_ == time_point::max()) patience_ends_ = now + patience;
    } else {
        n.is = state::settled;
        may_open_ = false;
    }
    look_soon(now);
}

void bootstrap::note_other_set(std::size_t node) noexcept {
    assert(node < nodes_.size());
    nodes_[node].is = state::other_set;
    may_open_ = false;
}

void bootstrap::note_record(std::size_t node) noexcept {
    assert(node < nodes_.size());
    nodes_[node].is = state::settled;
    may_open_ = false;
}

void bootstrap::down(std::size_t node) noexcept {
    assert(node < nodes_.size());
    node_state& n = nodes_[node];
    if (n.is == state::other_set) return;
    const bool was_ours =
        n.is == state::ours || (n.is == state::ordered && n.ordered != task::look);
    if (was_ours) may_open_ = false;
    n.is = state::down;
}

void bootstrap::done(std::size_t node, time_point now) noexcept {
    assert(node < nodes_.size());
    node_state& n = nodes_[node];
    if (n.is != state::ordered) return;
    n.is = n.ordered == task::withdraw ? state::empty : state::settled;
    look_soon(now);
}

void bootstrap::give(std::vector<order>& out, std::size_t node, task what, time_point now) {
    nodes_[node].is = state::ordered;
    nodes_[node].ordered = what;
    nodes_[node].ordered_at = now;
    out.push_back({node, what});
}

bool bootstrap::must_yield() const noexcept {
    return std::any_of(nodes_.begin(), nodes_.end(), [this](const node_state& n) {
        return n.is == state::theirs && n.mark < mark_;
    });
}

std::vector<bootstrap::order> bootstrap::due(time_point now) {
    std::vector<order> out;
    if (!keeps_records_) return out;
    if (first_made_ != time_point::max() && now - first_made_ >= window_) may_open_ = false;
    // Nobody is waited for any more, and the last node may come late.
    if (!has_yielded_ && !has(state::theirs) && !has(state::ordered)) {
        patience_ends_ = time_point::max();
    }
    const bool has_lost_patience = now >= patience_ends_;
    if (has_lost_patience) {
        patience_ends_ = time_point::max();
        may_open_ = false;
        has_yielded_ = false;
    }
    if (may_open_ && must_yield()) {
        may_open_ = false;
        has_yielded_ = true;
    }
    const bool opens = may_open_ && is_all_ours();
    if (opens) may_open_ = false;
    const bool looks = now >= next_look_;
    if (looks) next_look_ = now + between_looks;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        node_state& n = nodes_[i];
        if (n.is == state::ours && opens) {
            give(out, i, task::open, now);
        } else if (n.is == state::ours && (has_yielded_ || has(state::other_set))) {
            give(out, i, task::withdraw, now);
        } else if (n.is == state::theirs && has_lost_patience) {
            n.is = state::settled;
        } else if (n.is == state::theirs && looks) {
            give(out, i, may_open_ && may_make() ? task::make : task::look, now);
        } else if (n.is == state::empty && may_make() && makeable_.contains(i)) {
            give(out, i, may_open_ ? task::make : task::settle, now);
        } else if (n.is == state::empty && looks && !has(state::other_set)) {
            give(out, i, task::look, now);
        }
    }
    if (!waits_for_news() && !has(state::ordered)) next_look_ = time_point::max();
    return out;
}

time_point bootstrap::deadline() const noexcept {
    const bool waits = keeps_records_ && (has(state::theirs) || has(state::empty));
    return waits ? std::min(next_look_, patience_ends_) : time_point::max();
}

bool bootstrap::is_pending() const noexcept {
    if (!keeps_records_ || has(state::other_set)) return false;
    if (has(state::theirs) || has_makeable() || has(state::ordered)) return true;
    return may_open_ && !has(state::down);
}

}  // namespace redlock::core
