// Tests the embedded Lua scripts; knows nothing of a server or of what the scripts do.
// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/project.hpp"
#include "unit/config/samples.hpp"
#include "wire/resp/scripts.hpp"

#include <boost/uuid/detail/sha1.hpp>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>

namespace {

std::string sha1_hex(std::string_view text) {
    boost::uuids::detail::sha1 hash;
    hash.process_bytes(text.data(), text.size());
    unsigned int words[5];
    hash.get_digest(words);
    char hex[41];
    std::snprintf(hex, sizeof hex, "%08x%08x%08x%08x%08x", words[0], words[1], words[2], words[3],
                  words[4]);
    return hex;
}

}  // namespace

// The SHA1 was taken when the text was put together, so this also shows that the compiler read it to
// the byte.
TEST_CASE("the SHA1 of a script is that of its embedded text") {
    REQUIRE_FALSE(redlock::resp::all_scripts().empty());
    for (const redlock::resp::script& script : redlock::resp::all_scripts()) {
        INFO(script.name);
        CHECK(script.sha1 == sha1_hex(script.text));
    }
}

TEST_CASE("scripts are in the order of their names") {
    const auto scripts = redlock::resp::all_scripts();
    CHECK(std::is_sorted(scripts.begin(), scripts.end(),
                         [](const auto& a, const auto& b) { return a.name < b.name; }));
}

TEST_CASE("an accessor gives the script of its name") {
    CHECK(redlock::resp::bootstrap().name == "bootstrap");
    CHECK(redlock::resp::clock().name == "clock");
    CHECK(redlock::resp::node().name == "node");
    CHECK(redlock::resp::plain().name == "plain");
    CHECK(redlock::resp::requests().name == "requests");
    CHECK(redlock::resp::wait().name == "wait");
}

TEST_CASE("a script says what it takes and returns, and no node is sent that") {
    const auto folder = redlock::testing::project_folder() / "lua";
    for (const redlock::resp::script& script : redlock::resp::all_scripts()) {
        INFO(script.name);
        const auto file = samples::content(folder / (std::string(script.name) + ".lua"));
        CHECK(file.find("-- KEYS[") != file.npos);
        CHECK(file.find("-- ARGV") != file.npos);
        CHECK(file.find("-- Returns ") != file.npos);
        std::istringstream lines{std::string(script.text)};
        for (std::string line; std::getline(lines, line);) {
            const auto first = line.find_first_not_of(' ');
            CHECK((first != line.npos && line.compare(first, 2, "--") != 0));
        }
    }
}
