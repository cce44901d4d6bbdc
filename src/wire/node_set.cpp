// The set of nodes that one list names.
// SPDX-License-Identifier: MIT
#include "wire/node_set.hpp"

#include "value/quorum.hpp"
#include "value/text.hpp"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

namespace redlock::wire {

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
