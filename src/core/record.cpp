// The rules by which the record of a node changes.
// SPDX-License-Identifier: MIT
#include "core/record.hpp"

#include <algorithm>
#include <utility>

namespace redlock::core {

namespace {

using change = list_facts::change;
using said = ruled::said;

enum class memory : std::uint8_t { whole, may_have_survived, lost };

bool is_of_other_set(const record_facts& r, const record_terms& t) {
    return r.exists && r.list.set != t.set && r.list.set != t.after;
}

// The server as the record is to name it. A first replica that attaches gives it another
// replication id: the handshakes that follow reset the record once, and the looks must not undo
// that.
server_facts serving(const record_facts& r, const record_terms& t) {
    server_facts out = t.server;
    if (!t.is_much_later) return out;
    const bool is_known = r.exists && r.run_id == out.run_id;
    if (is_known) out.replid = r.replid;
    out.is_durable = is_known && r.is_durable;
    return out;
}

memory memory_of(const record_facts& r, const server_facts& server) {
    if (r.since_us > r.time_us) return memory::lost;
    if (r.run_id == server.run_id) {
        return r.replid.empty() || r.replid == server.replid ? memory::whole : memory::lost;
    }
    return r.is_durable && server.is_durable ? memory::may_have_survived : memory::lost;
}

// Or another server's, of which it was a replica.
bool has_data_of_earlier_process(const record_facts& r, const server_facts& server) {
    return r.run_id != server.run_id || (!r.replid.empty() && r.replid != server.replid);
}

// It may have promised more since its data were saved, or have been closed.
bool may_lack_steps(const record_facts& r, const record_terms& t) {
    const server_facts server = serving(r, t);
    return memory_of(r, server) == memory::lost && has_data_of_earlier_process(r, server) &&
           (t.is_list_changing || r.list.is_changing());
}

void name_process(record_facts& r, const server_facts& server) {
    r.run_id = server.run_id;
    r.replid = server.replid;
    r.is_durable = server.is_durable;
}

// From now on all that the node granted earlier counts as forgotten.
void forget(record_facts& r, const std::string& epoch) {
    r.epoch = epoch;
    r.since_us = at_writing;
    r.cluster_since_us.reset();
    r.mark.clear();
    if (r.list.became_us == 0) return;
    r.list.became_us = at_writing;
    r.list.became_cluster_us.reset();
}

void open(record_facts& r) {
    r.since_us = 0;
    r.cluster_since_us = 0;
    r.mark.clear();
}

// A program with the joint list says again that it is there, long before the quarantine is over for
// which one with the old list alone looks for such words.
void announce(record_facts& r, const record_terms& t) {
    constexpr std::int64_t longest_us = 5'000'000;
    auto& at = r.list.announced_at_us;
    if (!r.offset || r.list.announced.empty()) return;
    const std::int64_t now_us = r.time_us - r.offset->ahead_us;
    const std::int64_t quarter_us = std::chrono::microseconds(r.quarantine).count() / 4;
    const bool is_due = !at || now_us - *at >= std::min(longest_us, quarter_us);
    if (r.list.announced == t.after) {
        if (is_due) at = at_writing;
    } else if (t.forgets_announced_before_us && at && *at < *t.forgets_announced_before_us) {
        r.list.announced.clear();
        at.reset();
    }
}

// Programs may call the nodes of one set differently: each names them once in a connection.
void name_set(record_facts& r, const record_terms& t) {
    if (r.list.set != t.set) return;
    if (!t.is_much_later) r.list.names = t.names;
    if (!t.after.empty() && r.list.announced.empty()) r.list.announced = t.after;
    announce(r, t);
}

ruled made(const record_facts& none, const record_terms& t) {
    record_facts r{.exists = true,
                   .time_us = none.time_us,
                   .ttl_max = t.ttl_max,
                   .quarantine = t.quarantine,
                   .created_us = at_writing};
    r.list.set = t.set;
    if (t.made) r.list = *t.made;
    r.floor = t.floor;
    r.list.names.clear();
    forget(r, t.epoch);
    r.mark = t.mark;
    name_process(r, serving(none, t));
    name_set(r, t);
    return {said::done, std::move(r)};
}

bool has_mark(const record_facts& r, const record_terms& t) {
    return r.exists && !t.mark.empty() && r.mark == t.mark;
}

ruled promised(record_facts r, const list_step& step) {
    if (r.list.promised == step.ballot || is_above(r.list.promised, step.ballot)) {
        return {said::outbid};
    }
    r.list.promised = step.ballot;
    return {said::done, std::move(r)};
}

// A node that lost its record since its promise may have promised a higher ballot: it has to have
// this promise still.
ruled closed(record_facts r, const record_terms& t, const list_step& step) {
    if (r.list.promised != step.ballot) return {said::outbid};
    if (r.list.accepted != step.ballot) r.epoch = t.epoch;
    r.list.is = change::closed;
    r.list.closed_for = step.to.set;
    r.list.accepted = step.ballot;
    return {said::done, std::move(r)};
}

ruled became(record_facts r, const record_terms& t, const list_step& step) {
    r.list = {.set = step.to.set,
              .names = step.to.names,
              .number = step.to.number,
              .is = step.to.is,
              .history = step.to.history};
    r.quarantine = std::max(r.quarantine, step.quarantine);
    r.ttl_max = std::max(r.ttl_max, step.ttl_max);
    r.floor = joined(r.floor, t.floor);
    r.epoch = t.epoch;
    if (step.leases != list_step::memory::undisturbed) {
        r.list.became_us = at_writing;
        if (r.offset) r.list.became_cluster_us = at_writing;
    }
    if (step.leases == list_step::memory::lost) forget(r, t.epoch);
    return {said::done, std::move(r)};
}

}  // namespace

ruled greeted(const record_facts& found, const record_terms& t) {
    if (is_of_other_set(found, t) || t.only_peeks || t.only_judges) return {};
    if (!found.exists) return t.makes ? made(found, t) : ruled();
    const server_facts server = serving(found, t);
    const memory left = memory_of(found, server);
    if (left == memory::may_have_survived) return {};
    record_facts r = found;
    if (may_lack_steps(found, t)) {
        list_facts made = t.made.value_or(list_facts{.set = t.set});
        if (!t.makes || made.number < found.list.number) return {};
        r.list = std::move(made);
        r.list.names.clear();
        r.quarantine = std::max(r.quarantine, t.quarantine);
        r.ttl_max = std::max(r.ttl_max, t.ttl_max);
        r.floor = joined(r.floor, t.floor);
    }
    if (left == memory::lost) forget(r, t.epoch);
    name_process(r, server);
    name_set(r, t);
    return {left == memory::lost && t.makes ? said::done : said::as_it_was, std::move(r)};
}

ruled opened(const record_facts& found, const record_terms& t) {
    if (!has_mark(found, t)) return {};
    record_facts r = found;
    open(r);
    r.init_us = init_pending;
    return {said::done, std::move(r)};
}

ruled withdrawn(const record_facts& found, const record_terms& t) {
    const std::int64_t until_us =
        found.since_us + std::chrono::microseconds(found.quarantine).count() / 2;
    if (!has_mark(found, t) || found.time_us > until_us) return {};
    return {said::done, record_facts{}, until_us};
}

ruled declared(const record_facts& found, const record_terms& t,
               const std::optional<clock_check>& clock, bool lowers_fences) {
    record_facts r = found;
    if (!found.exists) r = {.exists = true, .time_us = found.time_us, .created_us = at_writing};
    r.epoch = t.epoch;
    // A declaration may be on its way before the node has said which process it is.
    if (!t.server.run_id.empty()) name_process(r, t.server);
    r.ttl_max = t.ttl_max;
    r.quarantine = t.quarantine;
    r.list = {.set = t.set, .names = t.names, .number = t.number};
    r.floor = joined(r.floor, t.floor);
    if (lowers_fences) r.floor = {.lifts = r.floor.lifts + 1};
    if (clock) r.offset = {clock->ahead_us, clock->error_us, at_writing};
    open(r);
    r.init_us = clock ? clock->cluster_us : init_pending;
    return {said::done, std::move(r)};
}

ruled amended(const record_facts& found, const record_terms& t, const record_facts& known,
              const clock_check& clock, const amendment& changes) {
    const auto seen = [](const record_facts& r) {
        return r.offset ? std::optional(r.offset->seen_us) : std::nullopt;
    };
    if (!found.exists || found.epoch != known.epoch || seen(found) != seen(known)) return {};
    record_facts r = found;
    if (changes.what == amendment::kind::strike) forget(r, t.epoch);
    if (changes.what == amendment::kind::open) open(r);
    r.quarantine = std::max(r.quarantine, changes.quarantine);
    r.ttl_max = std::max(r.ttl_max, changes.ttl_max);
    // Clients that know the smaller ones must read the record again before this node takes their
    // commands. Where there was no ttl_max the node took none.
    const bool is_raised = r.quarantine > found.quarantine ||
                           (r.ttl_max > found.ttl_max && found.ttl_max > found.ttl_max.zero());
    if (is_raised) r.epoch = t.epoch;
    if (changes.names_process) name_process(r, t.server);
    // Where cluster time was not known when `since` was set, `since` in cluster time is now.
    if (!r.cluster_since_us) r.cluster_since_us = r.since_us == 0 ? 0 : at_writing;
    if (r.list.became_us != 0 && !r.list.became_cluster_us) r.list.became_cluster_us = at_writing;
    if (r.init_us == init_pending) r.init_us = clock.cluster_us;
    r.offset = {clock.ahead_us, clock.error_us, at_writing};
    if (r.floor.has_lift_of(t.floor)) r.floor = joined(r.floor, t.floor);
    return {said::done, std::move(r)};
}

ruled floored(const record_facts& found, const record_terms& t, const fence_floor& known,
              const fence_floor& to) {
    if (!found.exists) return {};
    record_facts r = found;
    if (found.floor.has_lift_of(to)) {
        const std::int64_t age_us = to.highest_us - found.floor.highest_us;
        if (std::chrono::microseconds(age_us) < longest_unwritten_highest) return {};
        r.floor = joined(r.floor, to);
        return {said::done, std::move(r)};
    }
    if (found.floor != known) return {};
    r.floor = to;
    // Commands that were written by the earlier lift must not take keys any more.
    r.epoch = t.epoch;
    // A time that lies in the future proves nothing; nor does this client know what an earlier
    // process of the server forgot.
    if (r.offset && r.run_id == t.server.run_id) r.offset->seen_us = at_writing;
    return {said::done, std::move(r)};
}

ruled stepped(const record_facts& found, const record_terms& t, const list_step& step) {
    using kind = list_step::kind;
    const bool is_other = !found.exists || found.list.set != step.from.set ||
                          found.list.number != step.from.number ||
                          (!step.epoch.empty() && found.epoch != step.epoch);
    if (step.what == kind::read || is_other) return {};
    if (step.what == kind::become) return became(found, t, step);
    if (found.list.is == change::joining || may_lack_steps(found, t)) return {};
    if (is_young_member(found, step.settle_us)) return {said::too_young};
    return step.what == kind::promise ? promised(found, step) : closed(found, t, step);
}

bool is_young_member(const record_facts& r, std::int64_t settle_us) noexcept {
    const list_facts& list = r.list;
    if (list.became_us == 0) return false;
    if (!list.became_cluster_us || !r.offset) return true;
    return r.time_us - list.became_us < settle_us ||
           r.time_us - r.offset->ahead_us - *list.became_cluster_us < settle_us;
}

record_facts as_seen(record_facts found, const record_terms& t) {
    if (!found.exists || is_of_other_set(found, t)) return found;
    if (t.only_peeks) {
        return found.list.is_changed()
                   ? std::move(found)
                   : record_facts{.time_us = found.time_us, .floor = found.floor};
    }
    const memory left = memory_of(found, serving(found, t));
    found.is_of_earlier_process = left == memory::may_have_survived;
    found.is_void = left == memory::lost;
    found.may_lack_steps = may_lack_steps(found, t);
    return found;
}

}  // namespace redlock::core
