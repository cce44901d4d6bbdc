// What the command lets out; knows no operation.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"

#include "tools/report.hpp"

#include <string>
#include <vector>

using redlock::tool::keep_secret;
using redlock::tool::redacted;
using redlock::tool::shown;

TEST_CASE("passwords in URIs are never let out") {
    CHECK(redacted("redis://u:pw@h:1/0") == "redis://***@h:1/0");
    CHECK(redacted("a redis://:p@h b rediss://u:q@i c") == "a redis://***@h b rediss://***@i c");
    CHECK(redacted("redis://u:p@ss/w@rd@h") == "redis://***@h");
    CHECK(redacted("redis://h:1 me@there") == "redis://h:1 me@there");
    CHECK(redacted("redis://h:1") == "redis://h:1");
    CHECK(redacted("://") == "://");
    CHECK(redacted("") == "");
}

TEST_CASE("a password of the command line is left out wherever it appears") {
    keep_secret({"run", "--node", "redis://u:two words@h:1", "--node=redis://u:se'cret@i:1"});
    CHECK(redacted("'redis://u:two words@h:1' is odd") == "'redis://***@h:1' is odd");
    CHECK(redacted("two words") == "two words");
    CHECK(redacted("it's u:se'cret@i:1") == "it's ***@i:1");
}

TEST_CASE("a password that a blank cut in two words is left out") {
    keep_secret({"--node", "redis://u:first", "second", "third@h", "run", "r"});
    for (const auto* word : {"'redis://u:first'", "second", "'third@h' is one too many"}) {
        INFO(word);
        CHECK(redacted(word).find("***") != std::string::npos);
        CHECK(redacted(word).find("third") == std::string::npos);
    }
    keep_secret({"--node", "redis://host:1", "job", "--", "mail", "me@x"});
    CHECK(redacted("'redis://host:1' 'job' me@x") == "'redis://host:1' 'job' me@x");
    keep_secret({"--node", "redis://u:alone", "inspect"});
    CHECK(redacted("redis://u:alone") == "redis://***");
}

TEST_CASE("the token of a lease is left out wherever it appears") {
    CHECK(redacted("redlock1.AbC-_9") == "redlock1.***");
    CHECK(redacted("'redlock1.AbC' is one too many, redlock1.DeF") ==
          "'redlock1.***' is one too many, redlock1.***");
}

TEST_CASE("a password in the name of CMD's program is left out") {
    keep_secret({"run", "r", "--", "redis://u:blank pass@h:1", "://:"});
    CHECK(redacted("redis://u:blank pass@h:1: not found") == "redis://***@h:1: not found");
    keep_secret({"run", "--", "-r", "--", "redis://u:some", "split@h:1"});
    CHECK(redacted("redis://u:some: not found") == "redis://***: not found");
}

TEST_CASE("a node that is an IPv6 address is shown, with a port and without") {
    for (const std::string node : {"[::1]", "[2001:db8::ab]", "[::1]:6379", "[::1]/2",
                                   "[::1]:7/2?name=a", "[fe80::1%25eth0]", "2001:db8::ab",
                                   "::ffff:192.0.2.1", "host", "host:1/0"}) {
        keep_secret({"--node", "redis://" + node, "--node", "rediss://u:p@" + node, "run"});
        CHECK(redacted(node + ": unreachable") == node + ": unreachable");
        CHECK(redacted("redis://" + node) == "redis://" + node);
    }
    for (const std::string word : {"[::1", "[u:pw]", "u:ab:cd", "[::1]pw"}) {
        keep_secret({"--node", "redis://" + word});
        CHECK(redacted(word) == "***");
    }
}

TEST_CASE("what comes from outside is escaped for a terminal") {
    CHECK(shown("r") == "r");
    CHECK(shown("\x1b[2J\xc2\x9b\xe2\x80\xae\n") == "\\x1b[2J\\xc2\\x9b\\xe2\\x80\\xae\\x0a");
    CHECK(shown("redis://u:p@h") == "redis://***@h");
}
