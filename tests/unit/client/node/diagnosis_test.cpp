// What the facts of a node mean: each problem is found by its own fact, and says what to do.
// SPDX-License-Identifier: MIT
#include "client/node/diagnosis.hpp"

#include "support/catch.hpp"
#include "support/project.hpp"

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

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

constexpr auto last_problem = node_problem::list_changes;

}  // namespace

TEST_CASE("nothing is found of a healthy node", "[diagnosis]") {
    const patient p;
    CHECK(detail::diagnose(p.report, p.facts, p.options).empty());
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
    CHECK(p.only_finding().problem == node_problem::unreachable);
    CHECK(p.only_finding().severity == severity::error);
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

TEST_CASE("keys that take half of maxmemory are a warning that says what they are", "[diagnosis]") {
    patient p;
    p.report.keys.is_known = true;
    p.report.keys.locks = {1'000, 190'000};
    p.report.keys.fences = {2'500, 310'000};
    p.report.memory_limit = 1'000'000;
    CHECK(p.only_finding().problem == node_problem::keys_fill_memory);
    CHECK(p.only_finding().severity == severity::warning);
    CHECK(says(p.only_finding(), "50 % of maxmemory (1.0 MB): locks 1000 (190.0 kB), fences 2500 "
                                 "(310.0 kB);"));
    p.report.memory_limit = 1'000'001;
    CHECK(detail::diagnose(p.report, p.facts, p.options).empty());
    p.report.memory_limit = 0;
    CHECK(detail::diagnose(p.report, p.facts, p.options).empty());
}

TEST_CASE("the operator's guide has a line for every problem", "[diagnosis]") {
    std::ifstream file(redlock::testing::project_folder() / "docs" / "nodes.md");
    const std::string guide{std::istreambuf_iterator<char>(file), {}};
    REQUIRE_FALSE(guide.empty());
    std::size_t problems = 0;
    for (auto n = 0; n <= static_cast<int>(last_problem); ++n) {
        const std::string name(to_string(static_cast<node_problem>(n)));
        INFO(name);
        CHECK(guide.find("| `" + name + "` |") != guide.npos);
        ++problems;
    }
    CHECK(problems == 20);
    CHECK(to_string(static_cast<node_problem>(problems)) == "unknown");
}
