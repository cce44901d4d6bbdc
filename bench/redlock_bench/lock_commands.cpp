// The commands of a lock cycle, bare or as the nodes get them from the library.
// SPDX-License-Identifier: MIT
#include "lock_commands.hpp"

#include "bare_socket.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace bench {

namespace asio = boost::asio;

namespace {

const std::string recorded_resource = "bench:recorded";

/// The commands that a node executes, one by one, for as long as this lives.
class monitor {
public:
    explicit monitor(const redlock::node_options& node) : socket_(node) {
        socket_.send("MONITOR\r\n");
        if (next_line() != "+OK") throw std::runtime_error("a node does not let itself be watched");
    }

    /// The words of the next command of a client that names the resource.
    std::vector<std::string> next_about(std::string_view resource) {
        for (;;) {
            const std::string line = next_line();
            const auto begin = line.find("] ");
            if (begin == std::string::npos) throw std::runtime_error("a monitor is not understood");
            const bool by_script = line.substr(0, begin).ends_with(" lua");
            if (!by_script && line.find(resource) != std::string::npos) {
                return words_of(std::string_view(line).substr(begin + 1));
            }
        }
    }

private:
    std::string next_line() {
        std::size_t end = 0;
        while ((end = read_.find("\r\n")) == std::string::npos) read_ += socket_.receive();
        std::string line = read_.substr(0, end);
        read_.erase(0, end + 2);
        return line;
    }

    // Each stands in quotes; of what is escaped there, quotes and backslashes are expected alone.
    static std::vector<std::string> words_of(std::string_view line) {
        std::vector<std::string> words;
        bool inside = false;
        for (std::size_t i = 0; i < line.size(); ++i) {
            if (line[i] == '"') {
                inside = !inside;
                if (inside) words.emplace_back();
                continue;
            }
            if (!inside) continue;
            if (line[i] == '\\' && line[++i] != '"' && line[i] != '\\') {
                throw std::runtime_error("a monitored command has bytes that are not printable");
            }
            words.back() += line[i];
        }
        return words;
    }

    bare_socket socket_;
    std::string read_;
};

asio::awaitable<void> one_cycle(redlock::client& client, std::uint64_t& fence) {
    auto lease = co_await client.async_acquire(recorded_resource, asio::use_awaitable);
    fence = lease.fence();
    co_await client.async_release(std::move(lease), asio::use_awaitable);
}

// A fenced acquire names the time of the node after which it takes nothing. The recorded one is
// over before the replay is.
void put_off(std::vector<std::string>& acquire) {
    std::string& time_limit = acquire.at(3 + std::stoul(acquire.at(2)) + 1);
    if (time_limit.size() != 16) throw std::runtime_error("a recorded acquire has no time limit");
    time_limit.front() = '9';
}

// Returns its SHA1.
std::string load(const redlock::node_options& node, std::string_view script) {
    bare_socket socket(node);
    const std::string words[] = {"SCRIPT", "LOAD", std::string(script)};
    socket.send(command_of(words));
    const std::string_view reply = socket.receive();
    if (!reply.starts_with("$40\r\n")) throw std::runtime_error("a node takes no script");
    return std::string(reply.substr(5, 40));
}

constexpr std::string_view least_acquire = R"(
if redis.call('GET', KEYS[1]) or redis.call('EXISTS', KEYS[3]) == 1 then
    return 0
end
local seen = redis.call('GET', KEYS[2])
if seen and tonumber(ARGV[3]) <= tonumber(seen) then
    return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
return 1
)";
constexpr std::string_view least_release = R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('DEL', KEYS[1])
return redis.call('EXISTS', KEYS[2]) + 1
)";
constexpr std::string_view compare_and_delete = R"(
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0
)";

std::string with_resource(std::string word, std::string_view resource) {
    const auto at = word.find(recorded_resource);
    if (at != std::string::npos) word.replace(at, recorded_resource.size(), resource);
    return word;
}

}  // namespace

void lock_commands::set_fence(std::uint64_t fence) {
    if (fence_at == 0) return;
    char* const begin = acquire.data() + fence_at;
    std::to_chars(begin, acquire.data() + acquire.size(), fence);
}

recorded_commands::recorded_commands(setting& on) {
    std::vector<monitor> monitors;
    for (const auto& node : on.options().nodes) monitors.emplace_back(node);
    on.run(one_cycle(on.client(), fence_));
    on.settle();
    for (monitor& at : monitors) {
        cycle& seen = nodes_.emplace_back();
        seen.acquire = at.next_about(recorded_resource);
        seen.release = at.next_about(recorded_resource);
        if (fence_ != 0) put_off(seen.acquire);
    }
}

std::vector<lock_commands> recorded_commands::of(std::string_view resource) const {
    const std::string fence = std::to_string(fence_);
    std::vector<lock_commands> all;
    for (cycle one : nodes_) {
        for (auto* words : {&one.acquire, &one.release}) {
            for (auto& word : *words) word = with_resource(std::move(word), resource);
        }
        lock_commands& ready = all.emplace_back();
        ready.acquire = command_of(one.acquire);
        ready.release = command_of(one.release);
        if (fence_ == 0) continue;
        const auto at = ready.acquire.find("\r\n" + fence + "\r\n");
        if (at == std::string::npos) throw std::runtime_error("a recorded acquire has no fence");
        ready.fence_at = at + 2;
    }
    return all;
}

// EVALSHA, SHA1, 4, the node record, key, fence and queue; then four words for all requests, how many
// there are, and the words of each.
std::vector<std::string> recorded_commands::of_many(bool releases,
                                                    const std::vector<std::string>& resources,
                                                    std::uint64_t fence) const {
    const words& one = releases ? nodes_.front().release : nodes_.front().acquire;
    const std::size_t n = resources.size();
    words all{one[0], one[1], std::to_string(3 * n + 1), one[3]};
    for (const auto& name : resources) {
        for (std::size_t i = 4; i < 6; ++i) all.push_back(with_resource(one[i], name));
    }
    for (const auto& name : resources) all.push_back(with_resource(one[6], name));
    all.insert(all.end(), one.begin() + 7, one.begin() + 11);
    all.push_back(std::to_string(n));
    for (std::size_t i = 0; i < n; ++i) {
        all.insert(all.end(), one.begin() + 12, one.end());
        if (!releases) all.back() = std::to_string(fence);
    }
    return all;
}

least_commands::least_commands(setting& on) : nodes_(on.size()) {
    const bool is_fenced = on.options().fencing;
    for (const auto& node : on.options().nodes) {
        if (is_fenced) acquire_sha1_ = load(node, least_acquire);
        release_sha1_ = load(node, is_fenced ? least_release : compare_and_delete);
    }
    if (!is_fenced) return;
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    fence_ = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count());
}

std::vector<lock_commands> least_commands::of(std::string_view resource) const {
    const std::string key(resource);
    const std::string value = "AAAAAAAAAAAAAAAAAAAAAA@bench:1";
    const std::string ttl = "30000";
    lock_commands ready;
    if (fence_ == 0) {
        const std::string acquire[] = {"SET", key, value, "NX", "PX", ttl};
        const std::string release[] = {"EVALSHA", release_sha1_, "1", key, value};
        ready = {command_of(acquire), command_of(release)};
    } else {
        const std::string fence = std::to_string(fence_);
        const std::string fence_key = "{" + key + "}:fence";
        const std::string queue = "{" + key + "}:queue";
        const std::string acquire[] = {"EVALSHA", acquire_sha1_, "3", key,     fence_key,
                                       queue,     value,         ttl, fence,   "600000"};
        const std::string release[] = {"EVALSHA", release_sha1_, "2", key, queue, value};
        ready = {command_of(acquire), command_of(release)};
        ready.fence_at = ready.acquire.find("\r\n" + fence + "\r\n") + 2;
    }
    return std::vector<lock_commands>(nodes_, ready);
}

std::size_t yes_counter::feed(std::string_view bytes) {
    std::size_t ended = 0;
    for (const char c : bytes) {
        const bool good = column_ == 0   ? c == '+' || c == ':'
                          : column_ == 1 ? c == 'O' || c == '1'
                                         : true;
        if (!good) throw std::runtime_error("a node refused a command");
        ++column_;
        if (c != '\n') continue;
        column_ = 0;
        ++ended;
    }
    return ended;
}

lock_commands bare_commands(const std::string& key, const std::string& value) {
    const std::string acquire[] = {"SET", key, value, "NX", "PX", "10000"};
    const std::string release[] = {"DEL", key};
    return {command_of(acquire), command_of(release)};
}

}  // namespace bench
