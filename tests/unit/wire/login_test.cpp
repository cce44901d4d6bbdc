// Which programs with another list are connected, by the answer to CLIENT LIST.
// SPDX-License-Identifier: MIT
#include "wire/login.hpp"

#include "wire/record.hpp"
#include "wire/resp/reply.hpp"

#include "tests/support/catch.hpp"

#include <string>

using namespace redlock;

namespace {

client_options listed(std::initializer_list<std::pair<const char*, list_change>> nodes,
                      std::string prefix = {}) {
    client_options o;
    for (const auto& [name, change] : nodes) o.nodes.push_back({.name = name, .change = change});
    o.key_prefix = std::move(prefix);
    return o;
}

constexpr auto stays = list_change::none;
constexpr auto joins = list_change::joining;
constexpr auto leaves = list_change::leaving;

std::string line(std::string id, const std::string& name, std::string db = "0") {
    return "id=" + std::move(id) + " addr=10.0.0.1:5 laddr=10.0.0.9:6379 fd=8 name=" + name +
           " age=1 db=" + std::move(db) + " sub=0\n";
}

wire::connections listed_in(const std::string& text, const client_options& by) {
    resp::parser p;
    resp::reply r;
    const std::string bytes = "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    std::string_view left = bytes;
    REQUIRE(p.feed(left, r) == resp::parser::outcome::complete);
    return wire::read_connected(r, by, 0, wire::node_set_after(by));
}
std::vector<wire::connected> found(const std::string& text, const client_options& by) {
    return listed_in(text, by).others;
}

}  // namespace

TEST_CASE("connections of clients with another list are recognised by their names") {
    const auto old = listed({{"a", stays}, {"b", stays}, {"c", stays}});
    const auto joint = listed({{"a", stays}, {"b", stays}, {"c", leaves}, {"d", joins}});
    const auto after = listed({{"a", stays}, {"b", stays}, {"d", stays}});
    const auto other_prefix = listed({{"a", stays}, {"b", stays}, {"c", stays}}, "app:");
    const std::string text = line("1", "web:7" + wire::mark_of_connection(old)) +
                             line("2", "web:8" + wire::mark_of_connection(joint)) +
                             line("3", "web:9" + wire::mark_of_connection(after)) +
                             line("4", "web:7" + wire::mark_of_connection(old), "3") +
                             line("5", "web:6" + wire::mark_of_connection(other_prefix)) +
                             line("6", "") + line("7", "other");
    const auto all = found(text, joint);
    REQUIRE(all.size() == 2);
    CHECK(all[0].id == "1");
    CHECK(all[0].name == "web:7");
    CHECK(all[0].address == "10.0.0.1:5");
    CHECK(all[1].id == "3");
    CHECK(found(text, other_prefix).empty());
    CHECK(found(line("1", "x" + wire::mark_of_connection(other_prefix)), old).empty());
}

TEST_CASE("a connection says whether its client looks at records, and an earlier one says nothing") {
    const auto joint = listed({{"a", stays}, {"b", leaves}, {"c", joins}});
    auto old = listed({{"a", stays}, {"b", stays}});
    const std::string sets = wire::mark_of_connection(old).substr(std::string("~record").size());
    const std::string reads = line("1", "web" + wire::mark_of_connection(old));
    old.fencing = false;
    const std::string reads_none = line("2", "web" + wire::mark_of_connection(old));
    const auto all = found(reads + reads_none + line("3", "web" + sets), joint);
    REQUIRE(all.size() == 3);
    for (const wire::connected& one : all) CHECK(one.name == "web");
    CHECK(all[0].reads_record);
    CHECK_FALSE(all[1].reads_record);
    CHECK_FALSE(all[2].reads_record);
}

TEST_CASE("connections without a name of this library are counted, servers are not") {
    const auto o = listed({{"a", stays}});
    const std::string replica = "id=4 addr=10.0.0.1:5 name= flags=S db=0\n";
    CHECK(listed_in(line("1", "") + line("2", "other") + replica, o).unnamed == 2);
    CHECK(listed_in(line("1", "", "3"), o).unnamed == 0);
}

TEST_CASE("an answer of any form names nobody") {
    const auto o = listed({{"a", stays}});
    for (const std::string text : {"", "\n", "id=", "name=#", "name=x#3:ab>", "x\n\ny", "name=#\n"}) {
        CHECK(found(text, o).size() <= 1);
    }
}
