// What the facts of a node mean for locks: its worth as a vote, the finding, the text, the remedy.
// SPDX-License-Identifier: MIT
#include "client/findings.hpp"

#include "support/catch.hpp"
#include "support/project.hpp"
#include "wire/resp/command.hpp"
#include "wire/resp/reply.hpp"

#include "tests/support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Tests the reports on servers whose settings endanger locks; asks no server.
namespace concerns_test {

using namespace redlock;
using namespace std::chrono_literals;
using kind = node_problem;

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

std::vector<kind> kinds(const std::vector<node_finding>& all) {
    std::vector<kind> out;
    for (const auto& c : all) out.push_back(c.problem);
    return out;
}

auto found(const detail::server_settings& s) { return detail::find_concerns(s, true, 60s); }
auto kinds_of(const detail::server_settings& s) { return kinds(found(s)); }

bool has_words(const node_finding& c, std::string_view words) {
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
    CHECK(has_words(c, "maxmemory-policy is " + s.eviction_policy));
    CHECK(has_words(c, "104857600"));
    CHECK(has_words(c, "set maxmemory-policy noeviction"));
}

TEST_CASE("an eviction policy without a memory limit is reported as info") {
    auto s = sound();
    s.eviction_policy = "allkeys-lru";
    s.memory_limit = 0;
    REQUIRE(kinds_of(s) == std::vector{kind::evicts_locks});
    CHECK(found(s).front().severity == severity::info);
    CHECK(has_words(found(s).front(), "set maxmemory-policy noeviction"));
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
    CHECK(has_words(guarded, s.words));
    CHECK(has_words(guarded, "ttl_max (60 s)"));
    CHECK(has_words(guarded, "set appendonly yes, appendfsync always"));
    const auto unguarded = detail::find_concerns(s.of, false, 60s).front();
    CHECK(unguarded.severity == severity::warning);
    CHECK(has_words(unguarded, s.words));
    CHECK(has_words(unguarded, "without the restart guard"));
}

TEST_CASE("memory use is reported from nine tenths of the limit on") {
    auto s = sound();
    s.memory_limit = 1000;
    s.memory_used = 899;
    CHECK(found(s).empty());
    s.memory_used = 900;
    REQUIRE(kinds_of(s) == std::vector{kind::memory_nearly_full});
    CHECK(found(s).front().severity == severity::warning);
    CHECK(has_words(found(s).front(), "90 % of maxmemory (1000 bytes)"));
    CHECK(has_words(found(s).front(), "refuses to grant locks"));
    CHECK(has_words(found(s).front(), "raise maxmemory"));
    s.eviction_policy = "volatile-lru";
    REQUIRE(kinds_of(s) == std::vector{kind::evicts_locks, kind::memory_nearly_full});
    CHECK(has_words(found(s).back(), "deletes keys, locks among them"));
    s.memory_used = ~std::uint64_t{0};
    s.memory_limit = 1;
    CHECK(kinds_of(s).back() == kind::memory_nearly_full);
    s.memory_limit = 0;
    REQUIRE(kinds_of(s) == std::vector{kind::evicts_locks});
    CHECK(found(s).front().severity == severity::info);
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

}  // namespace concerns_test

// What the facts of a node mean: each problem is found by its own fact, and says what to do.
namespace diagnosis_test {

using namespace redlock;
using namespace std::chrono_literals;

namespace {

struct patient {
    node_report report{};
    detail::probed facts{};
    client_options options{};

    patient() {
        report.is_reachable = true;
        facts.settings.eviction_policy = "noeviction";
        facts.settings.has_log = true;
        facts.settings.fsync = "always";
    }
    void object(errc why, const std::string& detail) {
        facts.against = detail::objection{{vote::refused, why, detail}};
    }
    node_finding only_finding() const {
        const auto found = detail::diagnose(report, facts, options);
        REQUIRE(found.size() == 1);
        return found.front();
    }
};

bool says(const node_finding& f, const std::string& part) {
    return f.text.find(part) != f.text.npos;
}

constexpr auto last_problem = node_problem::durable_by_word;

}  // namespace

TEST_CASE("nothing is found of a healthy node", "[diagnosis]") {
    const patient p;
    CHECK(detail::diagnose(p.report, p.facts, p.options).empty());
}

TEST_CASE("a node whose vote hangs on all the others says what ends that", "[diagnosis]") {
    patient p;
    p.facts.hangs_on_all = true;
    const auto f = p.only_finding();
    CHECK(f.problem == node_problem::hangs_on_all);
    CHECK(f.severity == severity::warning);
    CHECK(says(f, "as long as all nodes answer: take any lock once"));
}

TEST_CASE("a node that is durable by word has the price of that named", "[diagnosis]") {
    patient p;
    p.facts.settings.fsync.clear();
    p.facts.refused_config = "NOPERM no";
    CHECK(p.only_finding().problem == node_problem::forgets_at_restart);
    p.facts.is_durable_by_word = true;
    const auto f = p.only_finding();
    CHECK(f.problem == node_problem::durable_by_word);
    CHECK(f.severity == severity::info);
    CHECK(says(f, "a restart may let a second holder in, and nothing detects it"));
}

TEST_CASE("a node without a vote says why, and what to do", "[diagnosis]") {
    patient p;
    SECTION("its clock is off") {
        p.object(errc::clock_skew, "its clock is 300 s ahead of the median of the nodes");
        const auto f = p.only_finding();
        CHECK(f.problem == node_problem::clock_skew);
        CHECK(f.severity == severity::error);
        CHECK(says(f, "300 s ahead"));
        CHECK(says(f, "NTP"));
    }
    SECTION("it is in quarantine") {
        p.object(errc::in_quarantine, "");
        p.facts.against->left = 42s;
        const auto f = p.only_finding();
        CHECK(f.problem == node_problem::in_quarantine);
        CHECK(f.severity == severity::warning);
        CHECK(says(f, "42 s"));
        CHECK(says(f, "redlock init"));
    }
    SECTION("it is in quarantine, and joins") {
        p.object(errc::in_quarantine, "");
        p.facts.against->left = 42s;
        p.facts.against->is_settling = true;
        p.report.list.state = list_state::joining;
        const auto found = detail::diagnose(p.report, p.facts, p.options);
        REQUIRE(found.size() == 2);
        CHECK(says(found[0], "42 s"));
        CHECK(says(found[1], "it is joining"));
    }
    SECTION("for a reason that is not listed") {
        p.object(errc::foreign_data, "the record is not ours");
        CHECK(p.only_finding().problem == node_problem::no_vote);
    }
}

TEST_CASE("of a node that does not answer nothing else is said", "[diagnosis]") {
    patient p;
    p.facts.settings.eviction_policy = "allkeys-lru";
    p.report.is_cluster = true;
    SECTION("it hangs") {
        p.facts.failure = {vote::timed_out, errc::timed_out, ""};
        CHECK(says(p.only_finding(), "firewall"));
    }
    SECTION("it hangs up") {
        p.facts.failure = {vote::unreachable,
                           make_error_code(boost::system::errc::connection_reset),
                           "the server hung up: if it expects TLS, use rediss://"};
        CHECK(p.only_finding().text.ends_with("use rediss://"));
    }
    SECTION("it speaks another protocol") {
        p.facts.failure = {vote::unreachable, errc::protocol_error, "got \"H\""};
        CHECK(says(p.only_finding(), "a Redis server"));
    }
    SECTION("it has no Lua") {
        p.facts.failure = {vote::refused, errc::server_error,
                           "SCRIPT LOAD: ERR Could not find scripting engine 'lua'"};
        CHECK(says(p.only_finding(), "has no Lua: load that module"));
    }
    CHECK(p.only_finding().problem == node_problem::unreachable);
    CHECK(p.only_finding().severity == severity::error);
}

TEST_CASE("of a node for which there is no password the whole cause is said", "[diagnosis]") {
    patient p;
    const std::string cause = "password_command " + std::string(180, 'p') + " exited: do that";
    p.facts.failure = {vote::unreachable, errc::no_credentials, cause};
    CHECK(p.only_finding().problem == node_problem::auth_failed);
    CHECK(p.only_finding().severity == severity::error);
    CHECK(p.only_finding().text.ends_with(cause));
}

TEST_CASE("a right that locks need is an error, another a warning", "[diagnosis]") {
    patient p;
    p.report.missing_rights = {"zcard", "publish"};
    CHECK(p.only_finding().severity == severity::warning);
    CHECK(says(p.only_finding(), "+zcard +publish"));
    p.report.missing_rights = {"&redlock:wake:*"};
    CHECK(p.only_finding().severity == severity::warning);
    for (const std::string right : {"zrange", "zrangebyscore", "zscore", "zadd", "pexpire", "~*"}) {
        p.report.missing_rights = {"zcard", right};
        CHECK(p.only_finding().severity == severity::error);
        CHECK(says(p.only_finding(), right));
    }
}

TEST_CASE("a node whose appendfsync can't be read counts as one that forgets", "[diagnosis]") {
    patient p;
    p.facts.settings.fsync.clear();
    SECTION("the user has no right to it, which is no other finding") {
        p.facts.refused_config = "NOPERM this user has no permissions to run 'config|get'";
        p.report.missing_rights = {"config|get"};
        CHECK(says(p.only_finding(), "give this user +config|get"));
    }
    SECTION("the command has another name") {
        p.facts.refused_config = "ERR unknown command 'CONFIG'";
        CHECK(says(p.only_finding(), "unknown command"));
        CHECK(says(p.only_finding(), "let clients run CONFIG GET"));
    }
    SECTION("the server does not show it") {
        CHECK(says(p.only_finding(), "CONFIG GET does not show it"));
    }
    CHECK(p.only_finding().problem == node_problem::forgets_at_restart);
    CHECK(p.only_finding().severity == severity::warning);
    CHECK(says(p.only_finding(), "60 s"));
    p.options.guard = restart_guard::off;
    CHECK(detail::diagnose(p.report, p.facts, p.options).empty());
}

TEST_CASE("a node that refuses to write says why in the server's words, and what to do",
          "[diagnosis]") {
    patient p;
    p.facts.settings.has_failed_log = true;
    p.facts.refused_write = "MISCONF Errors writing to the AOF file: No space left on device";
    const auto f = p.only_finding();
    CHECK(f.problem == node_problem::refuses_writes);
    CHECK(f.severity == severity::error);
    CHECK(says(f, "No space left on device"));
    CHECK(says(f, "append-only file"));
}

TEST_CASE("a failed snapshot is a warning as long as the server writes", "[diagnosis]") {
    patient p;
    p.facts.settings.has_failed_save = true;
    CHECK(p.only_finding().problem == node_problem::save_failed);
    CHECK(p.only_finding().severity == severity::warning);
    p.facts.refused_write = "MISCONF Redis is configured to save RDB snapshots";
    CHECK(p.only_finding().problem == node_problem::refuses_writes);
    CHECK(says(p.only_finding(), "stop-writes-on-bgsave-error no"));
}

TEST_CASE("a node that can't be judged without the others is not blamed", "[diagnosis]") {
    patient p;
    p.object(errc::no_quorum, "no quorum of nodes answers");
    p.facts.against->lacks_quorum = true;
    CHECK(p.only_finding().problem == node_problem::no_vote);
    CHECK(p.only_finding().severity == severity::warning);
    CHECK_FALSE(says(p.only_finding(), "say redlock init"));
}

TEST_CASE("that the clocks went back is said with by how much, and what to do", "[diagnosis]") {
    patient p;
    p.facts.of_lift = detail::node_reports::tell_of_lift(std::chrono::hours(1));
    const auto found = detail::diagnose(p.report, p.facts, p.options);
    REQUIRE(found.size() == 1);
    CHECK(found.front().problem == node_problem::clocks_went_back);
    CHECK(found.front().severity == severity::warning);
    CHECK(says(found.front(), "by 60 min at least"));
    CHECK(says(found.front(), "redlock init --lower-fences"));
}

TEST_CASE("only a tag with something in it keeps the keys of a lock together", "[diagnosis]") {
    patient p;
    p.report.is_cluster = true;
    for (const std::string prefix : {"", "lock:", "{}:", "{lock:", "}{"}) {
        INFO(prefix);
        p.options.key_prefix = prefix;
        CHECK(p.only_finding().problem == node_problem::no_hash_tag);
    }
    for (const std::string prefix : {"{lock}:", "a{b}c"}) {
        INFO(prefix);
        p.options.key_prefix = prefix;
        CHECK(detail::diagnose(p.report, p.facts, p.options).empty());
    }
}

TEST_CASE("the operator's guide has a line for every problem", "[diagnosis]") {
    std::ifstream file(redlock::testing::project_folder() / "docs" / "nodes.md");
    const std::string guide{std::istreambuf_iterator<char>(file), {}};
    REQUIRE_FALSE(guide.empty());
    std::size_t problems = 0;
    for (auto n = 0; n <= static_cast<int>(last_problem); ++n) {
        const std::string name(to_string(static_cast<node_problem>(n)));
        INFO(name);
        const detail::problem_facts& facts = detail::facts_of(static_cast<node_problem>(n));
        CHECK(facts.problem == static_cast<node_problem>(n));
        CHECK(guide.find("| `" + name + "` | " + std::string(to_string(facts.severity))) !=
              guide.npos);
        ++problems;
    }
    CHECK(problems == 22);
    CHECK(problems == std::size(detail::problems));
    CHECK(to_string(static_cast<node_problem>(problems)) == "unknown");
}

}  // namespace diagnosis_test

// What an answer of a node is worth as a vote.
namespace judgement_test {

using namespace redlock;
using namespace redlock::detail;
using namespace std::chrono_literals;

namespace {

judgement of_a_voter(std::uint64_t highest_fence) {
    return {.against = {}, .highest_fence = highest_fence};
}

judgement of_one_in_quarantine() {
    return {.against = objection{{vote::quarantine, errc::in_quarantine, "why"}, 7ms},
            .highest_fence = 100};
}

}  // namespace

TEST_CASE("the answer of a node that may vote stands") {
    const auto j = of_a_voter(100);
    CHECK(j.is_vote());
    CHECK(j.weigh(wire::acquire_answer{.answer = vote::granted}).answer == vote::granted);
    const auto stale = j.weigh(wire::acquire_answer{.answer = vote::stale, .fence = 100});
    CHECK(stale.answer == vote::stale);
    CHECK(j.weigh(wire::compare_answer{.choice = core::choice::yes}).choice == core::choice::yes);
    CHECK(j.weigh(wire::compare_answer{.choice = core::choice::no, .fence = 99}).fence == 99);
}

TEST_CASE("no answer of a node that may have forgotten a lease is a vote") {
    const auto j = of_one_in_quarantine();
    CHECK_FALSE(j.is_vote());
    for (const vote said : {vote::granted, vote::held, vote::queued, vote::stale}) {
        const auto left = j.weigh(wire::acquire_answer{.answer = said, .fence = 5});
        CHECK(left.answer == vote::quarantine);
        CHECK(left.why.error == errc::in_quarantine);
        CHECK(left.left == 7ms);
    }
    for (const auto said : {core::choice::yes, core::choice::no}) {
        CHECK(j.weigh(wire::compare_answer{.choice = said}).choice == core::choice::unable);
    }
}

TEST_CASE("a node in quarantine that refuses names its own reason") {
    const wire::acquire_answer refused{.answer = vote::refused,
                                       .why = {vote::refused, errc::server_error, "OOM"}};
    const auto left = of_one_in_quarantine().weigh(refused);
    CHECK(left.answer == vote::refused);
    CHECK(left.why.error == errc::server_error);
}

TEST_CASE("a fence that no client can have drawn makes no round above it") {
    const auto j = of_a_voter(100);
    const auto left = j.weigh(wire::acquire_answer{.answer = vote::stale, .fence = 101});
    CHECK(left.answer == vote::refused);
    CHECK(left.why.error == errc::clock_skew);
    CHECK_FALSE(j.believes(101));

    // An extension goes out once more above the fence that the node reported.
    const auto extension =
        j.weigh(wire::compare_answer{.choice = core::choice::no, .fence = 100});
    CHECK(extension.choice == core::choice::unable);
    CHECK(extension.fence == 0);
}

TEST_CASE("a holder's fence that can't be right does not hide the holder") {
    const auto left =
        of_a_voter(100).weigh(wire::acquire_answer{.answer = vote::held, .fence = 1'000});
    CHECK(left.answer == vote::held);
}

}  // namespace judgement_test
