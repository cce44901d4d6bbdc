// Keeps the waiters that sleep, and queries the nodes for them now and then.
// SPDX-License-Identifier: MIT
#include "client/wait/remote_queue.hpp"

#include "wire/failure.hpp"
#include "wire/keys.hpp"
#include "wire/wait.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace redlock::detail {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

// A script holds its node up while it runs: these are two to three milliseconds. So few follow each
// other so closely that a node is busy with them for a seventh of its time at most.
constexpr std::size_t most_at_once = 64;
constexpr duration between_batches = 20ms;
// How often the nodes are queried for a waiter. It is also how soon it finds a key free that a
// program deleted without waking it.
constexpr duration refresh = 650ms;
constexpr duration jitter = 100ms;
constexpr duration shortest_life = 2s;   // that long, two queries may be lost
// The second connections are kept for so long after the last waiter.
constexpr duration patience = 30s;

}  // namespace

/// The query when some of the sleeping waiters may have their keys: one command per node, for
/// many.
class remote_queue::question final : public call {
public:
    /// `enters`: the nodes enter them in their queues.
    question(remote_queue& in, waiters about, bool enters, time_point now)
        : in_(&in), about_(std::move(about)), enters_(enters), sent_(now) {
        rows_.reserve(about_.size());
        for (const auto& waiter : about_) {
            for (std::size_t i = 0; i < waiter->keys(); ++i) {
                rows_.push_back({waiter.get(), i, std::string(waiter->request(i).key)});
            }
        }
    }

    void send(node_mask nodes, time_point now) {
        wire::request wire;
        write(wire.words, resp::script_form::by_hash);
        const auto result = in_->nodes_->send(*this, 0, wire, now, nodes);
        for (const auto& [node, why] : result.failures) on_failure(node, 0, why, now);
        note_entered(result.sent);
    }

private:
    // Much later, when the scripts had gone, it may have got the key or given up.
    bool enters(const remote_waiter& waiter) const { return enters_ && waiter.is_asleep(); }
    void note_entered(node_mask nodes) const {
        for (const auto& waiter : about_) {
            if (!enters(*waiter)) continue;
            if (waiter->request(0).entry.life > duration::zero()) waiter->entered(nodes);
        }
    }
    void write(std::string& out, resp::script_form form) const {
        std::vector<wire::wait_request> all;
        all.reserve(rows_.size());
        for (const row& r : rows_) {
            all.push_back(r.waiter->request(r.index));
            all.back().key = r.key;
            if (!enters(*r.waiter)) all.back().entry.life = duration::zero();
        }
        wire::write_wait(out, form, all, in_->shared_->options().key_prefix);
    }
    void on_reply(std::size_t node, std::uint32_t, const resp::reply& reply,
                  time_point now) override {
        if (const auto o = in_->tracker_->object(node, sent_, now)) {
            return tell_all(node, now + o->left, now);
        }
        if (reply.type() == resp::reply_type::error) return tell_all(node, {}, now);
        for (std::size_t i = 0; i < rows_.size();) {
            remote_waiter& waiter = *rows_[i].waiter;
            core::outlook all{.was_listening = in_->was_listening(node, sent_)};
            bool is_whole = true;
            for (; i < rows_.size() && rows_[i].waiter == &waiter; ++i) {
                const auto said = wire::read_wait(reply, i);
                if (said)
                    add(all, *said, rows_[i].index, now);
                else
                    is_whole = false;
            }
            all.is_foreign = all.is_foreign && all.blocked == 0;  // alone in the way
            if (is_whole && waiter.is_asleep()) waiter.answered(node, all, true, now);
        }
    }
    // It needs all its keys.
    static void add(core::outlook& all, const wire::wait_answer& said, std::size_t key,
                    time_point now) {
        const bool is_endless = said.left < 0ms;
        all.free_at = std::max(all.free_at, is_endless ? time_point::max() : now + said.left);
        all.first_at = std::max(all.first_at, now + said.before);
        all.is_foreign = all.is_foreign || said.is_foreign;
        // No wake-up will tell of a key that another library gives back.
        if (said.left != 0ms && !said.is_foreign) all.blocked |= core::blocked_keys::keys(1) << key;
    }
    void on_failure(std::size_t node, std::uint32_t, const wire::failure&,
                    time_point now) override {
        tell_all(node, {}, now);
    }
    // What it answered before is no longer worth waiting for: a waiter that can reach no quorum
    // has to find out, and must not block the others.
    void tell_all(std::size_t node, time_point may_vote_at, time_point now) const {
        for (const auto& waiter : about_) {
            if (waiter->is_asleep()) waiter->answered(node, {.free_at = may_vote_at}, false, now);
        }
    }
    bool is_wanted(std::uint32_t) const noexcept override { return true; }
    bool write_again(std::size_t node, std::uint32_t, wire::request& out, time_point) const override {
        write(out.words, resp::script_form::whole);
        // Some may have got their place back since it was sent.
        note_entered(node_mask::only(node));
        return true;
    }

    struct row {
        remote_waiter* waiter;
        std::size_t index;
        std::string key;  // a copy: a grant moves the waiter's own to its lease
    };

    remote_queue* in_;
    waiters about_;
    std::vector<row> rows_;
    bool enters_;
    time_point sent_;
};

// The form is known to shared/queue.lua.
std::string remote_queue::next_id(bool shares) {
    return std::string(shared_->client_id()) + (shares ? ":r" : ":") + std::to_string(++last_id_);
}

bool remote_queue::was_listening(std::size_t node, time_point sent) const noexcept {
    return listeners_->is_listening(node) && listening_since_[node] < sent;
}

bool remote_queue::listen(time_point now) {
    last_needed_ = now;
    if (std::exchange(is_open_, true)) return false;
    listeners_->open(now);
    arm(now);
    return true;
}

void remote_queue::put_to_sleep(remote_waiter& waiter, node_mask queried, time_point sent,
                                time_point now) {
    assert(!waiter.is_asleep() && waiter.keys() > 0 && sent <= now);
    waiter.queried_at_ = sent;
    asleep_.push_back(waiter);
    asleep_keys_ += waiter.keys_asleep_ = waiter.keys();
    if (listen(now)) return;
    node_mask unqueried = listening() - queried;
    for (std::size_t i = 0; i < shared_->size(); ++i) {
        if (listeners_->is_listening(i) && listening_since_[i] > sent) unqueried.insert(i);
    }
    if (unqueried.empty()) return;
    ask({remote_waiter_ptr(&waiter)}, unqueried, now);
}

void remote_queue::wake(remote_waiter& waiter) noexcept {
    if (!waiter.is_asleep()) return;
    assert(asleep_keys_ >= waiter.keys_asleep_);
    asleep_.erase(asleep_.iterator_to(waiter));
    asleep_keys_ -= waiter.keys_asleep_;
}

void remote_queue::close() noexcept {
    tick_.cancel();
    is_open_ = false;
}

void remote_queue::clear() noexcept {
    close();
    asleep_.clear();
    asleep_keys_ = 0;
}

duration remote_queue::entry_life() const noexcept {
    // Those that want several keys fill a batch to a half at least.
    const std::size_t full = (asleep_keys_ + most_at_once - 1) / most_at_once;
    const bool are_single = asleep_keys_ == asleep_.size();
    const std::size_t batches = are_single ? full : std::min(asleep_.size(), 2 * full);
    return std::clamp<duration>(3 * static_cast<duration::rep>(batches) * between_batches, shortest_life,
                                wire::longest_entry_life);
}

// When the first is due, but so many at once that a batch is always some milliseconds from the
// next.
void remote_queue::arm(time_point now) {
    const auto spread = static_cast<std::uint64_t>(jitter.count()) + 1;
    const duration period =
        refresh + duration(static_cast<duration::rep>(shared_->random_word() % spread));
    time_point when = now + period;
    if (!asleep_.empty()) {
        const remote_waiter& first = asleep_.front();
        when = is_hurried(first) ? now : first.queried_at_ + period;
    }
    shared_->arm(tick_, std::max(when, now + between_batches));
}

void remote_queue::on_tick(time_point now) {
    if (!asleep_.empty()) last_needed_ = now;
    if (now - last_needed_ >= patience) {
        is_open_ = false;
        listeners_->close();
        return;
    }
    // Also the waiters that are due before long: one that began alone joins the others from then
    // on.
    auto last = asleep_.begin();
    for (std::size_t keys = 0; last != asleep_.end(); ++last) {
        if (!is_hurried(*last) && last->queried_at_ > now - refresh / 2) break;
        keys += last->keys();
        if (keys > most_at_once) break;
    }
    std::for_each(asleep_.begin(), last,
                  [now](remote_waiter& waiter) { waiter.queried_at_ = now; });
    ask_until(last, nodes_->all(), now);
    asleep_.splice(asleep_.end(), asleep_, asleep_.begin(), last);
    arm(now);
}

void remote_queue::on_listening(std::size_t node, time_point now) {
    deaf_[node].reset();
    // Nothing that was published before this has arrived here.
    listening_since_[node] = now;
    if (asleep_keys_ <= most_at_once) return ask_until(asleep_.end(), node_mask::only(node), now);
    hurried_at_ = now;
    arm(now);
}

void remote_queue::on_message(std::size_t node, std::string_view resource, time_point now) {
    local_->wake(resource, node, std::nullopt, now);
    // It may be the key of a slot.
    const std::string_view all = wire::without_slot(resource);
    std::uint16_t slot = 0;
    const auto digits = resource.substr(std::min(all.size() + 1, resource.size()));
    const auto end = digits.data() + digits.size();
    if (!digits.empty() && std::from_chars(digits.data(), end, slot).ptr == end) {
        local_->wake(all, node, slot, now);
    }
}

void remote_queue::ask_until(waiter_list::iterator last, node_mask nodes, time_point now) {
    waiters some;
    for (auto at = asleep_.begin(); at != last; ++at) some.emplace_back(&*at);
    if (!some.empty()) ask(some, nodes, now);
}

void remote_queue::ask(const waiters& about, node_mask nodes, time_point now) {
    assert(!about.empty() && !nodes.empty());
    const auto send = [&](bool enters, node_mask to) {
        if (to.empty()) return;
        const boost::intrusive_ptr<question> what(new question(*this, about, enters, now));
        what->send(to, now);
    };
    for (const auto& waiter : about) waiter->queried(nodes);
    // They are entered only where a wake-up would reach them.
    const node_mask reachable = listening();
    send(true, nodes & reachable);
    send(false, nodes - reachable);
}

}  // namespace redlock::detail
