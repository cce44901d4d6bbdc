// The commands of a lock cycle, bare or as the nodes get them from the library.
// SPDX-License-Identifier: MIT
#include "lock_commands.hpp"

#include "bare_socket.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <charconv>
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

std::size_t yes_counter::feed(std::string_view bytes) {
    std::size_t ended = 0;
    for (const char c : bytes) {
        const bool good = column_ == 0   ? c == '+' || c == ':'
                          : column_ == 1 ? c == 'O' || c == '1'
                                         : true;
        if (!good) throw std::runtime_error("a node refused what it was asked");
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
