// The node record and the name of the nodes' set, as a node keeps them.
// SPDX-License-Identifier: MIT
#include "wire/record.hpp"

#include "value/nodes.hpp"
#include "value/options.hpp"
#include "value/text.hpp"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <vector>

namespace redlock::wire {

using resp::reply_type;

namespace {

using std::chrono::milliseconds;
using change = core::list_facts::change;

constexpr std::size_t epoch_length = 22;
constexpr std::size_t longest_record = std::size_t{1} << 14;
constexpr std::size_t longest_value = 1023;
constexpr std::int64_t latest_us = std::int64_t{1} << 53;
/// In a text that is to be written, with a sign and microseconds behind it.
constexpr std::string_view now_value = "=@now";

void append(std::string& out, std::string_view name, std::string_view value) {
    out.append(1, ' ').append(name).append(1, '=').append(value);
}

// An instant; `less_us` of its clock where it is that of the writing.
void append(std::string& out, std::string_view name, std::int64_t us, std::int64_t less_us = 0) {
    if (us != core::at_writing) return append(out, name, std::to_string(us));
    const std::string_view sign = less_us > 0 ? "-" : "+";
    append(out, name,
           std::string(now_value.substr(1)).append(sign) + std::to_string(std::abs(less_us)));
}

void append_known(std::string& out, std::string_view name, std::string_view value) {
    if (!value.empty() && value != "-") append(out, name, value);
}

void append_known(std::string& out, std::string_view name, std::optional<std::int64_t> us,
                  std::int64_t less_us = 0) {
    if (us) append(out, name, *us, less_us);
}

void append_count(std::string& out, std::string_view name, std::int64_t number) {
    if (number != 0) append(out, name, std::to_string(number));
}

void append_list(std::string& out, const core::list_facts& f, std::int64_t ahead_us) {
    append(out, "set", f.set);
    append_known(out, "names", f.names);
    append_count(out, "number", static_cast<std::int64_t>(f.number));
    if (f.is != change::none) {
        append(out, "change", f.is == change::joining ? "joining" : f.closed_for);
    }
    append_known(out, "announced", f.announced);
    append_known(out, "announced_at", f.announced_at_us, ahead_us);
    append_known(out, "promised", f.promised);
    append_known(out, "accepted", f.accepted);
    if (f.became_us != 0) append(out, "became", f.became_us);
    append_known(out, "became_cluster", f.became_cluster_us, ahead_us);
    std::string history;
    for (const auto& [number, set] : f.history) {
        history += (history.empty() ? "" : ",") + std::to_string(number) + '=' + set;
    }
    append_known(out, "history", history);
}

/// Reads the words of one record. Whatever is not as it should be makes it no record.
class word_reader {
public:
    explicit word_reader(std::string_view text) : text_(text) {}

    std::optional<core::record_facts> read() {
        if (text_.size() > longest_record) return std::nullopt;
        core::record_facts r;
        r.exists = true;
        r.text = text_;
        r.list.names = "-";
        r.epoch = take_word(left_);
        bool is_good = r.epoch.size() == epoch_length && !text_.ends_with(' ') &&
                       text_.find(now_value) == text_.npos &&
                       std::ranges::all_of(text_, [](char c) { return c >= ' ' && c <= '~'; });
        while (is_good && !left_.empty()) is_good = take(take_word(left_), r);
        return is_good && finish(r) ? std::optional(std::move(r)) : std::nullopt;
    }

private:
    bool take(std::string_view word, core::record_facts& r) {
        const std::size_t sign = word.find('=');
        if (sign == word.npos || sign == 0 || sign + 1 == word.size()) return false;
        const std::string_view name = word.substr(0, sign);
        const std::string_view value = word.substr(sign + 1);
        if (std::find(names_.begin(), names_.end(), name) != names_.end()) return false;
        names_.push_back(name);
        const auto known = take_known(name, value, r);
        if (!known) r.unknown.append(1, ' ').append(word);
        return !known || (*known && value.size() <= longest_value);
    }

    // Nothing where the name is not known; else whether the value can be.
    std::optional<bool> take_known(std::string_view name, std::string_view value,
                                   core::record_facts& r) {
        if (auto* const text = text_at(name, r)) return *text = value, true;
        if (auto* const number = number_at(name, r)) return read_number(value, *number);
        if (name == "history") return read_history(value, r.list);
        if (name != "change") return std::nullopt;
        r.list.is = value == "joining" ? change::joining : change::closed;
        if (r.list.is == change::closed) r.list.closed_for = value;
        return true;
    }

    static std::string* text_at(std::string_view name, core::record_facts& r) {
        const std::array<std::pair<std::string_view, std::string*>, 8> texts{
            {{"run_id", &r.run_id},
             {"replid", &r.replid},
             {"mark", &r.mark},
             {"set", &r.list.set},
             {"names", &r.list.names},
             {"announced", &r.list.announced},
             {"promised", &r.list.promised},
             {"accepted", &r.list.accepted}}};
        for (const auto& [known, at] : texts) {
            if (known == name) return at;
        }
        return nullptr;
    }

    std::optional<std::int64_t>* number_at(std::string_view name, core::record_facts& r) {
        const std::array<std::pair<std::string_view, std::optional<std::int64_t>*>, 17> numbers{
            {{"since", &since_},
             {"created", &created_},
             {"durable", &durable_},
             {"ttl_max", &ttl_max_},
             {"quarantine", &quarantine_},
             {"number", &number_},
             {"became", &became_},
             {"offset", &ahead_},
             {"error", &error_},
             {"seen", &seen_},
             {"highest", &highest_},
             {"!lift", &lift_},
             {"lifts", &lifts_},
             {"cluster_since", &r.cluster_since_us},
             {"init", &r.init_us},
             {"announced_at", &r.list.announced_at_us},
             {"became_cluster", &r.list.became_cluster_us}}};
        for (const auto& [known, at] : numbers) {
            if (known == name) return at;
        }
        return nullptr;
    }

    static bool read_number(std::string_view word, std::optional<std::int64_t>& out) {
        out = text::whole_number<std::int64_t>(word);
        return out && *out < latest_us && *out > -latest_us;
    }

    static bool read_history(std::string_view word, core::list_facts& out) {
        while (!word.empty()) {
            const std::string_view one = word.substr(0, word.find(','));
            const std::size_t sign = one.find('=');
            std::optional<std::int64_t> number;
            const bool is_pair = sign != one.npos && sign + 1 < one.size();
            if (!is_pair || !read_number(one.substr(0, sign), number) || *number < 0) return false;
            out.history.emplace_back(*number, one.substr(sign + 1));
            word.remove_prefix(std::min(one.size() + 1, word.size()));
        }
        return true;
    }

    bool finish(core::record_facts& r) const {
        const bool has_all = since_ && created_ && durable_ && quarantine_ && ttl_max_ &&
                             !r.run_id.empty() && !r.list.set.empty();
        if (!has_all) return false;
        const bool has_offset = ahead_ && error_ && seen_;
        if (has_offset) r.offset = {*ahead_, *error_, *seen_};
        r.since_us = *since_;
        r.created_us = *created_;
        r.is_durable = *durable_ == 1;
        r.ttl_max = milliseconds(*ttl_max_);
        r.quarantine = milliseconds(*quarantine_);
        r.list.number = static_cast<std::uint64_t>(number_.value_or(0));
        r.list.became_us = became_.value_or(0);
        r.floor = {static_cast<std::uint64_t>(lifts_.value_or(0)), highest_.value_or(0),
                   lift_.value_or(0)};
        return has_offset == (ahead_ || error_ || seen_) && *since_ >= 0 && *created_ >= 0 &&
               (*durable_ == 0 || *durable_ == 1) &&
               seen_.value_or(0) >= 0 && number_.value_or(0) >= 0 && r.list.became_us >= 0 &&
               lifts_.value_or(0) >= 0 && r.floor.highest_us >= 0 && r.floor.lift_us >= 0 &&
               r.ttl_max >= r.ttl_max.zero() && r.ttl_max <= longest_ttl &&
               r.quarantine > r.quarantine.zero() && r.quarantine <= longest_ttl;
    }

    std::string_view text_;
    std::string_view left_ = text_;
    std::vector<std::string_view> names_;
    std::optional<std::int64_t> since_, created_, durable_, ttl_max_, quarantine_, number_, became_;
    std::optional<std::int64_t> ahead_, error_, seen_, highest_, lift_, lifts_;
};

record_answer refused(errc why, std::string detail) {
    return {std::nullopt, {vote::refused, why, std::move(detail)}};
}

// What the script makes of a text that is to be written at `time_us`.
std::string written_at(std::string_view text, std::int64_t time_us) {
    std::string out;
    for (;;) {
        const std::size_t at = std::min(text.find(now_value), text.size());
        out += text.substr(0, at);
        text.remove_prefix(at);
        if (text.empty()) return out;
        text.remove_prefix(now_value.size());
        std::int64_t more = 0;
        const bool is_less = text.starts_with('-');
        const auto end =
            std::from_chars(text.data() + 1, text.data() + text.size(), more).ptr;
        out += '=' + std::to_string(is_less ? time_us - more : time_us + more);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
}

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
    if (out.size() > max_set_names) {
        out.replace(max_set_names - cut_mark.size(), out.npos, cut_mark);
    }
    return out;
}

}  // namespace

std::string text_of(const core::record_facts& r) {
    const std::int64_t ahead_us = r.offset ? r.offset->ahead_us : 0;
    std::string out = r.epoch;
    append(out, "run_id", r.run_id.empty() ? "-" : r.run_id);
    append_known(out, "replid", r.replid);
    append(out, "durable", r.is_durable ? "1" : "0");
    append(out, "since", r.since_us);
    append_known(out, "cluster_since", r.cluster_since_us, ahead_us);
    append(out, "created", r.created_us);
    append(out, "quarantine", std::to_string(r.quarantine.count()));
    append(out, "ttl_max", std::to_string(r.ttl_max.count()));
    append_known(out, "mark", r.mark);
    append_known(out, "init", r.init_us);
    if (r.offset) {
        append(out, "offset", r.offset->ahead_us);
        append(out, "error", r.offset->error_us);
        append(out, "seen", r.offset->seen_us);
    }
    append_count(out, "highest", r.floor.highest_us);
    append_count(out, "!lift", r.floor.lift_us);  // programs that know of none draw lower fences
    append_count(out, "lifts", static_cast<std::int64_t>(r.floor.lifts));
    append_list(out, r.list, ahead_us);
    return out + r.unknown;
}

std::string_view take_word(std::string_view& left) noexcept {
    const std::string_view word = left.substr(0, left.find(' '));
    left.remove_prefix(std::min(word.size() + 1, left.size()));
    return word;
}

record_answer read_record_text(std::string_view text, std::int64_t time_us) {
    auto record = word_reader(text).read();
    if (!record) return refused(errc::foreign_data, "the node record holds something else");
    const std::size_t at = record->unknown.find(" !");
    if (at != record->unknown.npos) {
        const std::string_view word = std::string_view(record->unknown).substr(at + 1);
        auto out = refused(errc::foreign_data,
                           "a later version of redlock wrote " +
                               text::printable(word.substr(0, word.find('='))) +
                               " to the node record, which this version does not know: update it");
        out.needs_later_version = true;
        return out;
    }
    record->time_us = time_us;
    record->list.names.resize(std::min(record->list.names.size(), max_set_names));
    return {std::move(record), {}};
}

record_answer read_record(const resp::reply& reply) {
    const bool is_answer = reply.type() == reply_type::array && reply.size() == 2 &&
                           reply[0].type() == reply_type::integer;
    if (!is_answer) return {std::nullopt, read_failure(reply)};
    const std::int64_t time_us = reply[0].integer();
    if (time_us <= 0 || time_us >= latest_us) {
        return refused(errc::protocol_error, "no sensible time");
    }
    if (reply[1].type() == reply_type::string) return read_record_text(reply[1].text(), time_us);
    if (reply[1].type() != reply_type::nil) return {std::nullopt, read_failure(reply[1])};
    return {core::record_facts{.time_us = time_us}, {}};
}

record_exchange::record_exchange(std::string key, core::record_terms terms,
                                 core::record_rule rule, const core::record_facts* known)
    : key_(std::move(key)), terms_(std::move(terms)), rule_(std::move(rule)) {
    // What it says of a record that may be another by now is no answer.
    if (known != nullptr) apply(*known);
}

void record_exchange::write(std::string& out, resp::script_form form) const {
    const std::string_view script = body(form, resp::record());
    if (!next_) return resp::append_command(out, {verb(form), script, "1", key_});
    resp::append_command(out, {verb(form), script, "1", key_, before_, *next_, not_after_});
}

// Prepares what replaces `found`. Returns whether there is such a thing.
bool record_exchange::apply(const core::record_facts& found) {
    core::ruled to = rule_(found, terms_);
    what_ = to.what;
    next_.reset();
    if (!to.next || ++tries_ > most_tries) return false;
    std::string text = to.next->exists ? text_of(*to.next) : std::string();
    if (found.exists && text == text_of(found)) return false;
    before_ = found.text;
    next_ = std::move(text);
    not_after_ = to.not_after_us ? std::to_string(*to.not_after_us) : std::string();
    return true;
}

bool record_exchange::take(record_answer read) {
    answer_ = std::move(read);
    if (!answer_.record) return false;
    core::record_facts& found = *answer_.record;
    const bool is_done = next_ && found.text == written_at(*next_, found.time_us);
    if (!is_done && apply(found)) return true;
    const bool is_over = !is_done && tries_ > most_tries;
    answer_.what = is_over ? core::ruled::said::as_it_was : what_;
    if (is_over) {
        answer_.why = {vote::refused, errc::server_error, "its record changes all the time"};
    }
    found = core::as_seen(std::move(found), terms_);
    found.made = answer_.what == core::ruled::said::done;
    return false;
}

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
