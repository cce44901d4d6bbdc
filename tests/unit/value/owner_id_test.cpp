// Identities: their text, and that none is drawn twice, not even across fork().
// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"

#include <redlock/owner_id.hpp>

#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using redlock::owner_id;

TEST_CASE("an identity is 22 base64url characters without padding") {
    owner_id id;
    CHECK(id.is_zero());
    CHECK(id.to_string() == "AAAAAAAAAAAAAAAAAAAAAA");
    for (std::size_t i = 0; i < 16; ++i) id.bytes[i] = static_cast<std::uint8_t>(i);
    CHECK_FALSE(id.is_zero());
    CHECK(id.to_string() == "AAECAwQFBgcICQoLDA0ODw");
    id.bytes.fill(0xff);
    CHECK(id.to_string() == "_____________________w");
    id.bytes.fill(0xfb);
    CHECK(id.to_string() == "-_v7-_v7-_v7-_v7-_v7-w");
}

TEST_CASE("the abbreviation shows six characters of the identity") {
    owner_id id;
    for (std::size_t i = 0; i < 16; ++i) id.bytes[i] = static_cast<std::uint8_t>(i);
    CHECK(id.abbreviated() == "AAECAw…");
}

TEST_CASE("no identity is drawn twice, by any thread") {
    std::vector<std::vector<owner_id>> drawn(4);
    std::vector<std::thread> threads;
    for (auto& mine : drawn) {
        threads.emplace_back([&mine] {
            for (int i = 0; i < 1000; ++i) mine.push_back(owner_id::random());
        });
    }
    for (auto& t : threads) t.join();
    std::set<owner_id> all;
    for (const auto& mine : drawn) all.insert(mine.begin(), mine.end());
    CHECK(all.size() == 4000);
    CHECK(all.count(owner_id{}) == 0);
}

TEST_CASE("a forked child does not repeat its parent's identities") {
    owner_id::random();  // something is drawn ahead from here on
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        bool sent = true;
        for (int i = 0; i < 32; ++i) {
            const owner_id id = owner_id::random();
            sent = sent && ::write(ends[1], id.bytes.data(), id.bytes.size()) ==
                               static_cast<ssize_t>(id.bytes.size());
        }
        ::_exit(sent ? 0 : 1);
    }
    ::close(ends[1]);
    std::set<owner_id> all;
    for (int i = 0; i < 32; ++i) {
        all.insert(owner_id::random());
        owner_id theirs;
        // Each identity was written at once, and is far below what a pipe splits.
        REQUIRE(::read(ends[0], theirs.bytes.data(), theirs.bytes.size()) == 16);
        all.insert(theirs);
    }
    ::close(ends[0]);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(all.size() == 64);
}
