// Asking every node for what an operator should know of it.
// SPDX-License-Identifier: MIT
#include "client/operation/probe.hpp"

#include "client/operation/client_parts.hpp"
#include "value/lease_terms.hpp"
#include "wire/info.hpp"
#include "wire/keys.hpp"
#include "wire/resp/command.hpp"
#include "wire/rights.hpp"
#include "wire/scan.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

namespace redlock::detail {

namespace {

// Nothing tells an operation that a node is listened to.
constexpr duration look_again = std::chrono::milliseconds(5);
// Where the nodes are far, a probe has no time for all pages.
constexpr duration longest_paging = std::chrono::seconds(1);

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

// "db0:keys=12,expires=12,avg_ttl=0"; no line is no key.
std::uint64_t read_keys(std::string_view info, std::uint16_t database) {
    constexpr std::string_view mark = "keys=";
    const std::string_view line = wire::field(info, "db" + std::to_string(database));
    std::uint64_t keys = 0;
    if (line.starts_with(mark)) {
        std::from_chars(line.data() + mark.size(), line.data() + line.size(), keys);
    }
    return keys;
}

}  // namespace

// When the nodes have answered, it waits until they are listened to, but not for long.
bool probe_operation::go_on(time_point now) {
    if (result_.empty()) {
        begin(now);
        return true;
    }
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

void probe_operation::begin(time_point now) {
    const std::size_t nodes = client().shared.size();
    result_.resize(nodes);
    facts_.resize(nodes);
    for (std::size_t i = 0; i < nodes; ++i) result_[i].name = client().shared.name(i);
    give_up_at_ = now + client().shared.options().connect_timeout;
    if (client().shared.is_fenced()) client().remote.listen(now);
    censuses_.resize(nodes);
    keys_.resize(nodes);
    no_more_pages_at_ = now + longest_paging;
    for (std::uint32_t q = 0; q < questions; ++q) ask(q, write(q), client().nodes.all(), now);
    for (const std::size_t node : client().nodes.all()) ask_for_page(node, "0", now);
}

void probe_operation::ask_for_page(std::size_t node, std::string_view cursor, time_point now) {
    wire::request scan;
    wire::write_scan_of_all(scan.words, cursor);
    ask(ask_page, scan, node_mask::only(node), now);
}

// After the last page it asks what some keys take.
void probe_operation::on_page(std::size_t node, const resp::reply& reply, time_point now) {
    key_census& census = censuses_[node];
    const auto cursor = census.on_page(reply, client().shared.options().key_prefix);
    if (!cursor.empty() && now < no_more_pages_at_) return ask_for_page(node, cursor, now);
    std::uint32_t question = ask_usage;
    for (const std::string& key : census.chosen()) {
        wire::request usage;
        wire::write_memory_usage(usage.words, key);
        ask(question++, usage, node_mask::only(node), now);
    }
}

wire::request probe_operation::write(std::uint32_t question) const {
    const std::string& prefix = client().shared.options().key_prefix;
    wire::request out;
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
    return out;
}

void probe_operation::read(std::size_t node, std::uint32_t question, const resp::reply& reply,
                           time_point now) {
    if (question == ask_page) return on_page(node, reply, now);
    if (question >= ask_usage) return censuses_[node].on_usage(question - ask_usage, reply);
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
            keys_[node] = read_keys(reply.text(), client().shared.options().nodes[node].database);
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
    // Then the keys are not known, or by fewer of them: the other questions tell what is wrong.
    if (question >= ask_page) return;
    if (why.error == errc::in_quarantine && !repeated_[question].contains(node)) {
        repeated_[question].insert(node);
        return ask(question, write(question), node_mask::only(node), now);
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
    if (r.is_reachable) {
        r.keys = censuses_[node].result(keys_[node], client().shared.is_fenced());
    }
    r.round_trip = std::chrono::ceil<microseconds>(from.round_trip());
    r.node_timeout = std::chrono::ceil<milliseconds>(from.node_timeout());
    if (const auto skew = client().tracker.skew(node)) {
        r.clock_offset = std::chrono::duration_cast<microseconds>(*skew);
    }
    r.ttl_max = client().tracker.ttl_max_on_record(node);
    r.list = client().tracker.list_standings(now)[node];
    facts.against = client().tracker.object(node, now, now);
    r.has_vote = r.is_reachable && !facts.against && facts.refused_write.empty();
    if (const auto* const why = client().remote.why_deaf(node)) facts.deafness = *why;
    facts.lateness = from.lateness();
    const bool differs = r.ttl_max != milliseconds(0) &&
                         r.ttl_max != client().shared.options().ttl_max;
    if (differs) facts.of_ttl_max = client().tracker.tell_of_ttl_max(node);
    r.findings = diagnose(r, facts, client().shared.options());
}

std::vector<node_report> probe_operation::take_result() {
    timer::cancel();
    return std::move(result_);
}

}  // namespace redlock::detail
