// The list of problems: one for each place, a bounded number, pointers by RFC 6901.
// SPDX-License-Identifier: MIT
#include "config/report.hpp"

#include "tests/support/catch.hpp"

using namespace redlock;
using config::report;
using config::step;

TEST_CASE("steps of a pointer are escaped and bounded") {
    CHECK(step("", "nodes") == "/nodes");
    CHECK(step("/nodes", 12) == "/nodes/12");
    CHECK(step("/a", "b/c~d") == "/a/b~1c~0d");
    CHECK(step("", "") == "/");
    CHECK(step("", "a\nb") == "/a\\x0ab");
    CHECK(step("", std::string(1000, 'k')).size() < 100);
}

TEST_CASE("a place has one error, and a warning is no failure") {
    std::vector<config_issue> issues;
    report out(issues);
    out.add({config_issue::level::warning, "/nodes", "doubtful"});
    CHECK_FALSE(out.failed());
    CHECK_FALSE(out.failed_at("/nodes"));
    out.error("/nodes", "first");
    out.error("/nodes", "second");
    CHECK(out.failed());
    CHECK(out.failed_at("/nodes"));
    REQUIRE(issues.size() == 2);
    CHECK(issues[1].message == "first");
}

TEST_CASE("after a hundred errors one line stands for the rest") {
    std::vector<config_issue> issues;
    report out(issues);
    for (std::size_t i = 0; i < 1000; ++i) out.error(step("", i), "wrong");
    REQUIRE(issues.size() == 101);
    CHECK(issues[99].where == "/99");
    CHECK(issues[100].where.empty());
}
