// Queries the nodes for the waiters that sleep.
// SPDX-License-Identifier: MIT
#include "client/remote_queue.hpp"

#include "value/text.hpp"
#include "wire/failure.hpp"
#include "wire/request.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace redlock::detail {

using namespace std::chrono_literals;
/// The query when some of the sleeping waiters may have their keys: one command per node, for many.
class remote_queue::question final : public call {
public:
    /// `enters`: the nodes enter them in their queues.
    question(remote_queue& in, waiters about, bool enters, time_point now)
        : in_(&in), about_(std::move(about)), enters_(enters), sent_(now) {
        assert(!about_.empty());
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
        const bool was_listening =
            in_->asleep_.was_listening(node, in_->listening(), sent_);
        for (std::size_t i = 0; i < rows_.size();) {
            remote_waiter& waiter = *rows_[i].waiter;
            core::outlook all{.was_listening = was_listening};
            bool is_whole = true;
            for (; i < rows_.size() && rows_[i].waiter == &waiter; ++i) {
                const auto said = wire::read_wait(reply, i);
                if (said)
                    add(all, *said, rows_[i].index, now);
                else
                    is_whole = false;
            }
            all.is_foreign = all.is_foreign && all.blocked == 0;  // alone in the way
            if (is_whole && waiter.is_asleep()) waiter.answered(node, all, now);
        }
    }
    // It needs all its keys.
    static void add(core::outlook& all, const wire::wait_answer& said, std::size_t key,
                    time_point now) {
        assert(key < core::blocked_keys::most);
        const bool is_endless = said.left < 0ms;
        all.free_at = std::max(all.free_at, is_endless ? time_point::max() : now + said.left);
        all.first_at = std::max(all.first_at, now + said.before);
        all.is_foreign = all.is_foreign || said.is_foreign;
        all.slots = said.slots;
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
            if (!waiter->is_asleep()) continue;
            waiter->answered(node, {.free_at = may_vote_at, .has_vote = false}, now);
        }
    }
    bool is_wanted(std::uint32_t) const noexcept override { return true; }
    bool write_again(std::size_t node, std::uint32_t, wire::request& out,
                     time_point) const override {
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
std::string remote_queue::next_id(bool shares, std::uint16_t permits) {
    return std::string(shared_->client_id()) + (shares ? ":r" : ":") + std::to_string(++last_id_) +
           (permits > 1 ? '/' + std::to_string(permits) : "");
}

bool remote_queue::listen(time_point now) {
    if (!asleep_.open(now)) return false;
    listeners_->open(now);
    arm(now);
    return true;
}

void remote_queue::put_to_sleep(remote_waiter& waiter, node_mask queried, time_point sent,
                                time_point now) {
    assert(sent <= now && waiter.is_queued());
    asleep_.add(waiter, waiter.keys(), sent);
    if (listen(now)) return;
    const node_mask unqueried = asleep_.unqueried(listening(), queried, sent);
    if (!unqueried.empty()) ask({remote_waiter_ptr(&waiter)}, unqueried, now);
}

void remote_queue::close() noexcept {
    tick_.cancel();
    asleep_.close();
}

void remote_queue::clear() noexcept {
    close();
    asleep_.clear();
}

void remote_queue::arm(time_point now) {
    shared_->arm(tick_, asleep_.next_query(now, shared_->random_word()));
}

void remote_queue::on_tick(time_point now) {
    if (asleep_.close_if_idle(now)) return listeners_->close();
    waiters due;
    asleep_.take_due(now, [&](core::sleeper& one) {
        due.emplace_back(static_cast<remote_waiter*>(&one));
    });
    ask(due, nodes_->all(), now);
    arm(now);
}

void remote_queue::on_listening(std::size_t node, time_point now) {
    assert(node < deaf_.size());
    deaf_[node].reset();
    if (!asleep_.listens(node, now)) return arm(now);
    waiters all;
    asleep_.for_each([&](core::sleeper& one) {
        all.emplace_back(static_cast<remote_waiter*>(&one));
    });
    ask(all, node_mask::only(node), now);
}

void remote_queue::on_message(std::size_t node, std::string_view resource, time_point now) {
    // Of a node without a vote nobody gets anything: those that tried would wake each other.
    if (tracker_->known().votes().votes_from(node) > now) return;
    local_->wake(resource, node, std::nullopt, now);
    // It may be the key of a slot.
    const std::string_view all = wire::without_slot(resource);
    const auto digits = resource.substr(std::min(all.size() + 1, resource.size()));
    if (const auto slot = text::whole_number<std::uint16_t>(digits)) {
        local_->wake(all, node, slot, now);
    }
}

void remote_queue::ask(const waiters& about, node_mask nodes, time_point now) {
    assert(!nodes.empty());
    if (about.empty()) return;
    const auto send = [&](bool enters, node_mask to) {
        if (to.empty()) return;
        const boost::intrusive_ptr<question> what(new question(*this, about, enters, now));
        what->send(to, now);
    };
    for (const auto& waiter : about) {
        assert(waiter->is_asleep());
        waiter->queried(nodes);
    }
    // They are entered only where a wake-up would reach them.
    const node_mask reachable = listening();
    send(true, nodes & reachable);
    send(false, nodes - reachable);
}

}  // namespace redlock::detail
