// Nodes from URIs, good and bad ones; knows no JSON.
// SPDX-License-Identifier: MIT
#include <redlock/config.hpp>
#include <redlock/error.hpp>

#include "tests/support/catch.hpp"

#include <random>

using namespace redlock;

namespace {

node_options good(std::string_view uri) {
    INFO(uri);
    std::vector<config_issue> issues;
    auto node = parse_node_uri(uri, issues, "/here");
    REQUIRE(issues.empty());
    REQUIRE(node.has_value());
    return *node;
}

std::string complaint(std::string_view uri) {
    INFO(uri);
    std::vector<config_issue> issues;
    const auto node = parse_node_uri(uri, issues, "/here");
    CHECK_FALSE(node.has_value());
    if (!node) CHECK(node.error() == errc::config_invalid);
    REQUIRE_FALSE(issues.empty());
    for (const auto& issue : issues) CHECK(issue.where == "/here");
    return issues[0].message;
}

bool complains(std::string_view uri, std::string_view part) {
    const std::string message = complaint(uri);
    INFO(message);
    return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a server's URI") {
    const auto plain = good("redis://h");
    CHECK(plain.host == "h");
    CHECK(plain.port == 6379);
    CHECK(plain.database == 0);
    CHECK(plain.username.empty());
    CHECK(plain.password.empty());
    CHECK_FALSE(plain.tls);

    const auto full = good("redis://user:pw@host.example:7001/15?name=n%201");
    CHECK(full.host == "host.example");
    CHECK(full.port == 7001);
    CHECK(full.database == 15);
    CHECK(full.username == "user");
    CHECK(full.password == "pw");
    CHECK(full.name == "n 1");

    CHECK(good("redis://h/").database == 0);
    CHECK(good("redis://h?").host == "h");
    CHECK(good("rediss://h").tls.has_value());
}

TEST_CASE("user names and passwords are percent-decoded") {
    const auto node = good("redis://a%40b:p%2fq%3A%25@h");
    CHECK(node.username == "a@b");
    CHECK(node.password == "p/q:%");
    CHECK(good("redis://:pw@h").username.empty());
    CHECK(good("redis://:pw@h").password == "pw");
    CHECK(good("redis://:a:b@h").password == "a:b");
    CHECK(complains("redis://u:p%4@h", "%25"));
    CHECK(complains("redis://u:p%@h", "%25"));
    CHECK(complains("redis://u:p%g0@h", "%25"));
}

TEST_CASE("IPv6 addresses stand in brackets") {
    CHECK(good("redis://[::1]").host == "::1");
    CHECK(good("redis://[::1]:7001/2").port == 7001);
    CHECK(good("redis://u:p@[fe80::1%eth0]:1").host == "fe80::1%eth0");
    CHECK(complains("redis://::1", "brackets"));
    CHECK(complains("redis://[::1", "]"));
    CHECK(complains("redis://[::1]7", "between"));
    CHECK(complains("redis://[host]", "IPv6"));
    CHECK(complains("redis://[]", "IPv6"));
}

TEST_CASE("a socket's URI") {
    const auto plain = good("unix:///run/redis.sock");
    CHECK(plain.unix_socket == "/run/redis.sock");
    const auto full = good("unix://u:p@/run/my%20redis?db=3&name=n");
    CHECK(full.unix_socket == "/run/my redis");
    CHECK(full.username == "u");
    CHECK(full.password == "p");
    CHECK(full.database == 3);
    CHECK(full.name == "n");
    CHECK(complains("unix://run/redis.sock", "three slashes"));
    CHECK(complains("unix://", "path"));
    CHECK(complains("unix:///", "path"));
    CHECK(complains("unix:///s?db=x", "database"));
    CHECK(complains("unix:///s?db=1&db=2", "twice"));
    CHECK(complains("unix:///s?bd=1", "did you mean \"db=\""));
}

TEST_CASE("each refusal says what would be right") {
    CHECK(complains("", "redis://"));
    CHECK(complains("h:6379", "redis://"));
    CHECK(complains("REDIS://h", "redis://"));
    CHECK(complains("redis://", "host"));
    CHECK(complains("redis://:7001", "host"));
    CHECK(complains("redis://user@h", "user:password@"));
    CHECK(complains("redis://user:@h", "user:password@"));
    CHECK(complains("redis://@h", "user:password@"));
    CHECK(complains("redis://u:p@ss@h", "%40"));
    for (const auto* raw : {"redis://:p/w@h", "redis://u:p?w@h:1", "redis://u:p#w@h",
                            "redis://u:p@w@h/0", "rediss://:/@h", "unix://u:p/w@/run/s"}) {
        CHECK(complains(raw, "percent-encode it: write %2F for \"/\""));
    }
    CHECK(complaint("redis://h/x").find("percent") == std::string::npos);
    CHECK(good("redis://h/0?name=me@x").name == "me@x");
    CHECK(complains("redis://h:", "port"));
    CHECK(complains("redis://h:0", "port"));
    CHECK(complains("redis://h:65536", "port"));
    CHECK(complains("redis://h:+1", "port"));
    CHECK(complains("redis://h:99999999999999999999", "port"));
    CHECK(complains("redis://h/65536", "database"));
    CHECK(complains("redis://h/1/2", "database"));
    CHECK(complains("redis://h/-1", "database"));
    CHECK(complains("redis://a b", "host name"));
    CHECK(complains("redis://h#x", "%23"));
    CHECK(complains("redis://h?name", "name"));
    CHECK(complains("redis://h?db=1", "name"));
    CHECK(complains("redis://h?name=a&name=b", "twice"));
    CHECK(complains("redis://" + std::string(5000, 'h'), "4096"));
}

TEST_CASE("mutated URIs never crash, and are either read or refused with a reason") {
    const std::string seeds[] = {"redis://user:p%40w@[fe80::1%25e]:7001/15?name=n",
                                 "unix://u:p@/run/redis.sock?db=3&name=n", "rediss://h:1"};
    const std::string letters = "%@:/?#[]&=0f\0\xff";
    std::mt19937_64 random(7);
    for (int round = 0; round < 20'000; ++round) {
        std::string uri = seeds[random() % std::size(seeds)];
        for (std::uint64_t edits = 1 + random() % 5; edits != 0; --edits) {
            const std::size_t at = random() % (uri.size() + 1);
            if (random() % 2 == 0) {
                uri.erase(at, 1 + random() % 3);
            } else {
                uri.insert(at, 1, letters[random() % letters.size()]);
            }
        }
        std::vector<config_issue> issues;
        if (parse_node_uri(uri, issues).has_value() != issues.empty()) {
            INFO(uri);
            REQUIRE(false);
        }
    }
}
