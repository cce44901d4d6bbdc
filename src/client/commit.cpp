// Ending a change of the list of nodes.
// SPDX-License-Identifier: MIT
#include "client/commit.hpp"

#include "value/options.hpp"
#include "value/text.hpp"

#include <boost/system/errc.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace redlock::detail {

namespace {

using step = core::list_commit::step;

constexpr duration between_looks = std::chrono::milliseconds(500);
constexpr duration between_looks_at_records = std::chrono::milliseconds(20);
constexpr duration longest_for_records = std::chrono::seconds(2);

}  // namespace

bool commit_operation::check() {
    const auto& shared = client().shared;
    const bool is_known = (how_.gone >> shared.size()).none();
    const bool has_work = shared.lists().is_joint() || (how_.gone.any() && !how_.gives_up);
    return is_known && has_work && is_guarded(shared.options());
}

bool commit_operation::go_on(time_point now) {
    switch (phase_) {
        case phase::makes_records:
            if (lacks_a_record() && now < records_until_) {
                return pause(phase::makes_records, between_looks_at_records, now);
            }
            if (!client().shared.lists().is_joint()) {
                report_members(now);
                return false;
            }
            if (how_.gives_up) return ask_next_step(now);  // no program loses its lock by that
            [[fallthrough]];
        case phase::pauses:
            return ask_who_is_connected(phase::looks, client().nodes.all(), now);
        case phase::looks:
            return judge_connected(now) && judge_votes(now) && ask_next_step(now);
        case phase::steps:
            if (machine_->now() != step::close || machine_->is_undisturbed()) break;
            is_disturbed_ = false;
            unseen_ = may_go_on_ = {};
            return ask_who_is_connected(phase::lists, machine_->agreed(), now);
        case phase::lists: return pause(phase::awaits, client().nodes.time_for_all(), now);
        case phase::lists_again: judge_listed(); break;
        case phase::awaits:
            return ask_who_is_connected(phase::lists_again, machine_->agreed(), now);
        case phase::rests: return ask_next_step(now);
    }
    machine_->advance();
    if (machine_->is_repeated()) return pause(phase::rests, between_looks, now);
    return ask_next_step(now);
}

bool commit_operation::begin(time_point now) {
    const std::size_t size = client().shared.size();
    machine_.emplace(client().shared.lists(), client().tracker.known().lists().sets(),
                     client().shared.fresh_owner().to_string(), how_.gives_up);
    failures_.resize(size);
    records_.resize(size);
    records_until_ = now + longest_for_records;
    wait_until_ = now + how_.wait;
    see_until_ = now + 2 * between_looks;
    for (const auto& node : client().nodes) node->expect_long_replies();
    client().tracker.take_role(core::record_role::keeps, now);
    gone_ = node_mask::where(size, [this](std::size_t i) { return how_.gone[i]; });
    client().tracker.end_change(gone_, now);
    return go_on(now);
}

// A node that answers has no record, and its own will be made.
bool commit_operation::lacks_a_record() const {
    const core::membership& lists = client().tracker.known().lists();
    for (std::size_t i = 0; i < client().shared.size(); ++i) {
        const bool is_empty = lists.of(i) == core::membership::standing::empty;
        const bool is_to_wait = !gone_.empty() || how_.gives_up;
        if (is_to_wait && is_empty && client().nodes[i].is_ready()) return true;
    }
    return false;
}

// Of a list that does not change.
void commit_operation::report_members(time_point now) {
    const auto& shared = client().shared;
    const node_mask members =
        client().tracker.known().lists().those_that_are(core::membership::standing::fits);
    add_votes(members, {}, now);
    result_.is_complete = members == shared.lists().all();
    result_.nodes = client().tracker.list_standings(now);
    end_by(members);
}

// What is in the way of a node of another set goes before what it failed in, and that of one
// without a record after. Those in `left_out` have no part in the change.
void commit_operation::add_votes(node_mask done, node_mask left_out, time_point now) {
    using enum core::membership::standing;
    const auto& shared = client().shared;
    const core::membership& lists = client().tracker.known().lists();
    for (const std::size_t i : lists.those_that_are(misfit) | lists.those_that_are(foreign)) {
        if (!client().nodes[i].is_ready()) continue;
        failures_[i] = {vote::refused, errc::other_set,
                        "its record is of the set " + lists.facts(i)->set +
                            ", and it has no part in this change"};
        if (left_out.contains(i)) continue;
        if (const auto o = client().tracker.object(i, now, now)) failures_[i] = o->why;
    }
    for (const std::size_t i : lists.those_that_are(empty)) {
        if (!client().nodes[i].is_ready() || failures_[i].error) continue;
        const auto o = client().tracker.own_objection(i, now);
        if (o && o->why.error != errc::in_quarantine) failures_[i] = o->why;
    }
    for (std::size_t i = 0; i < shared.size(); ++i) {
        const bool is_done = done.contains(i);
        node_vote v{.node = shared.name(i), .change = shared.options().nodes[i].change};
        v.answer = is_done ? vote::granted : vote::refused;
        if (!is_done && failures_[i].error) note_failure(v, failures_[i]);
        result_.votes.push_back(std::move(v));
    }
}

bool commit_operation::pause(phase until, duration for_so_long, time_point now) {
    phase_ = until;
    client().shared.arm(*this, now + for_so_long);
    return false;
}

bool commit_operation::is_majority_of_old(node_mask nodes) const {
    const node_mask old = client().shared.lists().old();
    return node_lists(old, old).is_quorum(nodes & old);
}

// Silence is no answer: where a node did not list its connections they count as not seen, whatever
// it answers later.
bool commit_operation::ask_who_is_connected(phase to_be, node_mask nodes, time_point now) {
    phase_ = to_be;
    if (to_be == phase::looks) {
        unseen_ = forbidden_ = listed_ = {};
        connections_.assign(client().shared.size(), {});
    }
    ask(ask_connected, nodes, now);
    return true;
}

std::string commit_operation::place_of(const wire::connected& one, std::size_t node) const {
    return one.name + " at " + one.address + ", on " + client().shared.name(node).str();
}

void commit_operation::tell_of_blind(const wire::connected& one, std::size_t node) {
    tell(place_of(one, node) +
         ", looks at no record of a node, as with fencing off, or is of an earlier version: it "
         "would go on beside the new list: stop it");
}

std::string commit_operation::reason_of(std::size_t node) const {
    const wire::failure& why = failures_[node];
    std::string out = ": " + why.error.message();
    if (!why.detail.empty()) out += ": " + why.detail;
    if (why.error != errc::missing_right) return out;
    return out + ": " + wire::remedy_for(why.detail, client().shared.options().key_prefix);
}

// Whether the commit may go on.
bool commit_operation::judge_connected(time_point now) {
    result_.old_programs.clear();
    result_.detail.clear();
    bool has_blind = false;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        for (const wire::connected& one : connections_[i].others) {
            result_.old_programs.push_back(place_of(one, i));
            if (!one.reads_record && !std::exchange(has_blind, true)) tell_of_blind(one, i);
        }
    }
    const bool is_alone = result_.old_programs.empty();
    // A majority has to be seen behind the close, too, and a right does not come by itself.
    const node_mask old = client().shared.lists().old();
    const node_mask silent = unseen_ - gone_;
    const bool is_enough = how_.despite_old_programs && is_majority_of_old(listed_);
    if ((is_alone && silent.empty()) || (is_enough && !has_blind)) return true;
    // A server that has just ended refuses the next connection.
    const time_point until = is_alone ? std::max(wait_until_, see_until_) : wait_until_;
    const node_mask forbidden = forbidden_ - gone_;
    const bool may_help = forbidden.empty() ||
                          (how_.despite_old_programs && is_majority_of_old(old - forbidden));
    if (may_help && now + between_looks <= until) return pause(phase::pauses, between_looks, now);
    const bool is_despite_enough =
        is_alone && !how_.despite_old_programs && is_majority_of_old(listed_);
    for (const std::size_t i : silent) {
        const bool has_listed = !connections_[i].others.empty();
        const bool is_away = failures_[i].answer != vote::refused;
        tell(client().shared.name(i).str() +
             (has_listed ? " does not let their connections be ended"
                         : " does not say which programs are connected") +
             reason_of(i) +
             (is_despite_enough && is_away
                  ? ": bring it back; or, if it is gone for good, say --without; or, if no program "
                    "that looks at no record is connected to it, --despite-old-programs"
                  : ""));
    }
    end(errc::other_set);
    return false;
}

// Once the new list stands no program gets a lock without a quorum of it. It has to go on where
// that has begun, or where the old list can't go on any more.
bool commit_operation::judge_votes(time_point now) {
    using standing = core::membership::standing;
    const node_mask old = client().shared.lists().old();
    const node_mask after = client().shared.lists().after();
    const core::membership& lists = client().tracker.known().lists();
    const node_mask others = lists.those_that_are(standing::misfit);
    // The steps find no majority to close then, or that another list was decided.
    if (!is_majority_of_old(old - others)) return true;
    node_mask voting;
    node_mask coming;
    std::chrono::milliseconds longest{0};
    for (const std::size_t i : after) {
        if (!client().nodes[i].is_ready()) continue;
        // Beside a node of another set that stays none will vote, and beside one that is no
        // stranger, or may be none, no empty one gets its record. Of what else is of another set
        // the steps say more.
        const bool is_empty = lists.of(i) == standing::empty;
        const bool is_stopped = !(others & after).empty() ||
                                (is_empty && !(others - lists.leaving_strangers()).empty());
        const auto against = is_stopped ? client().tracker.object(i, now, now)
                                        : client().tracker.own_objection(i, now);
        failures_[i] = against ? against->why : wire::failure();
        const bool is_for_steps =
            against && (against->is_settling ||
                        (!is_stopped && against->why.error == errc::other_set));
        voting.set(i, !against || is_for_steps);
        if (voting.contains(i) || against->why.error != errc::in_quarantine) continue;
        coming.set(i, !is_empty || now < records_until_);
        longest = std::max(longest, against->left);
    }
    const node_lists new_list(after, after);
    const auto standings = client().tracker.list_standings(now);
    const auto those = [&](list_state s) {
        return node_mask::where(standings.size(), [&](auto i) { return standings[i].state == s; });
    };
    const node_mask closed = those(list_state::closed);
    const bool has_begun =
        !those(list_state::changed).empty() ||
        (!closed.empty() && !is_majority_of_old(old - closed - others - gone_));
    if (new_list.is_quorum(voting) || has_begun) return true;
    // A new node gets its record first, and is in quarantine then, which may grow meanwhile.
    const time_point vote_until =
        records_until_ + client().tracker.known().votes().whole_quarantine();
    const bool will_vote = new_list.is_quorum(voting | coming) && now < vote_until;
    if (will_vote && !std::exchange(has_said_why_, true)) tell_of_wait(coming, longest);
    // A node that says nothing for a moment, now or at the next look, does not end the wait.
    if (will_vote) see_until_ = now + 10 * between_looks;
    if (will_vote || now + between_looks <= std::max(wait_until_, see_until_)) {
        return pause(phase::pauses, between_looks, now);
    }
    report(now);
    tell("the new list has no quorum that votes, so no program would get a lock: nothing was "
         "changed");
    end(errc::no_quorum);
    return false;
}

void commit_operation::tell_of_wait(node_mask nodes, std::chrono::milliseconds longest) const {
    std::string detail =
        "the new list has no quorum that votes yet: the commit waits for " +
        text::listed(client().shared.names(nodes));
    if (longest.count() > 0) detail += ", for " + text::brief(longest);
    client().shared.emit({.kind = event_kind::node_reported, .error = errc::in_quarantine,
                          .duration = longest, .detail = detail});
}

// A closed node counts where it was listed twice since, and no program was there that might go on.
void commit_operation::judge_listed() {
    std::size_t unnamed = 0;
    for (const std::size_t i : machine_->agreed()) {
        const wire::connections& there = connections_[i];
        unnamed = std::max(unnamed, there.unnamed);
        const bool is_unseen = unseen_.contains(i);
        is_disturbed_ = is_disturbed_ || is_unseen;
        if (is_unseen) {
            tell(client().shared.name(i).str() +
                 " did not say, after it was closed, which programs are connected" + reason_of(i));
        }
        if (may_go_on_.contains(i) || is_unseen) machine_->passed_by(i);
    }
    if (unnamed == 0) return;
    tell("up to " + std::to_string(unnamed) + " connections to a node have no name of this "
         "library: programs that take the same locks by another one have to be stopped (CLIENT "
         "LIST shows them)");
}

bool commit_operation::ask_next_step(time_point now) {
    phase_ = phase::steps;
    if (machine_->now() == step::over) {
        report(now);
        end(machine_->outcome());
        return false;
    }
    sent_at_ = now;
    for (const std::size_t i : machine_->requested()) {
        records_[i] = client().tracker.list_step(i, step_for(i));
    }
    for (const std::size_t i : machine_->requested()) ask(ask_step, node_mask::only(i), now);
    return true;
}

bool commit_operation::write(std::size_t node, std::uint32_t question, wire::request& out,
                             resp::script_form form) const {
    if (question == ask_step) records_[node]->write(out.words, form);
    if (question == ask_connected) wire::write_connected_query(out.words);
    return question == ask_step;
}

core::list_step commit_operation::step_for(std::size_t node) const {
    using kind = core::list_step::kind;
    using memory = core::list_step::memory;
    const client_options& options = client().shared.options();
    const auto& sets = client().tracker.known().lists().sets();
    core::list_step out{.from = machine_->from(), .to = machine_->to(node)};
    switch (machine_->now()) {
        case step::promise: out.what = kind::promise; break;
        case step::close: out.what = kind::close; break;
        case step::become: out.what = kind::become; break;
        default: out.what = kind::read;
    }
    out.ballot = machine_->ballot();
    const auto settle = client().tracker.known().votes().whole_quarantine();
    out.settle_us = std::chrono::ceil<std::chrono::microseconds>(settle).count();
    if (out.to.set == sets.after) out.to.names = wire::set_names_after(options);
    if (out.to.set == sets.old) out.to.names = wire::set_names(options);
    out.quarantine = machine_->quarantine();
    out.ttl_max = machine_->ttl_max();
    out.leases = machine_->is_undisturbed() ? memory::undisturbed : memory::kept;
    if (out.to.is == core::list_facts::change::joining) out.leases = memory::lost;
    return out;
}

void commit_operation::read(std::size_t node, std::uint32_t question, const resp::reply& reply,
                            time_point now) {
    switch (question) {
        case ask_connected:
            if (reply.type() != resp::reply_type::string) {
                return failed(node, question, wire::read_failure(reply), now);
            }
            return read_connections(node, reply, now);
        case ask_step: return read_step(node, reply, now);
        default:
            if (reply.type() == resp::reply_type::error) {
                failed(node, question, wire::read_failure(reply), now);
            }
    }
}

void commit_operation::read_connections(std::size_t node, const resp::reply& reply,
                                        time_point now) {
    const client_options& options = client().shared.options();
    const bool is_first = phase_ == phase::looks;
    const auto& sets = client().tracker.known().lists().sets();
    connections_[node] = wire::read_connected(reply, options, options.nodes[node].database,
                                              is_first ? sets.after : machine_->proposed());
    listed_.insert(node);
    // Programs of others, on a node that is theirs now, stop no change.
    if (client().tracker.known().lists().leaving_strangers().contains(node)) {
        std::erase_if(connections_[node].others, [&](const wire::connected& one) {
            return one.sets != sets.old && !one.sets.starts_with(sets.old + '>') &&
                   !one.sets.ends_with('>' + sets.old);
        });
    }
    if (is_first && how_.despite_old_programs && !connections_[node].others.empty()) {
        // Of no connection: it shows whether they could be ended before anything is closed.
        wire::request trial;
        wire::write_disconnection(trial.words, {.id = "0"});
        ask(ask_kill, trial, node_mask::only(node), now);
    }
    if (is_first) return;
    for (const wire::connected& one : connections_[node].others) {
        is_disturbed_ = true;
        // That ends it for milliseconds: it connects again, and reads no record then either.
        if (!one.reads_record && !may_go_on_.contains(node)) {
            may_go_on_.insert(node);
            tell_of_blind(one, node);
        }
        const std::string who = place_of(one, node);
        auto& all = result_.old_programs;
        if (std::find(all.begin(), all.end(), who) == all.end()) all.push_back(who);
        wire::request kill;
        wire::write_disconnection(kill.words, one);
        ask(ask_kill, kill, node_mask::only(node), now);
    }
}

void commit_operation::read_step(std::size_t node, const resp::reply& reply, time_point now) {
    if (records_[node]->read(reply)) return ask(ask_step, node_mask::only(node), now);
    const wire::record_answer& answer = records_[node]->answer();
    if (!answer.record) return failed(node, ask_step, answer.why, now);
    const auto& record = *answer.record;
    failures_[node] = {};
    // What has just been written is so, whatever the record lacked.
    const bool is_done = answer.what == core::rule_outcome::done;
    const bool counts = record.exists && (is_done || !record.may_lack_steps);
    const auto facts = counts ? std::optional(record.list) : std::nullopt;
    // That of a set of others says nothing of this one.
    const bool is_theirs = client().tracker.known().lists().strangers().contains(node);
    const std::chrono::milliseconds none(0);
    machine_->answered(node, answer.what, facts, is_theirs ? none : record.quarantine,
                       is_theirs ? none : record.ttl_max);
    client().tracker.note_list_step(node, record, sent_at_, now);
}

void commit_operation::failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                              time_point) {
    if (question == ask_kill && phase_ == phase::looks) {
        // Others refuse that number.
        if (why.answer == vote::refused && why.error != errc::missing_right) return;
        failures_[node] = why;
        listed_.erase(node);
        unseen_.insert(node);
        return;
    }
    if (question != ask_kill) failures_[node] = why;
    if (question == ask_connected) {
        forbidden_.set(node, why.error == errc::missing_right);
        // Where no server runs no program is connected.
        const bool is_stopped = why.error == boost::system::errc::connection_refused;
        if (phase_ != phase::looks || !is_stopped) unseen_.insert(node);
    }
    if (question == ask_kill && !may_go_on_.contains(node)) {
        may_go_on_.insert(node);
        tell(client().shared.name(node).str() + " does not end the connections of programs with "
             "another list: " + (why.detail.empty() ? why.error.message() : why.detail) +
             ": stop them, and run it again");
    }
}

void commit_operation::tell(std::string_view what) {
    if (!result_.detail.empty()) result_.detail += "; ";
    result_.detail += what;
}

void commit_operation::report(time_point now) {
    const auto& shared = client().shared;
    const auto& sets = client().tracker.known().lists().sets();
    const std::string& decided = machine_->decided();
    result_.is_given_up = decided == sets.old && !decided.empty();
    if (machine_->outcome() == errc::other_set && !decided.empty() && decided != sets.old &&
        decided != sets.after) {
        tell("another change of this list was decided: to the set " + decided);
    }
    if (how_.gives_up && decided == sets.after) {
        tell("the new list stands: to go back, change the list once more");
    }
    if (decided.empty() && how_.gives_up && !machine_->in_the_way().empty()) {
        const bool is_ours = machine_->proposed() == sets.after;
        tell("closed for a new list, or not answering as a node of the old one: " +
             text::listed(shared.names(machine_->in_the_way())) +
             ", and the others are no majority of the old list: bring back what is away, and run "
             "it again; or end the change by redlock commit without --give-up" +
             (is_ours ? "" : ", with the joint list for the set " + machine_->proposed()));
    }
    const core::membership& lists = client().tracker.known().lists();
    const bool has_failed = !decided.empty() && machine_->outcome();
    const node_mask seen = machine_->foreign();
    const node_mask staying = lists.strangers() & shared.lists().after();
    for (const std::size_t i :
         has_failed ? node_mask() : decided == sets.after ? seen | staying : seen) {
        const std::string& set = seen.contains(i) ? machine_->foreign_set(i) : lists.facts(i)->set;
        tell(shared.name(i).str() + " is to be of the " +
             (result_.is_given_up ? "old" : "new") + " list, and " +
             client().tracker.reports().tell_of_foreign(set));
    }
    const node_mask unclosed =
        shared.lists().old() - gone_ - lists.leaving_strangers() - machine_->changed();
    if (!decided.empty() && !unclosed.empty() && decided == sets.after) {
        tell("not all nodes of the old list were changed: a program that still has the old list, "
             "and meets these alone and one that lost its data since, could be granted a lock");
    }
    result_.nodes = client().tracker.list_standings(now);
    // One that is gone for good, or of a set of others, is only left out where the list that stands
    // does not name it.
    const node_mask stays = result_.is_given_up ? shared.lists().old() : shared.lists().after();
    const node_mask has_no_part =
        (gone_ | (result_.is_given_up ? lists.strangers() : lists.leaving_strangers())) - stays;
    add_votes(machine_->changed(), decided.empty() ? node_mask() : has_no_part, now);
    const bool is_everywhere = (shared.lists().all() - has_no_part - machine_->changed()).empty();
    result_.is_complete = !machine_->outcome() && is_everywhere && !is_disturbed_;
    if (is_disturbed_ && decided == sets.after) {
        tell("programs with another list were connected when the nodes were closed, or could not "
             "be seen: those that look at the nodes' records get no lock any more");
    }
}

commit_report commit_operation::take_result() {
    timer::cancel();
    result_.nodes.resize(client().shared.size());
    return std::move(result_);
}

}  // namespace redlock::detail
