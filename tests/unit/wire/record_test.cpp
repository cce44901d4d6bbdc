// Tests how a record names the nodes of a set for people; knows no record.
// SPDX-License-Identifier: MIT
#include "wire/record.hpp"

#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace redlock;

namespace {

client_options of_nodes(const std::vector<std::string>& names) {
    client_options options;
    for (const std::string& name : names) options.nodes.push_back({.name = name});
    return options;
}

std::string words(const std::vector<std::string>& names) { return wire::set_names(of_nodes(names)); }

std::string compared(const std::string& theirs, const std::string& ours) {
    const auto found = wire::compare_set_names(theirs, ours);
    return found.theirs + " | " + found.ours;
}

}  // namespace

TEST_CASE("a record has the sorted names of a set as one word") {
    CHECK(words({"b:2", "a:1"}) == "a:1,b:2");
    CHECK(words({"my, node\n", "\xc3\xa4=%"}) == "my%2C%20node%0A,%C3%A4%3D%25");
    client_options named = of_nodes({"a", "b"});
    named.cluster = "shop 1";
    CHECK(wire::set_names(named) == "=shop%201");
}

TEST_CASE("the word of a large set is cut, and says so") {
    std::vector<std::string> names;
    for (int i = 0; i < 32; ++i) names.push_back(std::to_string(100 + i) + std::string(250, '\n'));
    const std::string cut = words(names);
    CHECK(cut.size() == wire::max_set_names);
    CHECK(cut.ends_with("..."));
    CHECK(words({std::string(255, 'x'), std::string(255, 'y')}).size() == 511);
}

TEST_CASE("of two lists only what differs is shown") {
    CHECK(compared(words({"127.0.0.1:1", "127.0.0.1:2"}), words({"localhost:1", "localhost:2"})) ==
          "the set {127.0.0.1:1, ...} | the set {localhost:1, ...}");
    CHECK(compared(words({"a", "b", "c"}), words({"a", "b", "d"})) ==
          "the set {c, ...} | the set {d, ...}");
    CHECK(compared(words({"a", "b", "c"}), words({"a", "b", "c", "d", "e"})) ==
          "the set {...} | the set {d, ...}");
    CHECK(compared(words({"a", "b", "c", "d", "e"}), words({"f"})) ==
          "the set {a, ...} | the set {f}");
    CHECK(compared("=one%20two", words({"a"})) == "the cluster \"one two\" | the set {a}");
    CHECK(compared(words({"a"}), "=c") == "the set {a} | the cluster \"c\"");
    CHECK(compared("=b", "=c") == "the cluster \"b\" | the cluster \"c\"");
}

TEST_CASE("behind the cut of a word nothing is taken for a difference") {
    CHECK(compared("a,b,c...", words({"a", "b", "c", "d"})) == " | ");
    CHECK(compared("a,b,c...", words({"a", "aa", "d"})) ==
          "the set {b, ...} | the set {aa, ...}");
    CHECK(compared("...", words({"a"})) == " | ");
}

TEST_CASE("words that say nothing are not compared") {
    CHECK(compared("-", words({"a"})) == " | ");
    CHECK(compared("", words({"a"})) == " | ");
    CHECK(compared(words({"a"}), words({"a"})) == " | ");
}

TEST_CASE("names from a record are safe for a terminal, whatever they are") {
    CHECK(compared("%1B[2J%zz%", words({"a"})) ==
          "the set {\\x1b[2J%zz%} | the set {a}");
}
