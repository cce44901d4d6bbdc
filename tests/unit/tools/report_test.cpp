// What the command lets out; knows no operation.
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"

#include "tools/report.hpp"

using redlock::tool::redacted;

TEST_CASE("passwords in URIs are never let out") {
    CHECK(redacted("redis://u:pw@h:1/0") == "redis://***@h:1/0");
    CHECK(redacted("a redis://:p@h b rediss://u:q@i c") == "a redis://***@h b rediss://***@i c");
    CHECK(redacted("redis://u:p@ss/w@rd@h") == "redis://***@h");
    CHECK(redacted("redis://h:1 me@there") == "redis://h:1 me@there");
    CHECK(redacted("redis://h:1") == "redis://h:1");
    CHECK(redacted("://") == "://");
    CHECK(redacted("") == "");
}
