// Requests about the record that every node keeps about itself, and their answers.
// SPDX-License-Identifier: MIT
#include "wire/node_record.hpp"

#include "value/lease_terms.hpp"
#include "value/text.hpp"
#include "wire/failure.hpp"
#include "wire/keys.hpp"
#include "wire/node_set.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace redlock::wire {

using core::bootstrap;
using resp::script_form;

namespace {

// A word of a record is never empty.
std::string_view as_word(std::string_view text) { return text.empty() ? "-" : text; }

std::string_view word_of(core::list_facts::change what, const core::list_facts& f) {
    switch (what) {
        case core::list_facts::change::none: return "-";
        case core::list_facts::change::joining: return "joining";
        case core::list_facts::change::closed: break;
    }
    return f.closed_for;
}

std::string word_of(const std::vector<std::pair<std::uint64_t, std::string>>& history) {
    std::string out;
    for (const auto& [number, set] : history) {
        out += (out.empty() ? "" : ",") + std::to_string(number) + '=' + set;
    }
    return out.empty() ? "-" : out;
}

// Its set, and what a record says of a change.
std::string words_of(const core::list_facts& f) {
    std::string out = f.set + ' ' + std::to_string(f.number);
    for (const std::string_view word :
         {word_of(f.is, f), as_word(f.announced), as_word(f.promised), as_word(f.accepted)}) {
        out.append(1, ' ').append(word);
    }
    return out + " 0 - " + word_of(f.history);
}

void write_node_call(std::string& out, script_form form, const record_request& r,
                     std::string_view absent, const core::server_facts& server) {
    const std::string_view durable = r.is_much_later ? "" : server.is_durable ? "1" : "0";
    const std::string quarantine = std::to_string(r.quarantine.count());
    const std::string ttl_max = std::to_string(r.ttl_max.count());
    std::vector<std::string_view> words{verb(form), body(form, resp::node()), "1", r.key,
                                        server.run_id, durable, quarantine, r.epoch, absent,
                                        as_word(server.replid), r.set, ttl_max, as_word(r.names)};
    const std::string made = r.made ? words_of(*r.made) : "";
    if (!r.after.empty() || r.made) words.insert(words.end(), {r.after, made});
    resp::append_command(out, words);
}

std::string_view what_to_look_for(const record_request& r) {
    if (r.only_peeks) return "peek";
    return r.only_judges ? "judge" : "look";
}

std::string_view name_of(core::amendment::kind what) {
    switch (what) {
        case core::amendment::kind::keep: return "keep";
        case core::amendment::kind::strike: return "strike";
        case core::amendment::kind::open: break;
    }
    return "open";
}

std::string_view name_of(list_step::kind what) {
    switch (what) {
        case list_step::kind::read: return "read";
        case list_step::kind::promise: return "promise";
        case list_step::kind::close: return "close";
        case list_step::kind::become: break;
    }
    return "become";
}

std::string_view name_of(list_step::memory what) {
    switch (what) {
        case list_step::memory::lost: return "1";
        case list_step::memory::kept: return "0";
        case list_step::memory::undisturbed: break;
    }
    return "keep";
}

}  // namespace

void write_record_call(std::string& out, script_form form, const record_request& r,
                       bootstrap::task what, const core::server_facts& server) {
    switch (what) {
        case bootstrap::task::look:
            return write_node_call(out, form, r, what_to_look_for(r), server);
        case bootstrap::task::make: return write_node_call(out, form, r, r.mark, server);
        case bootstrap::task::settle: return write_node_call(out, form, r, "-", server);
        case bootstrap::task::open:
        case bootstrap::task::withdraw:
            resp::append_command(out,
                                 {verb(form), body(form, resp::bootstrap()), "1", r.key,
                                  what == bootstrap::task::open ? "open" : "withdraw", r.mark});
    }
}

void write_declaration(std::string& out, const record_request& r, const core::server_facts& server,
                       const std::optional<core::clock_check>& clock) {
    constexpr auto form = script_form::whole;  // once in a cluster's life
    const auto decimal = [&](std::int64_t core::clock_check::*what) {
        return clock ? std::to_string((*clock).*what) : std::string();
    };
    resp::append_command(out, {verb(form), body(form, resp::bootstrap()), "1", r.key, "declare",
                               r.epoch, server.run_id, server.is_durable ? "1" : "0",
                               std::to_string(r.ttl_max.count()), as_word(server.replid), r.set,
                               decimal(&core::clock_check::cluster_us),
                               decimal(&core::clock_check::ahead_us),
                               decimal(&core::clock_check::error_us), as_word(r.names),
                               std::to_string(r.number)});
}

void write_clock(std::string& out, script_form form, const record_request& r,
                 const core::record_facts& known, const core::node_order& order,
                 const core::server_facts& server) {
    const core::clock_check& found = order.found;
    const core::amendment& changes = order.changes;
    const std::string_view durable = server.is_durable ? "1" : "0";
    resp::append_command(out, {verb(form), body(form, resp::clock()), "1", r.key,
                               name_of(changes.what), known.epoch,
                               known.offset ? std::to_string(known.offset->seen_us) : "",
                               std::to_string(found.ahead_us), std::to_string(found.error_us),
                               r.epoch, std::to_string(found.cluster_us), server.run_id,
                               changes.names_process ? durable : "", as_word(server.replid),
                               std::to_string(changes.quarantine.count()),
                               std::to_string(changes.ttl_max.count())});
}

void write_list_step(std::string& out, script_form form, const record_request& r,
                     const list_step& step) {
    const core::list_facts& from = step.from;
    const core::list_facts& to = step.to;
    resp::append_command(
        out, {verb(form), body(form, resp::change()), "1", r.key, name_of(step.what), from.set,
              std::to_string(from.number), step.epoch, r.epoch, as_word(step.ballot), as_word(to.set),
              std::to_string(step.settle_us), as_word(to.names), std::to_string(to.number),
              word_of(to.history), std::to_string(step.quarantine.count()),
              std::to_string(step.ttl_max.count()), name_of(step.leases), word_of(to.is, to)});
}

namespace {

using resp::reply_type;

constexpr std::size_t epoch_length = 22;
constexpr std::int64_t latest_us = std::int64_t{1} << 53;

bool is_number(const resp::reply& r, std::int64_t low, std::int64_t high) {
    return r.type() == reply_type::integer && r.integer() >= low && r.integer() <= high;
}

bool is_number_or_empty(const resp::reply& r, std::int64_t low, std::int64_t high) {
    return is_number(r, low, high) || (r.type() == reply_type::string && r.text().empty());
}

constexpr std::size_t without_list = 12;
constexpr std::size_t with_list = 22;
constexpr std::int64_t most_changes = std::int64_t{1} << 53;

// The words about the set and a change of it, behind all others.
bool is_well_formed_list(const resp::reply& r) {
    const auto is_text = [&](std::size_t i) {
        return r[i].type() == reply_type::string && !r[i].text().empty() && r[i].text().size() < 1024;
    };
    return is_text(12) && is_text(13) && is_number(r[14], 0, most_changes) && is_text(15) &&
           is_text(16) && is_text(17) && is_text(18) && is_number(r[19], 0, latest_us) &&
           is_number_or_empty(r[20], -latest_us, latest_us) && is_text(21);
}

// A record that none of our scripts can have written must not make a vote count.
bool is_well_formed(const resp::reply& r) {
    const auto is_text = [&](std::size_t i) {
        return r[i].type() == reply_type::string && !r[i].text().empty();
    };
    if (!is_number(r[0], 1, latest_us)) return false;
    if (r.size() == 1) return true;
    if (r.size() == with_list && !is_well_formed_list(r)) return false;
    return is_text(1) && r[1].text().size() == epoch_length &&
           is_number(r[2], 0, r[0].integer()) && is_number(r[3], 0, longest_ttl.count()) &&
           is_text(4) && is_number(r[5], 0, 6) && is_number_or_empty(r[6], -latest_us, latest_us) &&
           is_number_or_empty(r[7], -latest_us, latest_us) &&
           is_number_or_empty(r[8], 0, latest_us) &&
           is_number_or_empty(r[9], -latest_us, latest_us) &&
           is_number(r[10], 1, longest_ttl.count()) &&
           is_number_or_empty(r[11], -latest_us, latest_us);
}

std::optional<std::int64_t> number(const resp::reply& r) {
    if (r.type() != reply_type::integer) return std::nullopt;
    return r.integer();
}

std::string filled(const resp::reply& r) {
    return r.text() == "-" ? std::string() : std::string(r.text());
}

std::vector<std::pair<std::uint64_t, std::string>> history_of(std::string_view word) {
    std::vector<std::pair<std::uint64_t, std::string>> out;
    while (!word.empty() && word != "-") {
        const std::string_view one = word.substr(0, word.find(','));
        const auto sign = std::min(one.find('='), one.size());
        std::uint64_t number = 0;
        std::from_chars(one.data(), one.data() + sign, number);
        out.emplace_back(number, one.substr(std::min(sign + 1, one.size())));
        word.remove_prefix(std::min(one.size() + 1, word.size()));
    }
    return out;
}

core::list_facts list_of(const resp::reply& r) {
    using change = core::list_facts::change;
    core::list_facts out;
    out.set = text::printable(r[12].text());
    out.names = r[13].text().substr(0, max_set_names);
    out.number = static_cast<std::uint64_t>(r[14].integer());
    const std::string is = filled(r[15]);
    out.is = is.empty() ? change::none : is == "joining" ? change::joining : change::closed;
    if (out.is == change::closed) out.closed_for = is;
    out.announced = filled(r[16]);
    out.promised = filled(r[17]);
    out.accepted = filled(r[18]);
    out.became_us = r[19].integer();
    out.became_cluster_us = number(r[20]);
    out.history = history_of(r[21].text());
    return out;
}

core::record_facts facts_of(const resp::reply& reply) {
    core::record_facts record;
    record.time_us = reply[0].integer();
    if (reply.size() == 1) return record;
    if (reply.size() == with_list) record.list = list_of(reply);
    record.exists = true;
    record.epoch = reply[1].text();
    record.since_us = reply[2].integer();
    record.ttl_max = std::chrono::milliseconds(reply[3].integer());
    record.mark = reply[4].text() == "-" ? std::string_view() : reply[4].text();
    record.made = reply[5].integer() == 1;
    record.is_of_earlier_process = reply[5].integer() == 2;
    record.is_void = reply[5].integer() == 3;
    record.quarantine = std::chrono::milliseconds(reply[10].integer());
    record.init_us = number(reply[11]);
    record.cluster_since_us = number(reply[6]);
    const auto ahead = number(reply[7]);
    const auto error = number(reply[8]);
    const auto seen = number(reply[9]);
    if (ahead && error && seen) record.offset = {*ahead, *error, *seen};
    return record;
}

}  // namespace

record_answer read_record(const resp::reply& reply) {
    const std::size_t size = reply.type() == reply_type::array ? reply.size() : 0;
    if (size != 1 && size != without_list && size != with_list) return {std::nullopt, read_failure(reply)};
    if (!is_well_formed(reply)) {
        return {std::nullopt, {vote::refused, errc::protocol_error, "no sensible record"}};
    }
    record_answer out{facts_of(reply), {}};
    if (size != 1) out.what = static_cast<record_answer::said>(reply[5].integer());
    return out;
}

}  // namespace redlock::wire
