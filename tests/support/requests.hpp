// The requests that a command for requests.lua or plain.lua makes, read and written word by word;
// knows no node.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/command.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::testing {

enum class ask { acquire, extend, release };

/// One key, and what goes with it.
struct asked_key {
    std::string key{};
    std::string fence_key{};
    std::string queue{};
};

/// As a node reads it; what it does not say is empty.
struct asked {
    ask what{};
    std::string key{};
    std::string fence_key{};
    std::string queue{};
    std::vector<asked_key> others{};  // of several keys at once those behind the first
    std::string value{};
    std::string ttl{};
    std::string fence{};  // of a release: that is raised
    std::string id{};
    std::string ticket{};
    std::string life{};
    std::string keep{};     // of a release: for how long the key stays in others' way
    std::string note{};     // of a release: for how long it is noted
    std::string is_long{};  // of a release: the fence may live for longer than it is needed
    bool holds = false;     // of an extension: it prolongs the fence, too
    bool names = false;     // of an acquire: nothing is taken
    std::string readers{};  // the key of their set, where it is one of them that asks
    std::string slot{};      // of several "3,7,9"
    std::string slots{};     // how many there are
    std::string slot_set{};  // the key of those that are taken, where one is requested

    std::size_t keys() const noexcept { return 1 + others.size(); }
    bool is_of_several() const noexcept { return !others.empty(); }
    bool shares() const noexcept { return !readers.empty(); }
    bool is_of_slot() const noexcept { return !slot_set.empty(); }
};

struct requests {
    std::string record_key{};
    std::string epoch{};
    std::string until{};
    std::string tolerance_us{};
    std::string lift_us = "0";
    std::vector<asked> all{};
};

inline bool is_call_of(const std::vector<std::string>& command, const resp::script& what) {
    return command.size() > 2 && command[0].starts_with("EVAL") &&
           (command[1] == what.sha1 || command[1] == what.text);
}

inline bool is_verb(std::string_view what) {
    constexpr std::array verbs{"acquire", "await", "extend", "hold", "release", "leave", "keep", "name"};
    return std::find(verbs.begin(), verbs.end(), what) != verbs.end();
}

/// Nothing where it is another command.
inline std::optional<requests> requests_of(const std::vector<std::string>& command) {
    const bool is_fenced = is_call_of(command, resp::requests());
    if (!is_fenced && !is_call_of(command, resp::plain())) return std::nullopt;
    requests out;
    const std::size_t keys = std::stoul(command[2]);
    std::size_t at = 3 + keys;
    const std::size_t count = is_fenced ? std::stoul(command.at(at + 4)) : keys;  // of locks
    std::size_t next_set = 4 + 3 * count;
    if (is_fenced) {
        out.record_key = command[3];
        for (auto* word : {&out.epoch, &out.until, &out.tolerance_us, &out.lift_us}) {
            *word = command.at(at++);
        }
        ++at;
    }
    const auto key_at = [&](std::size_t i) -> asked_key {
        if (!is_fenced) return {command.at(3 + i)};
        return {command.at(4 + 2 * i), command.at(5 + 2 * i), command.at(4 + 2 * count + i)};
    };
    for (std::size_t i = 0; i < count;) {
        asked& one = out.all.emplace_back();
        const asked_key first = key_at(i++);
        one.key = first.key;
        one.fence_key = first.fence_key;
        one.queue = first.queue;
        std::string what = command.at(at);
        const bool has_slots = what.ends_with("_slots");
        if (const auto suffix = what.find("_all"); has_slots || suffix != what.npos) {
            what.resize(has_slots ? what.size() - 1 : suffix);
            for (std::size_t n = std::stoul(command.at(++at)); n > 1; --n) {
                one.others.push_back(key_at(i++));
            }
        }
        if (const auto suffix = what.find("_share"); suffix != what.npos) {
            what.resize(suffix);
            one.readers = command.at(next_set++);
        }
        if (const auto suffix = what.find("_slot"); suffix != what.npos) {
            what.resize(suffix);
            one.slot_set = command.at(next_set++);
        }
        if (!is_verb(what)) throw std::invalid_argument("a request of no known kind: " + what);
        one.what = what == "acquire" || what == "await" || what == "name" ? ask::acquire
                   : what == "extend" || what == "hold" ? ask::extend
                                                        : ask::release;
        one.holds = what == "hold";
        one.names = what == "name";
        std::vector<std::string*> words{&one.value};
        if (one.what != ask::release) words.push_back(&one.ttl);
        if (one.is_of_slot() && one.what == ask::release) {
            words.insert(words.end(), {&one.slot, &one.slots});
        }
        if (is_fenced && (one.what != ask::release || what == "leave")) words.push_back(&one.fence);
        if (one.is_of_slot() && one.what != ask::release) {
            words.insert(words.end(), {&one.slot, &one.slots});
        }
        if (what == "await" || what == "leave") {
            words.insert(words.end(), {&one.id, &one.ticket, &one.life});
        }
        if (what == "leave" || what == "keep") words.push_back(&one.keep);
        if (what == "leave") words.insert(words.end(), {&one.note, &one.is_long});
        for (std::string* word : words) *word = command.at(++at);
        ++at;
    }
    return out;
}

/// The words of one request, as requests.lua takes them.
inline std::vector<std::string> words_of(const asked& one) {
    if (one.is_of_several()) {
        asked alone = one;
        alone.others.clear();
        auto words = words_of(alone);
        words.front() += one.is_of_slot() ? "s" : "_all";
        words.insert(words.begin() + 1, std::to_string(one.keys()));
        return words;
    }
    if (one.shares()) {
        asked alone = one;
        alone.readers.clear();
        auto words = words_of(alone);
        words.front() += "_share";
        return words;
    }
    if (one.is_of_slot()) {
        asked alone = one;
        alone.slot_set.clear();
        auto words = words_of(alone);
        words.front() += "_slot";
        const bool gives_back = one.what == ask::release;
        words.insert(words.begin() + (gives_back ? 2 : 4), {one.slot, one.slots});
        return words;
    }
    const bool waits = !one.ticket.empty();
    switch (one.what) {
        case ask::extend: return {one.holds ? "hold" : "extend", one.value, one.ttl, one.fence};
        case ask::acquire:
            if (!waits) return {one.names ? "name" : "acquire", one.value, one.ttl, one.fence};
            return {"await", one.value, one.ttl, one.fence, one.id, one.ticket, one.life};
        case ask::release: break;
    }
    if (!waits && one.fence.empty() && one.keep.empty() && one.note.empty() &&
        one.is_long.empty()) {
        return {"release", one.value};
    }
    return {"leave", one.value, one.fence, one.id, waits ? one.ticket : "0", waits ? one.life : "0",
            one.keep, one.note, one.is_long};
}

inline std::vector<std::string> keys_of(const requests& what) {
    std::vector<std::string> out{what.record_key};
    for (const asked& one : what.all) {
        out.insert(out.end(), {one.key, one.fence_key});
        for (const auto& other : one.others) out.insert(out.end(), {other.key, other.fence_key});
    }
    for (const asked& one : what.all) {
        out.push_back(one.queue);
        for (const auto& other : one.others) out.push_back(other.queue);
    }
    for (const asked& one : what.all) {
        if (one.shares()) out.push_back(one.readers);
        if (one.is_of_slot()) out.push_back(one.slot_set);
    }
    return out;
}

inline std::vector<std::string> arguments_of(const requests& what) {
    std::size_t keys = 0;
    for (const asked& one : what.all) keys += one.keys();
    std::vector<std::string> out{what.epoch, what.until, what.tolerance_us, what.lift_us,
                                 std::to_string(keys)};
    for (const asked& one : what.all) {
        const auto words = words_of(one);
        out.insert(out.end(), words.begin(), words.end());
    }
    return out;
}

}  // namespace redlock::testing
