// Runs the texts in scripts/, which say what the scripts answer on a real server; knows no rule of
// theirs. How the texts are written stands on top of scripts/locks.txt.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/scripted_node.hpp"
#include "tests/support/project.hpp"
#include "tests/support/trace.hpp"
#include "wire/resp/command.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <filesystem>
#include <iomanip>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

using words = std::vector<std::string>;

words split(std::string_view text, std::string_view separator) {
    words out;
    for (auto end = text.find(separator); end != text.npos; end = text.find(separator)) {
        out.emplace_back(text.substr(0, end));
        text.remove_prefix(end + separator.size());
    }
    out.emplace_back(text);
    return out;
}

// What stands before the separator, and what behind it; nothing where it is not there.
std::pair<std::string, std::optional<std::string>> cut(const std::string& text,
                                                       std::string_view separator) {
    const auto at = text.find(separator);
    if (at == text.npos) return {text, std::nullopt};
    return {text.substr(0, at), text.substr(at + separator.size())};
}

struct text_line {
    int number = 0;  // in the file
    std::string text{};
};

// A case in one of its variants.
struct text_case {
    std::string name{};
    std::vector<text_line> lines{};
};

// Without comments, and each with those that continue it.
std::vector<text_line> lines_of(const std::filesystem::path& file) {
    std::vector<text_line> out;
    std::istringstream in(read_trace(file));
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        const auto indent = line.find_first_not_of(' ');
        if (indent == line.npos || line[indent] == '#') continue;
        line.resize(std::min(line.find("  # "), line.size()));
        if (indent < 4) {
            out.push_back({number, line});
        } else {
            out.back().text += line.substr(indent - 1);
        }
    }
    return out;
}

std::vector<text_case> cases_of(const std::filesystem::path& file) {
    std::vector<text_case> out;
    std::string name;
    std::set<std::string> names;
    std::vector<text_line> head, begin, end;       // of the file, and of the case that is read
    std::vector<std::vector<text_line>> variants;  // and what is between
    const auto finish = [&] {
        if (name.empty()) return;
        if (!names.insert(name).second) throw std::invalid_argument("two cases: " + name);
        if (variants.empty()) variants.emplace_back();
        for (std::size_t i = 0; i < variants.size(); ++i) {
            text_case& one = out.emplace_back();
            one.name = name + (i == 0 ? "" : ", variant " + std::to_string(i + 1));
            for (const auto& part : {head, begin, variants[i], end}) {
                one.lines.insert(one.lines.end(), part.begin(), part.end());
            }
        }
        begin.clear();
        variants.clear();
        end.clear();
    };
    for (auto& [number, text] : lines_of(file)) {
        if (text.starts_with("== ")) {
            finish();
            name = text.substr(3);
        } else if (text.starts_with("- ") || text.starts_with("  ")) {
            if (text.starts_with("- ")) variants.emplace_back();
            variants.back().push_back({number, text.substr(2)});
        } else {
            (name.empty() ? head : variants.empty() ? begin : end).push_back({number, text});
        }
    }
    finish();
    return out;
}

// A list's braces, and what is beside a `=`, are words of their own.
words words_of_answer(const std::string& answer) {
    std::string apart;
    for (const char c : answer) {
        const bool is_mark = c == '{' || c == '}' || c == '=';
        apart += is_mark ? std::string{' ', c, ' '} : std::string(1, c);
    }
    std::istringstream in(apart);
    words out;
    for (std::string word; in >> word;) out.push_back(word);
    return out;
}

bool is_time_left(const std::string& expected, const std::string& left_ms) {
    static const std::regex time("[0-9]+m?s"), number("[0-9]+");
    if (!std::regex_match(expected, time) || !std::regex_match(left_ms, number)) return false;
    const long long most = trace_time(expected).count();
    const long long left = std::stoll(left_ms);
    return left <= most && left > most - std::min(5'000LL, most / 2);
}

bool is_as_expected(const words& expected, const words& answer) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (expected[i] == "...") return true;
        if (i >= answer.size()) return false;
        const bool is_the_same = expected[i] == "_" || expected[i] == answer[i];
        if (!is_the_same && !is_time_left(expected[i], answer[i])) return false;
    }
    return expected.size() == answer.size();
}

// Which bits are set, of the keys or slots that an answer means.
std::string members_of(const std::string& map) {
    std::string out;
    for (std::size_t i = 0; i < 8 * map.size(); ++i) {
        const bool is_set = (static_cast<unsigned char>(map[i / 8]) >> i % 8 & 1) != 0;
        if (is_set) out += (out.empty() ? "" : " ") + std::to_string(i);
    }
    return "[" + out + "]";
}

// Where a refusal has a map of bits, as lua/requests.lua says; 0: nowhere.
std::size_t place_of_map(const reply& r) {
    if (r.items.empty() || r.items[0].type != reply::kind::integer) return 0;
    const long long kind = r.items[0].number;
    if ((kind == 2 || kind == 6) && r.items.size() == 8) return 5;
    return kind == 3 && r.items.size() == 5 ? 3 : 0;
}

std::string quoted(const std::string& text) {
    const bool is_word = !text.empty() && text.find_first_of(" \n") == text.npos;
    return is_word ? text : '"' + text + '"';
}

std::string said(const reply& r) {
    if (r.type == reply::kind::string) return quoted(r.text);
    if (r.type != reply::kind::array) return show(r);
    std::string out;
    for (std::size_t i = 0; i < r.items.size(); ++i) {
        const bool is_map = i != 0 && i == place_of_map(r);
        out += (i == 0 ? "" : " ") + (is_map ? members_of(r.items[i].text) : said(r.items[i]));
    }
    return "{" + out + "}";
}

// One request is about all of these keys.
std::vector<asked_key> keys_named(const std::string& named) {
    std::vector<asked_key> out;
    const auto [resource, slots] = cut(named, "#");
    for (const auto& one : split(slots.value_or(resource), ",")) {
        const std::string key = slots ? resource + "#" + one : one;
        out.push_back({key, key + ":fence", (slots ? resource : one) + ":queue"});
    }
    return out;
}

// A server with one case.
class text_node : public scripted_node {
public:
    explicit text_node(std::string file) : file_(std::move(file)) {
        command({"RENAME", "N", "redlock:node"});
    }

    void run(const text_line& line) {
        try {
            if (const auto [name, value] = cut(line.text, " = "); value && name.starts_with('$')) {
                const bool is_answer = value->starts_with("$(");
                values_[name] =
                    is_answer ? answer_to(expanded(value->substr(2, value->size() - 3))) : *value;
                return;
            }
            // A line of facts alone has no command.
            const auto [says, facts] = cut(" " + expanded(line.text), " | ");
            const auto [command, expected] = cut(says, " -> ");
            const std::string answer = command.empty() ? "" : answer_to(command.substr(1));
            if (expected) check(line, *expected, answer);
            if (!expected && answer.starts_with('!')) fail(line, "no error", answer);
            if (facts) check_facts(line, *facts);
        } catch (const std::exception& failure) {
            fail(line, "a line that can be read", failure.what());
        }
    }

private:
    void fail(const text_line& line, const std::string& expected, const std::string& answer) {
        FAIL_CHECK(file_ << ":" << line.number << ": " << line.text << "\n  expected " << expected
                         << "\n  answered " << answer);
    }
    void check(const text_line& line, const std::string& expected, const std::string& answer) {
        if (!is_as_expected(words_of_answer(expected), words_of_answer(answer))) {
            fail(line, expected, answer);
        }
    }
    void check_facts(const text_line& line, const std::string& facts) {
        words left = keys();
        std::erase(left, "redlock:node");
        const bool are_all = facts == "nothing" || facts.starts_with("only ");
        for (const auto& fact : split(facts.starts_with("only ") ? facts.substr(5) : facts, ", ")) {
            if (fact == "nothing") break;
            const std::string key = cut(fact, "=").first;
            check(line, fact, key == "woken" ? "woken={" + wake_ups() + "}" : fact_of(key, fact));
            std::erase(left, key);
        }
        if (are_all && !left.empty()) fail(line, facts, "also " + left[0]);
    }

    std::string answer_to(const std::string& line) {
        const trace_command first(line);
        const std::string& verb = first.word();
        if (std::isupper(static_cast<unsigned char>(verb.front())) != 0) {
            return said(command(quoted_words(line)));
        }
        if (const auto [name, value] = cut(line, "="); value && verb == line) {
            expect_words(trace_command("set " + line), 0);
            settings_[name] = *value;
            return {};
        }
        if (verb == "clock") {
            clock_us_ = first.at(0) == "server" ? 0 : std::stoll(first.at(0));
            return {};
        }
        if (verb == "pass") {
            clock_us_ += trace_time(first.at(0)) / 1us;
            return {};
        }
        if (verb == "listen") {
            for (std::size_t i = 0; i < first.words(); ++i) {
                listeners_.try_emplace(first.at(i), first.at(i), settings_["prefix"]);
            }
            return {};
        }
        if (verb == "record") {
            const words all = quoted_words(line);
            return call(resp::record(), {"redlock:node"}, {all.begin() + 1, all.end()});
        }
        constexpr std::string_view plain = "plain ";
        if (line.starts_with(plain)) return ask_plain(requests_in(line.substr(plain.size())));
        return verb == "wait" ? wait(requests_in(line)) : ask(requests_in(line));
    }
    static std::vector<trace_command> requests_in(const std::string& line) {
        std::vector<trace_command> out;
        for (const auto& one : split(line, " ; ")) out.emplace_back(one);
        return out;
    }
    static words quoted_words(const std::string& line) {
        std::istringstream in(line);
        words out;
        for (std::string word; in >> std::quoted(word);) out.push_back(word);
        return out;
    }

    std::string call(const resp::script& script, const words& keys, const words& arguments) {
        const bool is_real = clock_us_ == 0;
        eval(is_real ? std::string(script.text) : with_held_clock(script.text, clock_us_), keys,
             arguments);
        return said(last());
    }
    std::string ask(const std::vector<trace_command>& all) {
        requests what{settings_["prefix"] + "redlock:node", word(all[0], "epoch", epoch),
                      word(all[0], "until"), text(tolerance_us)};
        for (const auto& c : all) what.all.push_back(request_of(c));
        return call(resp::requests(), keys_of(what), arguments_of(what));
    }
    asked request_of(const trace_command& c) {
        static const std::map<std::string, testing::ask> verbs{
            {"acquire", ask::acquire}, {"name", ask::acquire},
            {"extend", ask::extend}, {"release", ask::release}};
        const auto [verb, shares] = cut(c.word(), "_share");
        if (!verbs.contains(verb)) throw std::invalid_argument("no request: " + verb);
        expect_words(c, 2);
        const auto keys = keys_named(c.at(0));
        asked out;
        out.what = verbs.at(verb);
        out.names = verb == "name";
        out.key = keys[0].key;
        out.fence_key = keys[0].fence_key;
        out.queue = keys[0].queue;
        out.others.assign(keys.begin() + 1, keys.end());
        out.value = c.at(1);
        if (shares) out.readers = out.key + ":readers";
        if (const auto [resource, slot] = cut(c.at(0), "#"); slot) {
            out.slot = *slot;
            out.slots = word(c, "of");
            out.slot_set = resource + ":slots";
        }
        const bool gives_back = out.what == ask::release;
        if (!gives_back) out.ttl = ms(c, "ttl", "30s");
        out.fence = word(c, "fence", gives_back ? "" : text(clock_us_ + ++proposed_));
        if (const auto [id, ticket] = cut(word(c, "as"), "@"); ticket) {
            out.id = id;
            out.ticket = *ticket;
            out.life = ms(c, "life", "2s");
        }
        out.keep = ms(c, "keep");
        out.note = ms(c, "note");
        out.is_long = word(c, "long");
        return out;
    }
    std::string ask_plain(const std::vector<trace_command>& all) {
        words keys;
        words arguments;
        for (const auto& c : all) {
            expect_words(c, 2);
            const words some = split(c.at(0), ",");
            keys.insert(keys.end(), some.begin(), some.end());
            arguments.push_back(c.word() + (some.size() > 1 ? "_all" : ""));
            if (some.size() > 1) arguments.push_back(std::to_string(some.size()));
            arguments.push_back(c.at(1));
            if (c.word() != "release") arguments.push_back(ms(c, "ttl", "30s"));
        }
        return call(resp::plain(), keys, arguments);
    }
    std::string wait(const std::vector<trace_command>& all) {
        words keys;
        words queues;
        std::array<words, 4> columns;  // ids, tickets, lives, numbers of slots
        for (const auto& c : all) {
            expect_words(c, 1);
            const std::string slots = word(c, "of", "0");
            const auto [id, ticket] = cut(word(c, "as"), "@");
            keys.push_back(c.at(0) + (slots == "0" ? "" : ":slots"));
            queues.push_back(c.at(0) + ":queue");
            columns[0].push_back(id);
            columns[1].push_back(ticket.value_or("0"));
            columns[2].push_back(ms(c, "life", ticket ? "2s" : "0s"));
            columns[3].push_back(slots);
        }
        keys.insert(keys.end(), queues.begin(), queues.end());
        words arguments{std::to_string(all.size())};
        for (const words& column : columns) {
            arguments.insert(arguments.end(), column.begin(), column.end());
        }
        return call(resp::wait(), keys, arguments);
    }
    // A word that is misspelt would not be read.
    static void expect_words(const trace_command& c, std::size_t plain) {
        constexpr std::array names{"ttl",  "fence", "as",    "life",  "keep",  "note",
                                   "long", "of",    "epoch", "until", "prefix"};
        const auto known = std::count_if(names.begin(), names.end(),
                                         [&](const char* name) { return c.has(name); });
        if (c.words() != plain + static_cast<std::size_t>(known)) {
            throw std::invalid_argument("a word is unknown, or missing");
        }
    }
    // What the line says, or an earlier one that says nothing else.
    std::string word(const trace_command& c, const std::string& name,
                     const std::string& otherwise = {}) const {
        const auto at = settings_.find(name);
        return c.text(name, at == settings_.end() ? otherwise : at->second);
    }
    std::string ms(const trace_command& c, const std::string& name,
                   const std::string& otherwise = {}) const {
        const std::string time = word(c, name, otherwise);
        return time.empty() ? time : std::to_string(trace_time(time).count());
    }

    // What a key holds, and for how long where that is expected.
    std::string fact_of(const std::string& key, const std::string& expected) {
        static const std::regex time(".* (-1|[0-9]+m?s)");
        const std::string kind = type(key);
        std::string holds = kind;
        if (kind == "string") holds = quoted(get(key).value_or(""));
        if (kind == "zset") holds = said(command({"ZRANGE", key, "0", "-1", "WITHSCORES"}));
        if (std::regex_match(expected, time)) holds += " " + text(pttl(key).count());
        return key + "=" + holds;
    }
    // The clients that got a message since, each with the key.
    std::string wake_ups() {
        std::string out;
        for (auto& [name, listener] : listeners_) {
            std::istringstream keys(listener.heard());
            for (std::string key; keys >> key;) out += (out.empty() ? "" : " ") + name + " " + key;
        }
        return out;
    }

    // With the values in place of $names, as of "$now-15s+1".
    std::string expanded(std::string line) const {
        constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_", digits = "0123456789";
        for (auto at = line.find('$'); at != line.npos; at = line.find('$', at)) {
            auto end = std::min(line.find_first_not_of(letters, at + 1), line.size());
            const std::string name = line.substr(at, end - at);
            std::string value = value_of(name);
            const bool is_number = value.find_first_not_of(digits) == value.npos;
            while (is_number && (line[end] == '+' || line[end] == '-')) {
                const auto unit = std::min(line.find_first_not_of(digits, end + 1), line.size());
                const bool has_seconds = line[unit] == 's';
                const long long second = name == "$now_ms" ? 1'000 : 1'000'000;
                const long long more = std::stoll(line.substr(end, unit - end));
                value = text(std::stoll(value) + more * (has_seconds ? second : 1));
                end = unit + (has_seconds ? 1 : 0);
            }
            line.replace(at, end - at, value);
        }
        return line;
    }
    std::string value_of(const std::string& name) const {
        if (name == "$now") return text(clock_us_);
        if (name == "$now_ms") return text(clock_us_ / 1'000);
        const auto at = values_.find(name);
        if (at == values_.end()) throw std::invalid_argument(name + " has no value");
        return at->second;
    }

    std::string file_;
    long long clock_us_ = now_us;
    long long proposed_ = 0;  // fences that the text does not name
    std::map<std::string, std::string> settings_;
    std::map<std::string, std::string> values_{{"$ours", ours},
                                               {"$theirs", theirs},
                                               {"$others", "CCCCCCCCCCCCCCCCCCCCCC@else:3"},
                                               {"$epoch", epoch},
                                               {"$highest", text(highest_fence)}};
    std::map<std::string, wake_listener> listeners_;
};

}  // namespace

TEST_CASE("the scripts answer as the texts say", "[scripts]") {
    static const auto files = traces_of(project_folder() / "tests/integration/scripts");
    static std::map<std::filesystem::path, std::vector<text_case>> cases;
    REQUIRE_FALSE(files.empty());
    for (const auto& file : files) {
        if (!cases.contains(file)) cases[file] = cases_of(file);
        REQUIRE_FALSE(cases[file].empty());
        for (const text_case& one : cases[file]) {
            DYNAMIC_SECTION(file.stem().string() << ": " << one.name) {
                text_node n(file.lexically_relative(project_folder()).string());
                for (const text_line& line : one.lines) n.run(line);
                SUCCEED();
            }
        }
    }
}
