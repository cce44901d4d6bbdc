// Nodes from URIs, good and bad ones; knows no JSON.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"

#include <redlock/config.hpp>
#include <redlock/error.hpp>

#include <random>

using namespace redlock;

namespace {

node_options good(std::string_view uri) {
    INFO(uri);
    auto node = parse_node_uri(uri);
    REQUIRE(node.has_value());
    return *node;
}

std::string complaint(std::string_view uri) {
    INFO(uri);
    const auto node = parse_node_uri(uri);
    REQUIRE_FALSE(node.has_value());
    CHECK(node.error().code() == errc::config_invalid);
    REQUIRE(node.error().issues().size() == 1);
    CHECK(node.error().message() == node.error().issues()[0].message);
    return node.error().message();
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

TEST_CASE("host and port alone are a node") {
    CHECK(good("h").host == "h");
    CHECK(good("h").port == 6379);
    CHECK(good("10.0.0.1:7001").port == 7001);
    CHECK_FALSE(good("h:7001").tls);
    CHECK(good("[::1]:7001").host == "::1");
    CHECK(good("[::1]:7001").port == 7001);
    CHECK(good("[::1]").port == 6379);
    CHECK(complains("::1", "brackets"));
    CHECK(complains("x:99999", "a port that is not 1 to 65535"));
    CHECK(complains("a,b", "names several nodes"));
    CHECK(complains("redis://a,redis://b", "names several nodes"));
    CHECK(complains("/run/redis.sock", "unix:///path"));
    for (const auto* more : {"u:pw@h", "h/2", "h?name=n", "redis:/h"}) {
        CHECK(complains(more, "more than host and port; write a URI that begins with redis://"));
    }
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
    CHECK(complains("unix://run", "begins with /"));
    CHECK(complains("redis://h/0/cache", "\"key_prefix\""));
    CHECK(complains("redis://${HOST}:6379", "a variable in its host name"));
    CHECK(complains("unix:///", "path"));
    CHECK(complains("unix:///s?db=x", "database"));
    CHECK(complains("unix:///s?db=1&db=2", "twice"));
    CHECK(complains("unix:///s?bd=1", "did you mean \"db=\""));
}

TEST_CASE("each refusal says what would be right") {
    CHECK(complains("", "names no host"));
    CHECK(complains("REDIX://h", "redis://"));
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
        const auto node = parse_node_uri(uri);
        if (!node && node.error().message().empty()) {
            INFO(uri);
            REQUIRE(false);
        }
    }
}
