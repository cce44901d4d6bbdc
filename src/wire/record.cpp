// The node record and the name of the nodes' set, as a node keeps them.
// SPDX-License-Identifier: MIT
#include "wire/record.hpp"

#include "value/nodes.hpp"
#include "value/options.hpp"
#include "value/text.hpp"
#include "wire/failure.hpp"
#include "wire/request.hpp"
#include "wire/resp/command.hpp"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
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

namespace {

constexpr std::string_view cut_mark = "...";
constexpr std::size_t most_shown = 1;  // so that the remedy behind it is not cut off

// Of one list: all nodes but those with that mark.
struct list {
    const std::string* cluster;
    list_change others;
};
list old_of(const client_options& o) { return {&o.cluster, list_change::joining}; }
list after_of(const client_options& o) {
    const bool is_joint = node_lists(o).is_joint();
    return {is_joint ? &o.cluster_after : &o.cluster, list_change::leaving};
}

std::vector<std::string> sorted_names(const client_options& options, const list& of) {
    std::vector<std::string> names;
    for (const node_options& node : options.nodes) {
        if (node.change != of.others) names.push_back(display_name(node));
    }
    std::sort(names.begin(), names.end());
    return names;
}

// Each name ends with a byte that no name contains.
std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) all.append(name).push_back('\0');
    return all;
}

bool is_plain(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.' || c == ':' || c == '/' || c == '-';
}

void append_encoded(std::string& out, std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (is_plain(c)) {
            out += c;
        } else {
            out.append({'%', digits[byte / 16], digits[byte % 16]});
        }
    }
}

// What another client wrote: any bytes.
std::string decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned byte = 0;
        const char* const digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
            out += static_cast<char>(byte);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return text::printable(out);
}

struct set_words {
    std::vector<std::string> names;  // sorted
    bool is_cut = false;
};

set_words split(std::string_view word) {
    set_words out;
    out.is_cut = word.ends_with(cut_mark);
    while (!word.empty()) {
        const auto comma = std::min(word.find(','), word.size());
        out.names.push_back(decoded(word.substr(0, comma)));
        word.remove_prefix(std::min(comma + 1, word.size()));
    }
    if (out.is_cut) out.names.pop_back();
    std::sort(out.names.begin(), out.names.end());
    return out;
}

// The names of `one` that `other` lacks, as far as it can be seen.
std::string set_without(const set_words& one, const set_words& other) {
    std::vector<std::string> only;
    std::set_difference(one.names.begin(), one.names.end(), other.names.begin(), other.names.end(),
                        std::back_inserter(only));
    const auto is_beyond = [&](const std::string& name) {
        return other.is_cut && (other.names.empty() || name > other.names.back());
    };
    only.erase(std::remove_if(only.begin(), only.end(), is_beyond), only.end());
    const bool is_whole = only.size() == one.names.size() && only.size() <= most_shown &&
                          !one.is_cut;
    only.resize(std::min(only.size(), most_shown));
    if (!is_whole) only.emplace_back(cut_mark);
    return "the set {" + text::listed(only) + "}";
}

bool is_cluster(std::string_view word) { return word.starts_with('='); }

}  // namespace

namespace {

std::string set_of(const client_options& options, const list& of) {
    // Two name spaces, so that no cluster's name gives the fingerprint of a list of nodes.
    const bool is_named = !of.cluster->empty();
    const auto names = sorted_names(options, of);
    const boost::uuids::name_generator_sha1 make(is_named ? boost::uuids::ns::oid()
                                                          : boost::uuids::ns::dns());
    const auto id = boost::uuids::to_string(make(is_named ? *of.cluster : joined(names)));
    return std::to_string(names.size()) + ":" + id.substr(0, 8) + id.substr(9, 4);
}

std::string names_of(const client_options& options, const list& of) {
    std::string out;
    if (!of.cluster->empty()) {
        out = "=";
        append_encoded(out, *of.cluster);
    } else {
        for (const std::string& name : sorted_names(options, of)) {
            if (!out.empty()) out += ',';
            append_encoded(out, name);
        }
    }
    if (out.size() > max_set_names) out.replace(max_set_names - cut_mark.size(), out.npos, cut_mark);
    return out;
}

}  // namespace

std::string node_set(const client_options& options) { return set_of(options, old_of(options)); }
std::string node_set_after(const client_options& options) {
    return set_of(options, after_of(options));
}
std::string set_names(const client_options& options) { return names_of(options, old_of(options)); }
std::string set_names_after(const client_options& options) {
    return names_of(options, after_of(options));
}

set_difference compare_set_names(std::string_view theirs, std::string_view ours) {
    if (theirs == ours || theirs.empty() || theirs == "-") return {};
    const set_words of_theirs = split(theirs);
    const set_words of_ours = split(ours);
    const auto told = [](std::string_view word, const set_words& one, const set_words& other) {
        if (is_cluster(word)) return "the cluster \"" + decoded(word.substr(1)) + '"';
        return set_without(one, other);
    };
    set_difference out{told(theirs, of_theirs, of_ours), told(ours, of_ours, of_theirs)};
    if (out.theirs == out.ours) return {};
    return out;
}

}  // namespace redlock::wire
