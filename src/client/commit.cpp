// Ending a change of the list of nodes.
// SPDX-License-Identifier: MIT
#include "client/commit.hpp"

#include "value/options.hpp"
#include "wire/record.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace redlock::detail {

namespace {

using core::list_commit;
using step = core::list_commit::step;

constexpr duration between_looks = std::chrono::milliseconds(500);

list_commit::answer meaning_of(core::ruled::said what) {
    using said = core::ruled::said;
    switch (what) {
        case said::done: return list_commit::answer::done;
        case said::too_young: return list_commit::answer::too_young;
        case said::outbid: return list_commit::answer::outbid;
        default: return list_commit::answer::other;
    }
}

}  // namespace

error_code commit_operation::check() {
    const bool may = client().shared.lists().is_joint() && is_guarded(client().shared.options());
    return may ? error_code() : error_code(errc::invalid_argument);
}

bool commit_operation::go_on(time_point now) {
    switch (phase_) {
        case phase::begins:
            begin(now);
            return ask_who_is_connected(now);
        case phase::pauses: return ask_who_is_connected(now);
        case phase::looks:
            if (!judge_connected(now)) return false;
            phase_ = phase::steps;
            return ask_next_step(now);
        case phase::steps: break;
    }
    machine_->advance();
    return ask_next_step(now);
}

void commit_operation::begin(time_point now) {
    machine_.emplace(client().shared.lists(), client().tracker.lists().sets(),
                     client().shared.fresh_owner().to_string(), how_.gives_up);
    others_.resize(client().shared.size());
    failures_.resize(client().shared.size());
    records_.resize(client().shared.size());
    wait_until_ = now + how_.wait;
    client().tracker.take_role(core::record_role::keeps, now);
}

bool commit_operation::ask_who_is_connected(time_point now) {
    phase_ = phase::looks;
    unseen_ = {};
    for (auto& some : others_) some.clear();
    wire::request query;
    wire::write_connected_query(query.words);
    ask(ask_connected, query, client().nodes.all(), now);
    return true;
}

// Whether the commit may go on.
bool commit_operation::judge_connected(time_point now) {
    result_.old_programs.clear();
    for (std::size_t i = 0; i < others_.size(); ++i) {
        for (const wire::connected& one : others_[i]) {
            result_.old_programs.push_back(one.name + " at " + one.address + ", on " +
                                           client().shared.name(i).str());
        }
    }
    if (how_.despite_old_programs) return true;
    if (!unseen_.empty()) {
        for (const std::size_t i : unseen_) {
            tell(client().shared.name(i).str() + " does not say which programs are connected: " +
                 failures_[i].detail);
        }
        end(errc::other_set);
        return false;
    }
    if (result_.old_programs.empty()) return true;
    if (now + between_looks <= wait_until_) {
        phase_ = phase::pauses;
        client().shared.arm(*this, now + between_looks);
        return false;
    }
    end(errc::other_set);
    return false;
}

bool commit_operation::ask_next_step(time_point now) {
    if (machine_->now() == step::over) {
        report(now);
        end(machine_->outcome());
        return false;
    }
    sent_at_ = now;
    for (const std::size_t i : machine_->requested()) {
        records_[i] = client().tracker.list_step(i, step_for(i));
    }
    for (const std::size_t i : machine_->requested()) write_step(i, now);
    return true;
}

void commit_operation::write_step(std::size_t node, time_point now) {
    wire::request query;
    records_[node]->write(query.words, resp::script_form::by_hash);
    ask(ask_step, query, node_mask::only(node), now);
}

core::list_step commit_operation::step_for(std::size_t node) const {
    using kind = core::list_step::kind;
    using memory = core::list_step::memory;
    const client_options& options = client().shared.options();
    const auto& sets = client().tracker.lists().sets();
    core::list_step out{.from = machine_->from(), .to = machine_->to(node)};
    switch (machine_->now()) {
        case step::promise: out.what = kind::promise; break;
        case step::close: out.what = kind::close; break;
        case step::become: out.what = kind::become; break;
        default: out.what = kind::read;
    }
    out.ballot = machine_->ballot();
    out.settle_us = client().tracker.whole_quarantine_us();
    if (out.to.set == sets.after) out.to.names = wire::set_names_after(options);
    if (out.to.set == sets.old) out.to.names = wire::set_names(options);
    out.quarantine = machine_->quarantine();
    out.ttl_max = machine_->ttl_max();
    out.leases = machine_->is_undisturbed() ? memory::undisturbed : memory::kept;
    if (out.to.is == core::list_facts::change::joining) out.leases = memory::lost;
    return out;
}

bool commit_operation::write_again(std::size_t node, std::uint32_t question, wire::request& out,
                                   time_point) const {
    if (question != ask_step) return false;
    records_[node]->write(out.words, resp::script_form::whole);
    return true;
}

void commit_operation::read(std::size_t node, std::uint32_t question, const resp::reply& reply,
                            time_point now) {
    switch (question) {
        case ask_connected:
            if (reply.type() == resp::reply_type::error) {
                return failed(node, question, wire::read_failure(reply), now);
            }
            others_[node] = wire::read_connected(reply, client().shared.options(),
                                                 client().shared.options().nodes[node].database);
            return;
        case ask_step: return read_step(node, reply, now);
        default:
            if (reply.type() == resp::reply_type::error) {
                failed(node, question, wire::read_failure(reply), now);
            }
    }
}

void commit_operation::read_step(std::size_t node, const resp::reply& reply, time_point now) {
    if (records_[node]->read(reply)) return write_step(node, now);
    const wire::record_answer& answer = records_[node]->answer();
    if (!answer.record) return failed(node, ask_step, answer.why, now);
    const auto& record = *answer.record;
    failures_[node] = {};
    const auto facts = record.exists ? std::optional(record.list) : std::nullopt;
    const bool is_closing = machine_->now() == step::close;
    machine_->answered(node, meaning_of(answer.what), facts, record.quarantine, record.ttl_max);
    client().tracker.note_list_step(node, record, sent_at_, now);
    if (is_closing && answer.what == core::ruled::said::done) disconnect_others(node, now);
}

void commit_operation::disconnect_others(std::size_t node, time_point now) {
    for (const wire::connected& one : others_[node]) {
        wire::request kill;
        wire::write_disconnection(kill.words, one);
        ask(ask_kill, kill, node_mask::only(node), now);
    }
}

void commit_operation::failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                              time_point) {
    if (question == ask_step) {
        failures_[node] = why;
        machine_->answered(node, list_commit::answer::failed, std::nullopt, {}, {});
        return;
    }
    // A node that can't be reached is no reason to stop: it is closed by no one, and follows later.
    const bool is_reached = why.answer == vote::refused;
    if (question == ask_connected && is_reached) unseen_.insert(node);
    if (question == ask_connected) failures_[node] = why;
    if (question == ask_kill && is_reached) {
        tell(client().shared.name(node).str() + " does not end the connections of programs with "
             "another list: " + why.detail);
    }
}

void commit_operation::tell(std::string_view what) {
    if (!result_.detail.empty()) result_.detail += "; ";
    result_.detail += what;
}

void commit_operation::report(time_point now) {
    const auto& shared = client().shared;
    const auto& sets = client().tracker.lists().sets();
    const std::string& decided = machine_->decided();
    result_.is_given_up = decided == sets.old && !decided.empty();
    if (machine_->outcome() == errc::other_set && !decided.empty() && decided != sets.old &&
        decided != sets.after) {
        tell("another change of this list was decided: to the set " + decided);
    }
    node_mask unclosed;
    for (std::size_t i = 0; i < shared.size(); ++i) {
        const bool is_done = machine_->changed().contains(i);
        node_vote v{.node = shared.name(i), .change = shared.options().nodes[i].change};
        v.answer = is_done ? vote::granted : vote::refused;
        if (!is_done && failures_[i].error) {
            v.answer = failures_[i].answer;
            v.error = failures_[i].error;
            v.detail = failures_[i].detail;
        }
        result_.votes.push_back(std::move(v));
        if (shared.lists().old().contains(i) && !is_done) unclosed.insert(i);
    }
    if (!decided.empty() && !unclosed.empty() && decided == sets.after) {
        tell("not all nodes of the old list were changed: a program that still has the old list, "
             "and meets these alone and one that lost its data since, could be granted a lock");
    }
    result_.nodes = client().tracker.list_standings(now);
}

commit_report commit_operation::take_result() {
    timer::cancel();
    result_.nodes.resize(client().shared.size());
    return std::move(result_);
}

}  // namespace redlock::detail
