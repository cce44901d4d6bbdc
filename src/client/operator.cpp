// What only operators ask for.
// SPDX-License-Identifier: MIT
#include "client/operator.hpp"

#include "value/clock.hpp"
#include "value/options.hpp"
#include "wire/owner_value.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <chrono>
#include <string>
#include <string_view>

namespace redlock::detail {

namespace {

// Nothing tells an operation that a node is listened to.
constexpr duration look_again = std::chrono::milliseconds(5);

// Of a revocation: any other question is the index of the target that is to be revoked.
constexpr std::uint32_t ask_for_view = max_slots + 2U;

core::revocation::held_value held(const std::string& value) {
    return {value, wire::abbreviate_owner(wire::without_kept_mark(value)), wire::is_kept(value)};
}

void read_info(std::string_view info, node_report& to) {
    to.version = wire::field(info, "redis_version");
    if (const auto valkey = wire::field(info, "valkey_version"); !valkey.empty()) {
        to.version = "valkey " + std::string(valkey);
    }
    to.role = wire::field(info, "role");
    const std::string_view replicas = wire::field(info, "connected_slaves");
    std::from_chars(replicas.data(), replicas.data() + replicas.size(), to.replicas);
    to.is_cluster = wire::field(info, "cluster_enabled") == "1";
}

}  // namespace

// When the nodes have answered, it waits until they are listened to, but not for long.
bool probe_operation::go_on(time_point now) {
    bool is_complete = true;
    for (std::size_t i = 0; i < result_.size(); ++i) {
        is_complete = is_complete && is_listened_to(i);
    }
    if (client().shared.is_fenced() && !is_complete && now < give_up_at_) {
        client().shared.arm(*this, now + look_again);
        return false;
    }
    for (std::size_t i = 0; i < result_.size(); ++i) report(i, now);
    end({});
    return false;
}

bool probe_operation::begin(time_point now) {
    const std::size_t nodes = client().shared.size();
    result_.resize(nodes);
    facts_.resize(nodes);
    for (std::size_t i = 0; i < nodes; ++i) result_[i].name = client().shared.name(i);
    give_up_at_ = now + client().shared.options().connect_timeout;
    if (client().shared.is_fenced()) client().remote.listen(now);
    for (std::uint32_t q = 0; q < questions; ++q) ask(q, client().nodes.all(), now);
    return true;
}

bool probe_operation::write(std::size_t, std::uint32_t question, wire::request& out,
                            resp::script_form) const {
    const std::string& prefix = client().shared.options().key_prefix;
    switch (question) {
        case ask_info: resp::append_command(out.words, {"INFO"}); break;
        case ask_fsync:
            resp::append_command(out.words, {"CONFIG", "GET", "*appendfsync*"});
            break;
        case ask_evalsha: wire::write_evalsha_check(out.words); break;
        case ask_load: wire::write_load_check(out.words); break;
        default:
            wire::write_trial(out.words, prefix, wire::wake_channel(prefix, "probe"),
                              client().shared.is_fenced());
    }
    return false;
}

void probe_operation::read(std::size_t node, std::uint32_t question, const resp::reply& reply,
                           time_point) {
    node_report& r = result_[node];
    r.is_reachable = true;
    const bool is_forbidden = reply.is_error("NOPERM");
    switch (question) {
        case ask_info:
            if (is_forbidden) {
                r.missing_rights.emplace_back("info");
                break;
            }
            read_info(reply.text(), r);
            // The answer to CONFIG GET may have come before: only after a reconnection.
            facts_[node].settings = read_settings(reply.text());
            break;
        case ask_fsync:
            add_fsync(facts_[node].settings, reply);
            facts_[node].refused_config = reply.text();  // an error: the answer is an array
            if (is_forbidden && is_guarded(client().shared.options())) {
                r.missing_rights.emplace_back(config_right);
            }
            break;
        case ask_evalsha:
            if (is_forbidden) r.missing_rights.emplace_back("evalsha");
            break;
        case ask_load:
            if (is_forbidden) r.missing_rights.emplace_back("script|load");
            break;
        default: {
            auto found = wire::read_trial(reply, client().shared.options().key_prefix);
            facts_[node].refused_write = std::move(found.refused_write);
            for (auto& right : found.missing) r.missing_rights.push_back(std::move(right));
        }
    }
}

// A node whose record changed is greeted again, and then has an answer.
void probe_operation::failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                             time_point now) {
    if (why.error == errc::in_quarantine && !repeated_[question].contains(node)) {
        repeated_[question].insert(node);
        return ask(question, node_mask::only(node), now);
    }
    facts_[node].failure = why;
}

// A node that can't be reached is not waited for.
bool probe_operation::is_listened_to(std::size_t node) const {
    return facts_[node].failure || client().remote.listening().contains(node) ||
           client().remote.why_deaf(node);
}

void probe_operation::report(std::size_t node, time_point now) {
    using std::chrono::microseconds;
    using std::chrono::milliseconds;
    node_report& r = result_[node];
    probed& facts = facts_[node];
    const auto& from = client().nodes[node];
    r.is_reachable = !facts.failure;
    r.has_log = facts.settings.has_log;
    r.fsync = facts.settings.fsync;
    r.eviction_policy = facts.settings.eviction_policy;
    r.memory_used = facts.settings.memory_used;
    r.memory_limit = facts.settings.memory_limit;
    r.round_trip = std::chrono::ceil<microseconds>(from.round_trip());
    r.node_timeout = std::chrono::ceil<milliseconds>(from.node_timeout());
    if (const auto skew = client().tracker.known().clocks().skew(node)) {
        r.clock_offset = std::chrono::duration_cast<microseconds>(*skew);
    }
    r.ttl_max = client().tracker.known().votes().record_of(node).ttl_max;
    r.list = client().tracker.list_standings(now)[node];
    facts.against = client().tracker.object(node, now, now);
    r.has_vote = r.is_reachable && !facts.against && facts.refused_write.empty();
    if (const auto* const why = client().remote.why_deaf(node)) facts.deafness = *why;
    facts.lateness = from.lateness();
    facts.hangs_on_all = client().tracker.known().hangs_on_all(node, now);
    facts.is_durable_by_word = client().shared.options().nodes[node].durable == true &&
                               client().tracker.known().votes().server_of(node).is_durable;
    const bool differs = r.ttl_max != milliseconds(0) &&
                         r.ttl_max != client().shared.options().ttl_max;
    if (differs) facts.of_ttl_max = client().tracker.reports().tell_of_ttl_max(node);
    if (const auto least = client().tracker.known().least_step()) {
        facts.of_lift = node_reports::tell_of_lift(*least);
    }
    r.findings = diagnose(r, facts, client().shared.options());
}

std::vector<node_report> probe_operation::take_result() {
    timer::cancel();
    return std::move(result_);
}

bool declare_operation::check() {
    return is_guarded(client().shared.options()) && !client().shared.lists().is_joint();
}

// By then the clocks are known, as far as the nodes can be reached.
bool declare_operation::begin(time_point now) {
    sent_at_ = now;
    result_.resize(client().shared.size());
    for (std::size_t i = 0; i < result_.size(); ++i) {
        result_[i].node = client().shared.name(i);
        records_.push_back(client().tracker.declaration(i, sent_at_, how_.lowers_fences));
    }
    for (const std::size_t i : client().nodes.all()) ask(0, node_mask::only(i), now);
    return true;
}

bool declare_operation::go_on(time_point) {
    end_by(node_mask::where(result_.size(), [&](std::size_t i) {
        return result_[i].answer == vote::granted;
    }));
    return false;
}

bool declare_operation::write(std::size_t node, std::uint32_t, wire::request& out,
                              resp::script_form form) const {
    records_[node].write(out.words, form);
    return true;
}

bool declare_operation::is_taken(std::size_t node) const {
    return records_[node].answer().what == core::ruled::said::done;
}

// A declaration that is taken changes the record, even if no caller waits for it any more.
void declare_operation::on_reply(std::size_t node, std::uint32_t question,
                                 const resp::reply& reply, time_point now) {
    // The first request may have left before the node had said which process it is.
    records_[node].set_server(client().tracker.known().votes().server_of(node));
    writes_again_ = records_[node].read(reply);
    if (!writes_again_ && is_taken(node)) client().tracker.greet_again(node, now);
    node_survey::on_reply(node, question, reply, now);
}

void declare_operation::read(std::size_t node, std::uint32_t, const resp::reply&,
                             time_point now) {
    if (writes_again_) return ask(0, node_mask::only(node), now);
    note(node,
         is_taken(node) ? wire::failure{vote::granted, {}, {}} : records_[node].answer().why, now);
}

void declare_operation::note(std::size_t node, const wire::failure& why, time_point now) {
    assert(node < result_.size());
    node_vote& v = result_[node];
    note_failure(v, why);
    v.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(now - sent_at_);
}

bool revoke_operation::check() {
    return validate_resource(client().shared.options(), shown_.resource).empty();
}

bool revoke_operation::go_on(time_point now) {
    const auto next = machine_.advance();
    if (next == phase::over) {
        machine_.report(result_);
        end_by(client().nodes.all() - failed_);
        return false;
    }
    if (next == phase::look) {
        ask(ask_for_view, client().nodes.all(), now);
        return true;
    }
    // Where this list is not in force a holder may have its quorum elsewhere, and goes on. A node
    // that missed a change is of the list in force as soon as a program meets it.
    for (const std::size_t i : client().nodes.all()) {
        const auto o = client().tracker.object(i, now, now);
        const bool is_behind =
            client().tracker.known().lists().of(i) == core::membership::standing::behind;
        if (o && o->why.error == errc::other_set && !is_behind) note(i, o->why);
    }
    const node_mask nodes = client().nodes.all() - failed_;
    if (client().shared.is_fenced()) {
        // Above all that the revoked holders proposed so far, if node time allows it.
        const auto fresh = client().tracker.propose(machine_.fence(), now);
        if (fresh) machine_.note_fence(fresh->fence, true);
    }
    for (std::uint32_t i = 0; i < machine_.targets().size(); ++i) {
        if (machine_.is_due(i)) ask(i, nodes, now);
    }
    return true;
}

bool revoke_operation::begin(time_point now) {
    machine_ = {shown_, {.empty = wire::abbreviate_owner({}),
                         .readers = wire::abbreviate_owner(wire::shared_marker)}};
    result_.votes.resize(client().shared.size());
    for (std::size_t i = 0; i < result_.votes.size(); ++i) {
        result_.votes[i].node = client().shared.name(i);
        result_.votes[i].change = client().shared.options().nodes[i].change;
        result_.votes[i].answer = vote::granted;
    }
    if (!machine_.targets().empty() || shown_.decided) return go_on(now);
    tell_of_silence();
    end(errc::no_quorum);
    return false;
}

// Too few nodes answered when the holders were looked for: that nobody was seen says nothing.
void revoke_operation::tell_of_silence() {
    for (node_vote& v : result_.votes) {
        v.answer = vote::pending;
        for (const node_state& seen : shown_.nodes) {
            if (!seen.error || seen.node.view() != v.node.view()) continue;
            const bool is_away = seen.state == key_state::unreachable;
            v.answer = is_away ? vote::unreachable : vote::refused;
            v.error = seen.error;
            v.detail = seen.detail;
        }
    }
}

bool revoke_operation::write(std::size_t, std::uint32_t question, wire::request& out,
                             resp::script_form form) const {
    const std::string& prefix = client().shared.options().key_prefix;
    const bool is_fenced = client().shared.is_fenced();
    if (question == ask_for_view) {
        wire::write_view(out.words, form, prefix + shown_.resource, prefix, is_fenced);
        return true;
    }
    const core::revocation::target& t = machine_.targets()[question];
    const std::string key =
        prefix + shown_.resource + (t.slot ? wire::slot_suffix(*t.slot) : std::string());
    wire::write_revocation(out.words, form,
                           {.key = key,
                            .key_prefix = prefix,
                            .slot = t.slot,
                            .is_fenced = is_fenced,
                            .fence = machine_.fence(),
                            .lift = client().tracker.known().limits_of_fences().lift,
                            .revoked_life = client().tracker.known().votes().ttl_max(),
                            .values = t.values});
    return true;
}

void revoke_operation::read(std::size_t node, std::uint32_t question, const resp::reply& reply,
                            time_point now) {
    if (question == ask_for_view) {
        const auto view = wire::read_view(reply);
        return view ? saw(node, *view, now) : note(node, wire::read_failure(reply));
    }
    const auto answer = wire::read_revocation(reply);
    if (!answer) return note(node, wire::read_failure(reply));
    for (const std::string& v : answer->revoked) machine_.removed(held(v));
    for (const std::string& v : answer->holders) machine_.remains(held(v));
}

void revoke_operation::saw(std::size_t node, const wire::resource_view& view, time_point now) {
    const auto& targets = machine_.targets();
    for (std::uint32_t i = 0; i < targets.size(); ++i) {
        if (!targets[i].slot) saw(node, i, view.key, view.readers, now);
        for (const wire::slot_view& one : view.slots) {
            if (targets[i].slot == one.number) saw(node, i, one.key, {}, now);
        }
    }
}

// A key that says that it is shared, and has no readers, is held by that value itself.
void revoke_operation::saw(std::size_t node, std::uint32_t target, const wire::key_view& key,
                           std::vector<std::string> holders, time_point now) {
    if (key.value.type() != resp::reply_type::string) {
        return note(node, wire::read_failure(key.value));
    }
    std::uint64_t fence = 0;
    const std::string_view text = key.fence.text();
    std::from_chars(text.data(), text.data() + text.size(), fence);
    machine_.note_fence(fence, client().tracker.believes(fence, now));
    const bool has_key = !key.value.text().empty() || key.ttl.integer() != -2;
    if (holders.empty() && has_key) holders.emplace_back(key.value.text());
    for (const std::string& v : holders) machine_.saw(target, held(v));
}

// The first failure of a node says why.
void revoke_operation::note(std::size_t node, const wire::failure& why) {
    assert(node < result_.votes.size());
    if (failed_.contains(node)) return;
    failed_.insert(node);
    note_failure(result_.votes[node], why);
}

}  // namespace redlock::detail
