// What each step of a change of the list does to the record of one node, by the scripts' own text; no
// client, and no other node.
// SPDX-License-Identifier: MIT
#include "component/support/script_node.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"

#include <chrono>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

const std::string other_epoch(22, 'f');
constexpr std::int64_t settle_us = 10'000'000;

enum word : std::size_t {
    epoch = 0,
    run_id = 1,
    set = 9,
    offset = 10,
    number = 16,
    change,
    announced,
    promised,
    accepted,
    became
};
enum said : std::int64_t { as_it_was = 0, done = 1, too_young = 5, outbid = 6 };

/// A member of set A, number 3, whose record is an hour old.
struct member {
    time_point now = time_point(10h);
    script_node on{now};

    explicit member(const std::string& words_of_change = "3 - - - - 0 - 2=Z") {
        const std::int64_t us = on.us(now);
        put(record_epoch + " run " + std::to_string(us - 3'600'000'000) + " " +
            std::to_string(us - 3'600'000'000) + " 10000 1 - repl - A - - - - 10000 a,b,c " +
            words_of_change);
    }
    void put(const std::string& record) { on.carry_out({"SET", "N", record}, now); }
    void put(const std::vector<std::string>& words) {
        std::string record;
        for (const std::string& one : words) record += (record.empty() ? "" : " ") + one;
        put(record);
    }
    std::vector<std::string> words() {
        std::istringstream text(on.carry_out({"GET", "N"}, now).text);
        return {std::istream_iterator<std::string>(text), {}};
    }

    struct asked {
        std::string step;
        std::string ballot = "-";
        std::string to = "-";
        std::string from = "A";
        std::string from_number = "3";
        std::string epoch = record_epoch;
        std::string leases = "0";
    };
    std::int64_t step(const asked& a) {
        const auto answer = on.carry_out(
            {"EVAL", std::string(resp::change().text), "1", "N", a.step, a.from, a.from_number, a.epoch,
             other_epoch, a.ballot, a.to, std::to_string(settle_us), "b,c,d", "4", "3=A,2=Z", "10000",
             "10000", a.leases, "-"},
            now);
        REQUIRE(answer.items.size() > 5);
        return answer.items[5].number;
    }
    void close(const std::string& ballot, const std::string& to) {
        REQUIRE(step({.step = "promise", .ballot = ballot}) == done);
        REQUIRE(step({.step = "close", .ballot = ballot, .to = to}) == done);
    }
    /// As at a handshake with a server process that started with these files.
    void greet(const std::string& run_id, const std::string& durable) {
        on.carry_out({"EVAL", std::string(resp::node().text), "1", "N", run_id, durable, "10000",
                      std::string(22, 'g'), "-", "repl", "A", "10000", "a,b,c", "", ""},
                     now);
    }
};

}  // namespace

TEST_CASE("a close gives the node a new epoch, so that what was sent under the earlier one is void") {
    member m;
    REQUIRE(m.step({.step = "promise", .ballot = "1.x"}) == done);
    CHECK(m.words()[epoch] == record_epoch);
    REQUIRE(m.step({.step = "close", .ballot = "1.x", .to = "B"}) == done);
    CHECK(m.words()[epoch] == other_epoch);
    CHECK(m.words()[change] == "B");
    SECTION("and one that is repeated under its ballot none, so that nobody is turned back twice") {
        auto earlier = m.words();
        earlier[epoch] = record_epoch;
        m.put(earlier);
        CHECK(m.step({.step = "promise", .ballot = "1.x"}) != done);
        CHECK(m.step({.step = "close", .ballot = "1.x", .to = "B"}) == done);
        CHECK(m.words()[epoch] == record_epoch);
    }
}

TEST_CASE("a node closes under the promise that it has, and under no other") {
    member m;
    SECTION("without one") {
        CHECK(m.step({.step = "close", .ballot = "1.x", .to = "B"}) == outbid);
    }
    SECTION("with a higher one") {
        REQUIRE(m.step({.step = "promise", .ballot = "2.y"}) == done);
        CHECK(m.step({.step = "promise", .ballot = "1.x"}) == outbid);
        CHECK(m.step({.step = "close", .ballot = "1.x", .to = "B"}) == outbid);
    }
    CHECK(m.words()[change] == "-");
}

TEST_CASE("a member that has just become one by a change is not closed for the next before a quarantine") {
    const std::int64_t us = script_node(time_point(10h)).us(time_point(10h));
    const auto is_young = [&](std::int64_t age_us) {
        member m("3 - - - - " + std::to_string(us - age_us) + " " + std::to_string(us - age_us) + " 2=Z");
        // It has an offset from cluster time, without which its age is not known.
        auto words = m.words();
        words[offset] = "0";
        m.put(words);
        return m.step({.step = "promise", .ballot = "1.x"}) == too_young;
    };
    CHECK(is_young(settle_us - 1'000));
    CHECK_FALSE(is_young(settle_us + 1'000));
}

TEST_CASE("a step for another number, set or epoch than the record's is not done") {
    member m;
    m.close("1.x", "B");
    const auto before = m.words();
    for (const std::string step : {"promise", "close", "become"}) {
        INFO(step);
        using asked = member::asked;
        CHECK(m.step(asked{.step = step, .ballot = "9.x", .to = "B", .from_number = "2",
                           .epoch = other_epoch}) == as_it_was);
        CHECK(m.step(asked{.step = step, .ballot = "9.x", .to = "B", .from = "Z",
                           .epoch = other_epoch}) == as_it_was);
        CHECK(m.step(asked{.step = step, .ballot = "9.x", .to = "B"}) == as_it_was);
    }
    CHECK(m.words() == before);
}

TEST_CASE("a node that becomes a member of the next set knows when, and what it was before") {
    member m;
    m.close("1.x", "B");
    REQUIRE(m.step({.step = "become", .to = "B", .epoch = other_epoch}) == done);
    const auto after = m.words();
    CHECK(after[set] == "B");
    CHECK(after[number] == "4");
    CHECK(after[change] == "-");
    CHECK(after[promised] == "-");
    CHECK(after[became] == std::to_string(m.on.us(m.now)));
    CHECK(after.back() == "3=A,2=Z");
}

TEST_CASE("a node that is closed stays so when its server starts again") {
    member m;
    m.close("1.x", "B");
    SECTION("with all that it knew") { m.greet("another", "1"); }
    SECTION("without some of its leases") {
        m.greet("another", "0");
        CHECK(m.words()[run_id] == "another");
    }
    const auto after = m.words();
    CHECK(after[change] == "B");
    CHECK(after[accepted] == "1.x");
}
