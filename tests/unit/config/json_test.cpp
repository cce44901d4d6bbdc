// JSON with the place of each value, and the list of problems found there.
// SPDX-License-Identifier: MIT
#include "config/json.hpp"

#include "tests/support/catch.hpp"

// JSON text as a tree: each kind, names that come twice, and the bounds.
namespace json_test {

using namespace redlock;
using config::json;
using config::json_kind;

namespace {

struct parsed {
    std::vector<config_issue> issues;
    std::optional<json> tree;
    explicit parsed(const std::string& text) {
        config::report out(issues);
        tree = config::parse_json(text, out);
    }
};

std::string nested(std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
}

}  // namespace

TEST_CASE("each kind of value arrives") {
    const parsed p(R"({"n": null, "t": true, "i": -3, "u": 7, "f": 0.5, "s": "x\u00fc",
                       "a": [1, [2], {}], "o": {"k": "v"}})");
    REQUIRE(p.tree);
    const json& j = *p.tree;
    CHECK(j.kind == json_kind::object);
    CHECK(j.find("n")->kind == json_kind::null);
    CHECK(j.find("t")->truth);
    CHECK(j.find("i")->number == -3);
    CHECK(j.find("u")->number == 7);
    CHECK(j.find("f")->number == 0.5);
    CHECK(j.find("s")->text == "xü");
    REQUIRE(j.find("a")->items.size() == 3);
    CHECK(j.find("a")->items[1].items.at(0).number == 2);
    CHECK(j.find("o")->find("k")->text == "v");
    CHECK(j.find("absent") == nullptr);
}

TEST_CASE("of a name that comes twice the first value stays, and its place is reported") {
    const parsed p(R"({"a": [0, {"b/": 1, "b/": {"c": [1, 2]}, "d": 3}], "a": []})");
    REQUIRE(p.tree);
    CHECK(p.tree->find("a")->items.at(1).find("b/")->number == 1);
    CHECK(p.tree->find("a")->items.at(1).find("d")->number == 3);
    REQUIRE(p.issues.size() == 2);
    CHECK(p.issues[0].where == "/a/1/b~1");
    CHECK(p.issues[1].where == "/a");
}

TEST_CASE("depth and number of values are bounded") {
    CHECK(parsed(nested(config::max_depth)).tree);
    CHECK_FALSE(parsed(nested(config::max_depth + 1)).tree);
    std::string list = "[0";
    for (std::size_t i = 2; i < config::max_values; ++i) list += ",0";
    CHECK(parsed(list + "]").tree);
    CHECK_FALSE(parsed(list + ",0]").tree);
}

}  // namespace json_test

// The list of problems: one for each place, a bounded number, pointers by RFC 6901.
namespace report_test {

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

}  // namespace report_test
