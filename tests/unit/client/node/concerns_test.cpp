// Tests the reports on servers whose settings endanger locks; asks no server.
// SPDX-License-Identifier: MIT
#include "client/node/concerns.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"
#include "wire/resp/parser.hpp"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using kind = detail::concern::kind;

namespace {

// Of redis-server 7.0.15 as it comes, but for a limit of 100 MB and allkeys-lru.
constexpr std::string_view as_told = R"(# Server
redis_version:7.0.15
redis_mode:standalone
run_id:168e4985d18e50b2c81f761cbcca4f9a897c721d

# Memory
used_memory:917008
used_memory_human:895.52K
used_memory_rss:12165120
used_memory_peak:917008
used_memory_peak_perc:102.57%
used_memory_overhead:876440
used_memory_startup:876240
used_memory_dataset:40568
used_memory_dataset_perc:99.51%
total_system_memory:25276502016
used_memory_lua:32768
used_memory_scripts:200
maxmemory:104857600
maxmemory_human:100.00M
maxmemory_policy:allkeys-lru
allocator_frag_ratio:1.08
mem_fragmentation_ratio:13.88
mem_not_counted_for_evict:0
mem_aof_buffer:0
mem_allocator:jemalloc-5.3.0

# Persistence
loading:0
rdb_changes_since_last_save:0
rdb_last_bgsave_status:ok
aof_enabled:0
aof_rewrite_in_progress:0
aof_rewrite_scheduled:0
aof_last_bgrewrite_status:ok
aof_last_write_status:ok

# Replication
role:master
connected_slaves:0
)";

using changed_fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

std::string info(changed_fields changes = {}) {
    std::string text(as_told);
    for (const auto& [from, to] : changes) {
        REQUIRE(text.find(from) != text.npos);
        text.replace(text.find(from), from.size(), to);
    }
    std::string lines;
    for (const char c : text) lines += c == '\n' ? "\r\n" : std::string(1, c);
    return lines;
}

// All is well with this one.
detail::server_settings sound(std::string_view fsync = "always", std::string_view skips = "no") {
    auto s = detail::read_settings(
        info({{"maxmemory_policy:allkeys-lru", "maxmemory_policy:noeviction"},
              {"aof_enabled:0", "aof_enabled:1"}}));
    std::string wire;
    resp::append_command(wire, {"no-appendfsync-on-rewrite", skips, "appendfsync", fsync});
    resp::parser p;
    resp::reply r;
    std::string_view bytes = wire;
    REQUIRE(p.feed(bytes, r) == resp::parser::outcome::complete);
    detail::add_fsync(s, r);
    return s;
}

std::vector<kind> kinds(const std::vector<detail::concern>& all) {
    std::vector<kind> out;
    for (const auto& c : all) out.push_back(c.what);
    return out;
}

auto found(const detail::server_settings& s) { return detail::find_concerns(s, true, 60s); }
auto kinds_of(const detail::server_settings& s) { return kinds(found(s)); }

bool says(const detail::concern& c, std::string_view words) {
    return c.text.find(words) != c.text.npos;
}

}  // namespace

TEST_CASE("a server is read as it describes itself") {
    const auto s = detail::read_settings(info());
    CHECK(s.eviction_policy == "allkeys-lru");
    CHECK(s.memory_limit == 104857600);
    CHECK(s.memory_used == 917008);
    CHECK(s.has_log == false);
    CHECK(s.fsync.empty());
    CHECK_FALSE(s.syncs_always());
    CHECK(sound().has_log == true);
    CHECK(sound().syncs_always());
    CHECK_FALSE(sound("everysec").syncs_always());
    CHECK_FALSE(sound("always", "yes").syncs_always());
}

TEST_CASE("nothing is reported of a sound server") { CHECK(found(sound()).empty()); }

TEST_CASE("nothing is reported of settings that are not known") {
    CHECK(found({}).empty());
    CHECK(found(detail::read_settings("")).empty());
    auto silent = sound();
    silent.fsync.clear();  // no right to CONFIG
    CHECK(found(silent).empty());
    CHECK(
        found(detail::read_settings("maxmemory:x\r\nused_memory:99\r\naof_enabled:\r\n")).empty());
}

TEST_CASE("a server that evicts is reported with the effect and the remedy") {
    auto s = sound();
    s.eviction_policy = GENERATE("allkeys-lru", "volatile-lru", "volatile-ttl", "allkeys-random");
    REQUIRE(kinds_of(s) == std::vector{kind::evicts_locks});
    const auto c = found(s).front();
    CHECK(c.severity == severity::warning);
    CHECK(says(c, "maxmemory-policy is " + s.eviction_policy));
    CHECK(says(c, "104857600"));
    CHECK(says(c, "set maxmemory-policy noeviction"));
}

TEST_CASE("an eviction policy without a memory limit is reported as info") {
    auto s = sound();
    s.eviction_policy = "allkeys-lru";
    s.memory_limit = 0;
    REQUIRE(kinds_of(s) == std::vector{kind::may_evict_locks});
    CHECK(found(s).front().severity == severity::info);
    CHECK(says(found(s).front(), "set maxmemory-policy noeviction"));
}

TEST_CASE("persistence that is not durable is reported with what it costs") {
    struct setting {
        detail::server_settings of;
        const char* words;
    };
    auto off = sound();
    off.has_log = false;
    auto off_and_silent = off;
    off_and_silent.fsync.clear();
    const auto s =
        GENERATE_COPY(setting{off, "appendonly is no"}, setting{off_and_silent, "appendonly is no"},
                      setting{sound("everysec"), "appendfsync is everysec"},
                      setting{sound("no"), "appendfsync is no"},
                      setting{sound("always", "yes"), "no-appendfsync-on-rewrite is yes"});
    INFO(s.words);
    REQUIRE(kinds_of(s.of) == std::vector{kind::forgets_at_restart});
    const auto guarded = found(s.of).front();
    CHECK(guarded.severity == severity::info);
    CHECK(says(guarded, s.words));
    CHECK(says(guarded, "ttl_max (60 s)"));
    CHECK(says(guarded, "set appendonly yes, appendfsync always"));
    const auto unguarded = detail::find_concerns(s.of, false, 60s).front();
    CHECK(unguarded.severity == severity::warning);
    CHECK(says(unguarded, s.words));
    CHECK(says(unguarded, "without the restart guard"));
}

TEST_CASE("memory use is reported from nine tenths of the limit on") {
    auto s = sound();
    s.memory_limit = 1000;
    s.memory_used = 899;
    CHECK(found(s).empty());
    s.memory_used = 900;
    REQUIRE(kinds_of(s) == std::vector{kind::memory_nearly_full});
    CHECK(found(s).front().severity == severity::warning);
    CHECK(says(found(s).front(), "90 % of maxmemory (1000 bytes)"));
    CHECK(says(found(s).front(), "refuses to grant locks"));
    CHECK(says(found(s).front(), "raise maxmemory"));
    s.eviction_policy = "volatile-lru";
    REQUIRE(kinds_of(s) == std::vector{kind::evicts_locks, kind::memory_nearly_full});
    CHECK(says(found(s).back(), "deletes keys, locks among them"));
    s.memory_used = ~std::uint64_t{0};
    s.memory_limit = 1;
    CHECK(kinds_of(s).back() == kind::memory_nearly_full);
    s.memory_limit = 0;
    CHECK(kinds_of(s) == std::vector{kind::may_evict_locks});
}

TEST_CASE("words of the server are escaped and cut in a report") {
    auto s = sound("\x1b[31meverysec\n");
    s.eviction_policy = "\x1b[2J" + std::string(1000, 'x');
    for (const auto& c : found(s)) {
        CHECK(c.text.find('\x1b') == c.text.npos);
        CHECK(c.text.find('\n') == c.text.npos);
        CHECK(c.text.size() < 700);
    }
}
