// Tests what a commit makes of the connections that nodes list behind their close, word by word.
// SPDX-License-Identifier: MIT
#include "component/support/records.hpp"
#include "component/support/world.hpp"
#include "support/catch.hpp"
#include "wire/login.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::fakes;
using namespace std::chrono_literals;

namespace {

using more_words = std::vector<std::pair<std::string, std::string>>;

const std::string failure = "-ERR not now\r\n";
const std::string forbidden =
    "-NOPERM this user has no permissions to run the 'client|list' command\r\n";
const std::string nobody = bulk("");

client_options old_list() { return fenced_options_for(3, 1s); }

client_options joint_list() {
    client_options out = fenced_options_for(4, 1s);
    out.nodes[2].change = list_change::leaving;
    out.nodes[3].change = list_change::joining;
    return out;
}

/// A program with the joint list, which nodes of the old one have met, and where all nodes vote.
struct changing {
    changing() {
        connected_world before(old_list());
        before.run_for(5s);
        at = newcomer(before, joint_list());
        at->run_for(10s);
        for (std::size_t i = 0; i < 4; ++i) REQUIRE(has_vote(*at, i));
        set = record_on(*at, 0)[word::set];
    }
    /// Of the nodes of the old list: what each answers where it lists connections for the n-th time.
    /// The first is before anything is closed, the second behind the close, the third after a while.
    void list(std::array<std::optional<std::string>, 3> answers) {
        for (std::size_t i = 0; i < 3; ++i) {
            at->nodes[i].instead = [this, answers, n = std::size_t{0}](const command& c) mutable {
                std::optional<std::string> said;
                if (c.size() < 2 || c[0] != "CLIENT") return said;
                if (c[1] == "KILL" && !kill_says.empty()) said = kill_says;
                if (c[1] == "LIST" && n < answers.size()) said = answers[n++];
                return said;
            };
        }
    }
    /// One connection of a program that has the old list.
    static std::string listed(bool is_fenced, client_options with = old_list()) {
        with.fencing = is_fenced;
        return bulk("id=99 addr=10.0.0.9:4711 name=cron" + wire::mark_of_connection(with) +
                    " flags=N db=0\n");
    }
    const ending& commit(const commit_options& how = {}) {
        over = at->commit(how);
        REQUIRE(at->run_until_over(*over));
        INFO(over->change.detail);
        return *over;
    }
    std::size_t moved() {
        std::size_t out = 0;
        for (std::size_t i = 0; i < 3; ++i) out += record_on(*at, i)[word::set] != set ? 1U : 0U;
        return out;
    }
    bool says(const std::string& what) const {
        return over->change.detail.find(what) != std::string::npos;
    }

    /// As by a commit that died when the first node was closed.
    void begin_to_commit() {
        const auto before = {record_on(*at, 1), record_on(*at, 2)};
        list({nobody, failure, nobody});
        CHECK(commit().outcome() == errc::no_quorum);
        std::size_t node = 0;
        for (const auto& words : before) put_record(*at, ++node, words);
    }

    /// The node is of a set that no program here has, as after another team's redlock init.
    void becomes_other(std::size_t node, const more_words& more = {},
                       const client_options& list = joint_list()) {
        put_other(node, more);
        at = newcomer(*at, list);
        at->run_for(1s);
    }
    void put_other(std::size_t node, const more_words& more) {
        auto words = record_on(*at, 0);
        words[word::set] = "5:other";
        for (const auto& [name, value] : more) words[name] = value;
        put_record(*at, node, words);
    }

    std::unique_ptr<world> at;
    std::string set;
    std::string kill_says;
    ending_ptr over;
};

}  // namespace

TEST_CASE("a commit that meets nobody is complete") {
    changing w;
    CHECK_FALSE(w.commit().outcome());
    CHECK(w.over->change.is_complete);
    CHECK(w.moved() == 3);
}

TEST_CASE("a program that a commit meets behind the close is ended, and named") {
    changing w;
    w.list({nobody, changing::listed(true), std::nullopt});
    CHECK_FALSE(w.commit().outcome());
    CHECK_FALSE(w.over->change.is_complete);
    CHECK(w.says("get no lock any more"));
    REQUIRE_FALSE(w.over->change.old_programs.empty());
    CHECK(w.over->change.old_programs[0].find("cron at 10.0.0.9:4711") == 0);
    CHECK(w.at->nodes[0].count("CLIENT") >= 4);
    CHECK(w.moved() == 3);
}

TEST_CASE("a commit goes on with no node whose connections are not listed twice behind the close") {
    changing w;
    const bool is_first = GENERATE(false, true);
    const bool is_despite = GENERATE(false, true);
    const std::string none = is_despite ? forbidden : failure;
    w.list({nobody, is_first ? none : nobody, is_first ? nobody : none});
    CHECK(w.commit({.despite_old_programs = is_despite}).outcome() == errc::no_quorum);
    CHECK(w.says("did not say, after it was closed"));
    CHECK(w.moved() == 0);
    // Repeated, it ends what it began.
    CHECK_FALSE(w.commit().outcome());
    CHECK(w.moved() == 3);
}

TEST_CASE("a commit closes nothing where it may not see the connections to a majority of the nodes") {
    changing w;
    w.list({forbidden, forbidden, forbidden});
    const commit_options despite{.despite_old_programs = true};
    SECTION("also where programs with another list may be connected") {
        CHECK(w.commit(despite).outcome() == errc::other_set);
        CHECK(w.says("give this user +client|list"));
        for (std::size_t i = 0; i < 3; ++i) CHECK(record_on(*w.at, i)["accepted"] == "-");
        // The remedy that it names helps.
        w.list({nobody, nobody, nobody});
        CHECK_FALSE(w.commit().outcome());
        CHECK(w.over->change.is_complete);
    }
    SECTION("one that is down was not seen, either") {
        for (const std::size_t i : {1, 2}) w.at->nodes[i].instead = nullptr;
        w.at->set_mode(1, mode::refuses);
        CHECK(w.commit(despite).outcome() == errc::other_set);
        for (std::size_t i = 0; i < 3; ++i) CHECK(record_on(*w.at, i)["accepted"] == "-");
        w.at->set_mode(1, mode::up);
        w.at->run_for(5s);
        w.list({nobody, nobody, nobody});
        CHECK_FALSE(w.commit().outcome());
    }
    SECTION("a minority is said to be, and is no reason to refuse") {
        for (const std::size_t i : {1, 2}) w.at->nodes[i].instead = nullptr;
        CHECK_FALSE(w.commit(despite).outcome());
        CHECK(w.says("did not say, after it was closed"));
        CHECK_FALSE(w.over->change.is_complete);
    }
    CHECK(w.moved() == 3);
}

TEST_CASE("a program without fences that a commit ended once behind the close may be back at any time") {
    changing w;
    w.list({nobody, changing::listed(false), nobody});
    CHECK(w.commit().outcome() == errc::no_quorum);
    CHECK(w.says("looks at no record"));
    CHECK(w.moved() == 0);
    CHECK_FALSE(w.commit().outcome());
    CHECK(w.moved() == 3);
}

TEST_CASE("a commit goes on with no node that does not end the connections of other programs") {
    changing w;
    const std::string there = changing::listed(true);
    w.kill_says = failure;
    w.list({there, there, there});
    CHECK(w.commit({.despite_old_programs = true}).outcome() == errc::no_quorum);
    CHECK(w.says("does not end the connections"));
    CHECK_FALSE(w.says("get no lock any more"));
    CHECK(w.moved() == 0);
    // The remedy that it names helps.
    CHECK_FALSE(w.commit().outcome());
    CHECK(w.moved() == 3);
}

TEST_CASE("a commit closes nothing where it may not end the connections of old programs") {
    changing w;
    const std::string there = changing::listed(true);
    const commit_options despite{.despite_old_programs = true};
    w.kill_says = "-NOPERM this user has no permissions to run the 'client|kill' command\r\n";
    w.list({there, there, there});
    CHECK(w.commit(despite).outcome() == errc::other_set);
    CHECK(w.says("n1 does not let their connections be ended"));
    CHECK(w.says("give this user +client|kill"));
    for (std::size_t i = 0; i < 3; ++i) CHECK(record_on(*w.at, i)["accepted"] == "-");
    // The remedy that it names helps.
    w.kill_says.clear();
    w.list({there, nobody, nobody});
    CHECK_FALSE(w.commit(despite).outcome());
    CHECK(w.moved() == 3);
}

TEST_CASE("a change whose new list may stand is not given up") {
    changing w;
    w.list({nobody, failure, nobody});
    CHECK(w.commit().outcome() == errc::no_quorum);
    CHECK(record_on(*w.at, 0)["accepted"] != "-");
    w.list({std::nullopt, std::nullopt, std::nullopt});
    CHECK(w.commit({.gives_up = true}).outcome() == errc::other_set);
    CHECK_FALSE(w.over->change.is_given_up);
    CHECK(w.says("n0, n1, n2, and the others are no majority"));
    CHECK(w.moved() == 0);
    // The remedy that it names helps.
    CHECK_FALSE(w.commit().outcome());
    CHECK(w.moved() == 3);
    CHECK(w.commit({.gives_up = true}).outcome() == errc::other_set);
    CHECK(w.says("the new list stands"));
}

TEST_CASE("a change is given up where one node is closed for it") {
    changing w;
    w.begin_to_commit();
    CHECK_FALSE(w.commit({.gives_up = true}).outcome());
    CHECK(w.over->change.is_given_up);
    CHECK(w.over->change.is_complete);
    CHECK(w.moved() == 0);
}

TEST_CASE("a change is given up whatever the node is of that was to join") {
    changing w;
    w.becomes_other(3);
    CHECK(w.commit().outcome() == errc::other_set);
    CHECK_FALSE(w.commit({.gives_up = true}).outcome());
    CHECK(w.over->change.is_given_up);
    CHECK(w.over->change.is_complete);
    CHECK(w.over->change.votes[3].detail ==
          "its record is of the set 5:other, and it has no part in this change");
}

TEST_CASE("a commit closes nothing beside a node of both lists that is of another set") {
    changing w;
    w.becomes_other(0);
    CHECK(w.commit().outcome() == errc::no_quorum);
    CHECK(w.says("nothing was changed"));
    CHECK(w.over->change.votes[1].detail.find("another node of the list belongs to another set") == 0);
    for (const std::size_t i : {1, 2}) CHECK(record_on(*w.at, i)["accepted"] == "-");
    // A give-up does what it can, and names it.
    CHECK_FALSE(w.commit({.gives_up = true}).outcome());
    CHECK_FALSE(w.over->change.is_complete);
    CHECK(w.says("n0 is to be of the old list, and its record is of the set 5:other"));
}

TEST_CASE("a node that leaves, and is of another set, stops no change") {
    changing w;
    w.becomes_other(2);
    CHECK_FALSE(w.commit().outcome());
    CHECK(w.over->change.is_complete);
    CHECK(w.over->change.detail.empty());
    CHECK(w.over->change.votes[2].detail ==
          "its record is of the set 5:other, and it has no part in this change");
    CHECK(w.moved() == 3);
}

TEST_CASE("on a node of another set only programs with the old list stop a commit") {
    changing w;
    w.becomes_other(2);
    client_options to_old = fenced_options_for(4, 1s);
    to_old.nodes[3].change = list_change::leaving;
    const std::size_t program = GENERATE(0, 1, 2, 3);
    const std::array lists{fenced_options_for(5, 1s), old_list(), to_old, joint_list()};
    const std::string there = changing::listed(false, lists[program]);
    w.list({there, there, there});
    for (const std::size_t i : {0, 1}) w.at->nodes[i].instead = nullptr;
    const bool stops = program == 1 || program == 2;
    CHECK(w.commit().outcome() == (stops ? error_code(errc::other_set) : error_code()));
    CHECK(w.over->change.is_complete != stops);
    CHECK(w.over->change.old_programs.empty() != stops);
}

TEST_CASE("a node of another set that leaves hands the new list none of its numbers") {
    changing w;
    const std::string before = record_on(*w.at, 0)[word::quarantine];
    w.becomes_other(2, {{"ttl_max", "86400000"}, {"quarantine", "86400000"}});
    CHECK_FALSE(w.commit().outcome());
    CHECK(record_on(*w.at, 0)[word::quarantine] == before);
}

TEST_CASE("a node that lost its record beside a node of another set is named with the remedy") {
    changing w;
    w.at->nodes[1].remove("redlock:node");
    w.becomes_other(2);
    CHECK(w.commit().outcome() == errc::no_quorum);
    CHECK(w.over->change.votes[1].detail.find("say redlock commit --without n2") != std::string::npos);
    // The remedy that it names helps.
    CHECK_FALSE(w.commit({.gone = 0b100}).outcome());
    CHECK(w.over->change.is_complete);
}

TEST_CASE("beside a node that followed the old list to another one no record is made") {
    changing w;
    w.at->nodes[1].remove("redlock:node");
    w.becomes_other(2, {{"number", "1"}, {"history", "0=" + w.set}});
    CHECK(w.commit({.gone = 0b100}).outcome() == errc::other_set);
    CHECK(w.says("another change of this list was decided: to the set 5:other"));
    CHECK(record_on(*w.at, 1).empty());
}

TEST_CASE("a commit waits for no record beside a node that may have followed the old list") {
    changing w;
    client_options to_one = fenced_options_for(4, 1s);
    for (const std::size_t i : {0, 1, 2}) to_one.nodes[i].change = list_change::leaving;
    to_one.nodes[3].change = list_change::joining;
    w.at->nodes[3].remove("redlock:node");
    const std::uint64_t number = GENERATE(2, 1);  // declared new, once followed and once not
    w.becomes_other(2, {{"number", std::to_string(number)}}, to_one);
    CHECK(w.commit().outcome() == (number == 2 ? error_code(errc::no_quorum) : error_code()));
    CHECK((w.over->change.votes[3].error == errc::other_set) == (number == 2));
}

TEST_CASE("a new node gets its record beside a node of another set that leaves") {
    changing w;
    w.at->nodes[3].remove("redlock:node");
    w.becomes_other(2);
    REQUIRE(record_on(*w.at, 3).empty());
    CHECK_FALSE(w.commit().outcome());
    CHECK(w.over->change.is_complete);
    CHECK(record_on(*w.at, 3)[word::set] == record_on(*w.at, 0)[word::set]);
}

TEST_CASE("beside a node of another set that leaves the others count only where they would vote") {
    changing w;
    w.becomes_other(2);
    w.at->nodes[0].wall.set_offset(20s);
    w.at->nodes[1].wall.set_offset(-20s);
    w.at = newcomer(*w.at, joint_list());
    w.at->run_for(1s);
    CHECK(w.commit().outcome() == errc::no_quorum);
    CHECK(w.over->change.votes[0].error == errc::clock_skew);
    CHECK(w.says("nothing was changed"));
    for (const std::size_t i : {0, 1}) CHECK(record_on(*w.at, i)["accepted"] == "-");
}

TEST_CASE("a commit says why, where most nodes of the old list are of another set") {
    changing w;
    w.becomes_other(1);
    w.becomes_other(2);
    CHECK(w.commit().outcome() == errc::no_quorum);
    for (const std::size_t i : {1, 2}) {
        CHECK(w.over->change.votes[i].detail.find("it belongs to a set of 5 nodes (other)") == 0);
    }
    CHECK(record_on(*w.at, 0)["accepted"] == "-");
}

TEST_CASE("a commit closes no more while the old list can go on and the new one can't") {
    changing w;
    w.begin_to_commit();
    w.at = newcomer(*w.at, joint_list());
    for (const std::size_t i : {1, 3}) w.at->set_mode(i, mode::refuses);
    w.at->run_for(1s);
    CHECK(w.commit().outcome() == errc::no_quorum);
    CHECK(w.says("nothing was changed"));
    CHECK(record_on(*w.at, 2)["accepted"] == "-");
    // When they are back it goes on.
    for (const std::size_t i : {1, 3}) w.at->set_mode(i, mode::up);
    w.at->run_for(5s);
    CHECK_FALSE(w.commit().outcome());
}

TEST_CASE("a commit that was begun goes on where the old list can't") {
    changing w;
    w.begin_to_commit();
    w.at->nodes[0].wall.set_offset(20s);
    w.at->nodes[1].wall.set_offset(-20s);
    w.becomes_other(2);
    REQUIRE_FALSE(has_vote(*w.at, 1));
    CHECK_FALSE(w.commit().outcome());
    CHECK(w.moved() == 3);
}

TEST_CASE("a joining node of a later set is named when it is back after the commit") {
    changing w;
    w.at->set_mode(3, mode::refuses);
    CHECK_FALSE(w.commit().outcome());
    w.put_other(3, {{"number", "7"}, {"history", "-"}});
    w.at->set_mode(3, mode::up);
    w.at->run_for(5s);
    CHECK_FALSE(w.commit().outcome());
    CHECK_FALSE(w.over->change.is_complete);
    CHECK(w.says("n3 is to be of the new list, and its record is of the set 5:other: if no "
                 "program uses it there, delete its key redlock:node"));
    w.at->nodes[3].remove("redlock:node");
    w.at->run_for(5s);
    CHECK_FALSE(w.commit().outcome());
    CHECK(w.over->change.is_complete);
    CHECK(record_on(*w.at, 3)[word::set] == record_on(*w.at, 0)[word::set]);
}

TEST_CASE("a list of one is not changed to another one while its node is of another set") {
    changing w;
    client_options to_one = old_list();
    for (const std::size_t i : {1, 2}) to_one.nodes[i].change = list_change::leaving;
    w.becomes_other(0, {}, to_one);
    CHECK(w.commit().outcome() == errc::no_quorum);
    for (const std::size_t i : {1, 2}) CHECK(record_on(*w.at, i)["accepted"] == "-");
}

TEST_CASE("a commit waits for a program whose connection it may not end") {
    changing w;
    const std::string there = changing::listed(true);
    w.kill_says = forbidden;
    w.list({there, nobody, nobody});
    CHECK_FALSE(w.commit({.wait = 5s, .despite_old_programs = true}).outcome());
    CHECK(w.moved() == 3);
}

TEST_CASE("a program whose node ended is in the way of no commit") {
    changing w;
    w.list({changing::listed(true), std::nullopt, std::nullopt});
    for (const std::size_t i : {1, 2}) w.at->nodes[i].instead = nullptr;
    const auto over = w.at->commit({.wait = 10s});
    w.at->run_for(100ms);
    w.at->set_mode(0, mode::refuses);
    REQUIRE(w.at->run_until_over(*over));
    INFO(over->change.detail);
    CHECK_FALSE(over->outcome());
}

TEST_CASE("a commit waits for no node that hangs for good") {
    changing w;
    w.at->set_mode(2, mode::mute);  // it is to leave
    CHECK(w.commit().outcome() == errc::other_set);
    CHECK(w.says("n2 does not say which programs are connected"));
    CHECK(w.says("bring it back; or, if it is gone for good, say --without"));
    // The remedy that it names helps.
    SECTION("as the operator says") {
        CHECK_FALSE(w.commit({.gone = 0b100}).outcome());
        CHECK(w.over->change.is_complete);
    }
    SECTION("as one says that knows the programs") {
        CHECK_FALSE(w.commit({.despite_old_programs = true}).outcome());
        CHECK_FALSE(w.over->change.is_complete);
    }
    CHECK(w.moved() == 2);
}

TEST_CASE("the wait for votes grows with a quarantine that grows meanwhile") {
    changing w;
    auto words = record_on(*w.at, 0);  // a program with a longer ttl_max was there
    words[word::ttl_max] = words[word::quarantine] = "20000";
    put_record(*w.at, 0, words);
    for (const std::size_t i : {1U, 3U}) w.at->crash(i, redis_model::data::lost);
    const auto next = latecomer(*w.at, joint_list());
    for (const std::size_t i : {0U, 1U, 3U}) next->set_mode(i, mode::mute);
    next->start();
    const auto began = next->now;
    const auto over = next->commit({.wait = 5s});
    next->run_for(1s);
    for (const std::size_t i : {0U, 1U, 3U}) next->set_mode(i, mode::up);
    REQUIRE(next->run_until_over(*over));
    INFO(over->change.detail);
    CHECK_FALSE(over->outcome());
    CHECK(next->now - began > 10s);
}
