// The test's own questions, over hiredis' synchronous interface; knows nothing of the library.
// SPDX-License-Identifier: MIT
#include "direct.hpp"

#include "redis_server.hpp"

#include <hiredis/hiredis.h>

#include <sstream>
#include <stdexcept>

namespace redlock::testing {
namespace {

timeval to_timeval(std::chrono::milliseconds limit) {
    timeval value{};
    value.tv_sec = static_cast<time_t>(limit.count() / 1'000);
    value.tv_usec = static_cast<suseconds_t>(limit.count() % 1'000 * 1'000);
    return value;
}

reply copy(const redisReply& from) {
    reply to;
    switch (from.type) {
    case REDIS_REPLY_STATUS: to.type = reply::kind::status; break;
    case REDIS_REPLY_ERROR: to.type = reply::kind::error; break;
    case REDIS_REPLY_INTEGER: to.type = reply::kind::integer; break;
    case REDIS_REPLY_STRING: to.type = reply::kind::string; break;
    case REDIS_REPLY_ARRAY: to.type = reply::kind::array; break;
    default: return to;
    }
    to.number = from.integer;
    if (from.str != nullptr) to.text.assign(from.str, static_cast<std::size_t>(from.len));
    for (std::size_t i = 0; i < from.elements; ++i) to.items.push_back(copy(*from.element[i]));
    return to;
}

// The value that stands after `label` in a text of lines and separators.
std::string value_after(const std::string& text, const std::string& label, const char* ends) {
    const auto at = text.find(label);
    if (at == std::string::npos) return {};
    const auto begin = at + label.size();
    return text.substr(begin, text.find_first_of(ends, begin) - begin);
}

}  // namespace

void direct::closer::operator()(redisContext* context) const noexcept { redisFree(context); }

direct::direct(std::uint16_t port, const std::string& password, std::chrono::milliseconds limit,
               const std::string& user)
    : context_(redisConnectWithTimeout("127.0.0.1", port, to_timeval(limit))) {
    if (!context_ || context_->err != 0) {
        throw std::runtime_error("port " + std::to_string(port) + ": " +
                                 (context_ ? context_->errstr : "out of memory"));
    }
    redisSetTimeout(context_.get(), to_timeval(limit));
    if (!user.empty()) {
        checked({"AUTH", user, password});
    } else if (!password.empty()) {
        checked({"AUTH", password});
    }
}

reply direct::command(const std::vector<std::string>& words) {
    std::vector<const char*> argv;
    std::vector<std::size_t> sizes;
    for (const auto& word : words) {
        argv.push_back(word.data());
        sizes.push_back(word.size());
    }
    const auto free_reply = [](void* r) { freeReplyObject(r); };
    const std::unique_ptr<void, decltype(free_reply)> answer(
        redisCommandArgv(context_.get(), static_cast<int>(words.size()), argv.data(), sizes.data()),
        free_reply);
    if (!answer) throw std::runtime_error(words.front() + ": " + context_->errstr);
    return copy(*static_cast<redisReply*>(answer.get()));
}

reply direct::checked(const std::vector<std::string>& words) {
    auto answer = command(words);
    if (answer.type == reply::kind::error) {
        throw std::runtime_error(words.front() + ": " + answer.text);
    }
    return answer;
}

std::optional<std::string> direct::get(const std::string& key) {
    auto answer = checked({"GET", key});
    if (answer.type == reply::kind::nil) return std::nullopt;
    return answer.text;
}

void direct::set(const std::string& key, const std::string& value) { checked({"SET", key, value}); }

bool direct::set_nx_px(const std::string& key, const std::string& value,
                       std::chrono::milliseconds ttl) {
    return checked({"SET", key, value, "NX", "PX", std::to_string(ttl.count())}).type !=
           reply::kind::nil;
}

std::chrono::milliseconds direct::pttl(const std::string& key) {
    return std::chrono::milliseconds(checked({"PTTL", key}).number);
}

bool direct::exists(const std::string& key) { return checked({"EXISTS", key}).number == 1; }
bool direct::del(const std::string& key) { return checked({"DEL", key}).number == 1; }

std::vector<std::string> direct::keys(const std::string& pattern) {
    std::vector<std::string> names;
    for (auto& item : checked({"KEYS", pattern}).items) names.push_back(std::move(item.text));
    return names;
}

void direct::select(int database) { checked({"SELECT", std::to_string(database)}); }

void direct::config_set(const std::string& name, const std::string& value) {
    checked({"CONFIG", "SET", name, value});
}

void direct::script_flush() { checked({"SCRIPT", "FLUSH"}); }

void direct::acl_setuser(const std::vector<std::string>& words) {
    std::vector<std::string> all{"ACL", "SETUSER"};
    for (const auto& word : words) {
        const bool is_of_channels = word.starts_with('&') || word == "resetchannels";
        if (!is_of_channels || servers_have_channel_rights()) all.push_back(word);
    }
    checked(all);
}

long long direct::kill_other_clients() {
    return checked({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}).number;
}

int direct::clients_named(const std::string& name) {
    const auto list = checked({"CLIENT", "LIST"}).text;
    const auto label = " name=" + name;  // behind it, of our own clients, a mark and sets
    int found = 0;
    for (auto at = list.find(label); at != std::string::npos; at = list.find(label, at + 1)) {
        const char end = list.at(at + label.size());
        found += end == ' ' || end == '#' || end == '~' ? 1 : 0;
    }
    return found;
}

std::string direct::info(const std::string& field) {
    return value_after("\n" + checked({"INFO"}).text, "\n" + field + ":", "\r\n");
}

long long direct::calls(const std::string& name) {
    const auto line =
        value_after(checked({"INFO", "commandstats"}).text, "cmdstat_" + name + ":", "\r\n");
    long long sum = 0;
    for (const char* label : {"calls=", "rejected_calls="}) {
        // "rejected_calls=" ends with "calls=", which stands first in the line.
        const auto value = value_after(line, label, ",");
        if (!value.empty()) sum += std::stoll(value);
    }
    return sum;
}

void direct::reset_calls() { checked({"CONFIG", "RESETSTAT"}); }

}  // namespace redlock::testing
