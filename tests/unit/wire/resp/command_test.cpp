// Commands in RESP, and the scripts that are sent by their SHA1.
// SPDX-License-Identifier: MIT
#include "wire/resp/command.hpp"

#include "support/catch.hpp"
#include "support/project.hpp"
#include "testing/script_host.hpp"
#include "unit/config/samples.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

// Tests the command encoder against that of hiredis; knows nothing of a server.
namespace command_test {

namespace {

std::string encode_with_hiredis(const std::vector<std::string_view>& args) {
    std::vector<const char*> data;
    std::vector<std::size_t> sizes;
    for (const std::string_view arg : args) {
        data.push_back(arg.data());
        sizes.push_back(arg.size());
    }
    char* command = nullptr;
    const auto size = redisFormatCommandArgv(&command, static_cast<int>(args.size()), data.data(),
                                             sizes.data());
    REQUIRE(size > 0);
    std::string bytes(command, static_cast<std::size_t>(size));
    redisFreeCommand(command);
    return bytes;
}

std::string random_bytes(std::mt19937& random, std::size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) {
        byte = static_cast<char>(random() & 0xff);
    }
    return bytes;
}

}  // namespace

TEST_CASE("a command is appended as RESP2") {
    std::string out = "before";
    redlock::resp::append_command(out, {"SET", "", "a\r\nb"});
    CHECK(out == "before*3\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\na\r\nb\r\n");
}

TEST_CASE("several commands stand one after another") {
    std::string out;
    redlock::resp::append_command(out, {"PING"});
    redlock::resp::append_command(out, {"TIME"});
    CHECK(out == "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nTIME\r\n");
}

TEST_CASE("random commands equal those of hiredis byte for byte") {
    const unsigned seed = GENERATE(1u, 2u, 3u, 4u);
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const std::size_t sizes[] = {0, 1, 9, 10, 99, 100, 999, 1000, 9999, 10000, 70000};
    for (int round = 0; round < 300; ++round) {
        std::vector<std::string> owned(1 + random() % 12);
        for (std::string& arg : owned) {
            const bool edge = random() % 4 == 0;
            arg = random_bytes(random, edge ? sizes[random() % std::size(sizes)] : random() % 40);
        }
        const std::vector<std::string_view> args(owned.begin(), owned.end());
        std::string out;
        redlock::resp::append_command(out, args);
        REQUIRE(out == encode_with_hiredis(args));
    }
}

TEST_CASE("a buffer that is used again does not grow") {
    std::string out;
    redlock::resp::append_command(out, {"GET", "resource"});
    const std::size_t capacity = out.capacity();
    for (int round = 0; round < 100; ++round) {
        out.clear();
        redlock::resp::append_command(out, {"GET", "resource"});
        REQUIRE(out.capacity() == capacity);
    }
}

TEST_CASE("a pipeline grows its buffer a few times only") {
    std::string out;
    int growths = 0;
    for (int command = 0; command < 10000; ++command) {
        const std::size_t capacity = out.capacity();
        redlock::resp::append_command(out, {"GET", "resource"});
        growths += out.capacity() != capacity;
    }
    CHECK(growths < 30);
}

}  // namespace command_test

// Tests the embedded Lua scripts; knows nothing of a server or of what the scripts do.
namespace scripts_test {

// The SHA1 was taken when the text was put together, so this also shows that the compiler read it to
// the byte.
TEST_CASE("the SHA1 of a script is that of its embedded text") {
    REQUIRE_FALSE(redlock::resp::all_scripts().empty());
    for (const redlock::resp::script& script : redlock::resp::all_scripts()) {
        INFO(script.name);
        CHECK(script.sha1 == redlock::fakes::sha1_of(script.text));
    }
}

TEST_CASE("scripts are in the order of their names") {
    const auto scripts = redlock::resp::all_scripts();
    CHECK(std::is_sorted(scripts.begin(), scripts.end(),
                         [](const auto& a, const auto& b) { return a.name < b.name; }));
}

TEST_CASE("an accessor gives the script of its name") {
    CHECK(redlock::resp::plain().name == "plain");
    CHECK(redlock::resp::record().name == "record");
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

}  // namespace scripts_test
