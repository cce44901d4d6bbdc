// The resources that a client watches.
// SPDX-License-Identifier: MIT
#include "client/watch.hpp"

#include "client/inspect.hpp"
#include "client/survey.hpp"
#include "value/state.hpp"
#include "wire/questions.hpp"

#include <algorithm>
#include <cassert>

namespace redlock::detail {

/// The question to the nodes for some resources. They may not be watched any more when the answers
/// arrive.
class watches::look final : public call {
public:
    look(watches& in, std::vector<entry_ptr> about, std::uint64_t number)
        : in_(&in), about_(std::move(about)) {
        assert(!about_.empty() && about_.size() <= wire::most_looked_at && number > 0);
        numbers_.fill(number);
    }

    void send(node_mask nodes, time_point now) {
        wire::request request;
        write(request, resp::script_form::by_hash);
        const auto result = in_->client_->nodes.send(*this, 0, request, now, nodes);
        for (const std::size_t node : result.sent) {
            if (in_->open_[node]++ == 0) in_->looked_at_[node] = now;
        }
        // What fails at once costs an inspection no time.
        for (const auto& failed : result.failures) in_->silent_.erase(failed.first);
    }

private:
    void write(wire::request& out, resp::script_form form) const {
        std::vector<std::string_view> keys;
        keys.reserve(about_.size());
        for (const entry_ptr& one : about_) keys.push_back(one->key);
        const context& shared = in_->client_->shared;
        wire::write_look(out.words, form, keys, shared.options().key_prefix, shared.is_fenced());
    }
    void on_reply(std::size_t node, std::uint32_t, const resp::reply& reply,
                  time_point now) override {
        assert(in_->open_[node] > 0);
        --in_->open_[node];
        in_->silent_.erase(node);
        for (std::size_t i = 0; i < about_.size(); ++i) {
            const auto digest = wire::read_look(reply, i, about_.size());
            digest ? about_[i]->state.showed(node, *digest, numbers_[node])
                   : about_[i]->state.is_hidden(now);
            in_->note(*about_[i]);
        }
    }
    void on_failure(std::size_t node, std::uint32_t, const wire::failure&, time_point) override {
        assert(in_->open_[node] > 0);
        --in_->open_[node];
        in_->silent_.insert(node);
    }
    bool is_wanted(std::uint32_t) const noexcept override { return !in_->is_closed_; }
    // It goes behind inspections that have begun since, and may see what they could not.
    bool write_again(std::size_t node, std::uint32_t, wire::request& out,
                     time_point) const override {
        numbers_[node] = ++in_->last_look_;
        write(out, resp::script_form::whole);
        return true;
    }

    watches* in_;
    std::vector<entry_ptr> about_;
    mutable std::array<std::uint64_t, max_nodes> numbers_{};  // higher where it was sent again
};

class watches::inspection final : public inspect_operation {
public:
    inspection(watches& in, entry_ptr what, node_mask silent)
        : inspect_operation(what->resource, silent), in_(&in), what_(std::move(what)) {}
    bool has_caller() const noexcept override { return false; }
    void discard() noexcept override {}

private:
    void complete(error_code why, resource_state state) override {
        in_->inspected(*what_, !why && is_conclusive(), state);
    }

    watches* in_;
    entry_ptr what_;
};

void watches::add(watch_operation& one, time_point now) {
    assert(!is_closed_ && !one.watching_.is_linked());
    entry_ptr& at = all_[one.resource_];
    if (!at) {
        at = std::make_shared<entry>();
        at->resource = one.resource_;
        at->key = client_->shared.options().key_prefix + at->resource;
        if (all_.size() == 1) arm(now);
        fresh_.push_back(at);
    }
    at->fresh.push_back(one);
    at->state.ask();
    note(*at);
}

void watches::remove(watch_operation& one) noexcept {
    if (!one.watching_.is_linked()) return;
    one.watching_.unlink();
    const auto at = all_.find(one.resource_);
    if (at != all_.end()) drop_if_idle(*at->second);
}

void watches::drop_if_idle(const entry& what) noexcept {
    if (!what.fresh.empty() || !what.known.empty() || what.state.is_inspected()) return;
    const auto at = all_.find(what.resource);
    if (at == all_.end() || at->second.get() != &what) return;
    all_.erase(at);
    if (all_.empty()) tick_.cancel();
}

void watches::changed(std::string_view resource) noexcept {
    const auto at = all_.find(resource);
    if (at == all_.end()) return;
    at->second->state.ask();
    note(*at->second);
}

void watches::note(entry& what) noexcept {
    if (is_closed_ || what.due.is_linked() || !what.state.wants_inspection()) return;
    due_.push_back(what);
    has_changed_ = true;
}

void watches::close() noexcept {
    is_closed_ = true;
    tick_.cancel();
    fresh_.clear();
    due_.clear();
}

void watches::arm(time_point now) {
    if (std::exchange(has_changed_, false)) changed_at_ = now;
    const std::uint64_t random = client_->shared.random_word();
    client_->shared.arm(tick_,
                        now + core::until_next_look(all_.size(), now - changed_at_, random));
}

void watches::on_tick(time_point now) {
    assert(!is_closed_ && !all_.empty());
    node_mask answering;
    for (const std::size_t i : client_->nodes.all()) {
        if (open_[i] == 0) {
            answering.insert(i);
        } else if (core::is_silent(now - looked_at_[i], client_->nodes[i].round_trip())) {
            silent_.insert(i);
        }
    }
    std::vector<entry_ptr> what;
    for (const auto& [name, one] : all_) {
        one->state.on_time(now);
        note(*one);
        what.push_back(one);
    }
    fresh_.clear();  // they are among them
    if (!answering.empty()) look_at(what, answering, now);
    arm(now);
}

void watches::look_at(const std::vector<entry_ptr>& what, node_mask nodes, time_point now) {
    ++last_look_;
    for (std::size_t i = 0; i < what.size(); i += wire::most_looked_at) {
        const auto first = what.begin() + static_cast<std::ptrdiff_t>(i);
        const auto last = what.begin() + static_cast<std::ptrdiff_t>(
                                             std::min(i + wire::most_looked_at, what.size()));
        const boost::intrusive_ptr<look> question(
            new look(*this, std::vector<entry_ptr>(first, last), last_look_));
        question->send(nodes, now);
    }
}

// Fewer votes than a quorum leave everything open.
bool watches::can_decide(time_point now) const {
    return client_->shared.lists().is_quorum(
        node_mask::where(client_->nodes.size(), [&](std::size_t i) {
            return !client_->tracker.object(i, now, now);
        }));
}

// A look goes out before the first inspection: what changes after that shows as another answer.
void watches::end_turn(time_point now) {
    if (!fresh_.empty()) {
        look_at(std::exchange(fresh_, {}), client_->nodes.all() - silent_, now);
    }
    if (due_.empty() || !can_decide(now)) return;
    while (!due_.empty() && inspections_ < most_at_once) {
        entry& next = due_.front();
        due_.pop_front();
        inspect(next, now);
    }
}

void watches::inspect(entry& what, time_point now) {
    assert(!is_closed_ && inspections_ < most_at_once);
    const node_mask all = client_->nodes.all();
    what.state.inspection_begins(last_look_, now);
    what.known.splice(what.known.end(), what.fresh);
    ++inspections_;
    const node_mask asked = core::worth_inspecting(client_->shared.lists(), silent_);
    client_->host.begin(operation_ptr(new inspection(*this, what.shared_from_this(), all - asked)),
                        now);
}

void watches::inspected(entry& what, bool is_conclusive, const resource_state& state) {
    assert(inspections_ > 0);
    --inspections_;
    watchers open;
    if (is_conclusive) open.swap(what.known);
    while (!open.empty()) {
        watch_operation& one = open.front();
        open.pop_front();
        what.known.push_back(one);
        one.showed(state);
    }
    what.state.inspection_ends(is_conclusive);
    note(what);
    drop_if_idle(what);
}

void watch_operation::start(time_point now) {
    if (!validate_resource(client().shared.options(), resource_).empty()) {
        return end(errc::invalid_argument, {});
    }
    client().host.await_settled(*this, now);
}

void watch_operation::on_settled(time_point now) {
    if (!is_over()) client().watched.add(*this, now);
}

void watch_operation::showed(const resource_state& state) {
    assert(!is_over());
    if (has_changed_hands(last_, state)) end({}, state);
}

void watch_operation::end(error_code outcome, resource_state state) {
    if (!leave()) return;
    client().watched.remove(*this);
    complete(outcome, std::move(state));
}

}  // namespace redlock::detail
