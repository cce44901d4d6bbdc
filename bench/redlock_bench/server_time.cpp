// For how long commands of fenced locks occupy their server, beside the least scripts that do the
// same, in alternating blocks; measures no client.
// SPDX-License-Identifier: MIT
#include "json_line.hpp"
#include "lock_commands.hpp"
#include "quantile.hpp"
#include "setting.hpp"

#include "support/direct.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

using words = std::vector<std::string>;

// Each with the keys and arguments of the library's command for so many requests.
constexpr const char* least_acquires = R"(
local n = tonumber(ARGV[5])
if string.sub(redis.call('GET', KEYS[1]), 1, 22) ~= ARGV[1] then
    return 0
end
local now = redis.call('TIME')
if now[1] * 1000000 + now[2] > tonumber(ARGV[2]) then
    return 0
end
for i = 1, n do
    local key, fence_key, at = KEYS[2 * i], KEYS[2 * i + 1], 4 * i + 2
    if redis.call('GET', key) or redis.call('EXISTS', KEYS[2 * n + 1 + i]) == 1 or
        tonumber(ARGV[at + 3]) <= tonumber(redis.call('GET', fence_key)) then
        return 0
    end
    redis.call('SET', key, ARGV[at + 1], 'PX', ARGV[at + 2])
    redis.call('SET', fence_key, ARGV[at + 3], 'PX', 16000)
end
return 1
)";
constexpr const char* least_extensions = R"(
for i = 1, tonumber(ARGV[5]) do
    if redis.call('GET', KEYS[2 * i]) ~= ARGV[4 * i + 3] then
        return 0
    end
    redis.call('PEXPIRE', KEYS[2 * i], ARGV[4 * i + 4])
end
return 1
)";
constexpr const char* least_releases = R"(
local n = tonumber(ARGV[5])
for i = 1, n do
    if redis.call('GET', KEYS[2 * i]) ~= ARGV[2 * i + 5] then
        return 0
    end
    redis.call('DEL', KEYS[2 * i])
    redis.call('EXISTS', KEYS[2 * n + 1 + i])
end
return 1
)";

enum half : std::size_t { acquire, extend, release, halves };

/// Sends the commands to one server, and has it say what they took.
class desk {
public:
    explicit desk(setting& on)
        : recorded_(on), server_(on.options().nodes.front().port),
          fence_(recorded_.next_fence()) {
        int i = 0;
        for (const char* const script : {least_acquires, least_extensions, least_releases}) {
            least_[i++] = server_.command({"SCRIPT", "LOAD", script}).text;
        }
        // Each fence is there: the least scripts know nothing else.
        for (std::size_t key = 0; key < keys; ++key) {
            server_.set("{" + name_of(key) + "}:fence", "1");
        }
    }

    /// In us for each request, of so many commands for `n` keys each.
    double us(half what, bool is_least, std::size_t n) {
        std::vector<words> all;
        for (std::size_t first = 0; first + n <= keys; first += n) {
            words one = recorded_.of_many(what == release, names(first, n), ++fence_);
            if (what == extend) {
                for (std::string& word : one) word = word == "acquire" ? "extend" : word;
            }
            if (is_least) one[1] = least_[what];
            all.push_back(std::move(one));
        }
        server_.command({"CONFIG", "RESETSTAT"});
        for (const words& one : all) check(server_.command(one));
        const std::string stats = server_.command({"INFO", "commandstats"}).text;
        const std::string field = "usec_per_call=";
        const auto at = stats.find(field, stats.find("cmdstat_evalsha:"));
        if (at == std::string::npos) throw std::runtime_error("a server tells no times");
        return std::stod(stats.substr(at + field.size())) / static_cast<double>(n);
    }

private:
    static constexpr std::size_t keys = 512;

    static std::string name_of(std::size_t key) { return "timed:" + std::to_string(1'000 + key); }
    static words names(std::size_t first, std::size_t n) {
        words all;
        for (std::size_t i = first; i < first + n; ++i) all.push_back(name_of(i));
        return all;
    }
    static void check(const redlock::testing::reply& said) {
        bool is_good = said.number == 1 || !said.items.empty();
        for (const auto& one : said.items) is_good = is_good && one.number == 1;
        if (!is_good) throw std::runtime_error("a server refused a command: " + said.text);
    }

    recorded_commands recorded_;
    redlock::testing::direct server_;
    std::array<std::string, halves> least_{};
    std::uint64_t fence_;
};

}  // namespace

void measure_server_time(setting& on, const extent& how) {
    desk with(on);
    for (const std::size_t n : {1, 2, 4, 16, 64}) {
        std::array<std::vector<double>, halves> ours{};
        std::array<std::vector<double>, halves> least{};
        for (std::size_t block = 0; block <= how.rate_blocks; ++block) {
            for (const bool is_least : {false, true}) {
                for (const half what : {acquire, extend, release}) {
                    const double us = with.us(what, is_least, n);
                    if (block > 0) (is_least ? least : ours)[what].push_back(us);
                }
            }
        }
        json_line("server_time")
            .add("mode", on.mode())
            .add("requests", n)
            .add("acquire_us", quantile(ours[acquire], 0.5))
            .add("extend_us", quantile(ours[extend], 0.5))
            .add("release_us", quantile(ours[release], 0.5))
            .add("acquire_over_least", median_ratio(ours[acquire], least[acquire]))
            .add("extend_over_least", median_ratio(ours[extend], least[extend]))
            .add("release_over_least", median_ratio(ours[release], least[release]))
            .print();
    }
}

}  // namespace bench
