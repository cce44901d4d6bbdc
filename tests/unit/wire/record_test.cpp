// The node record and the name of the nodes' set, as a node keeps them.
// SPDX-License-Identifier: MIT
#include "wire/record.hpp"

#include "support/catch.hpp"
#include "support/record_words.hpp"
#include "testing/model.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/error.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

// The text of a node record, and how a rule is brought to one that others write, too.
namespace node_record_test {

using namespace redlock;
using namespace std::chrono_literals;
using core::record_facts;
using core::record_terms;
using core::ruled;
using testing::record_words;
using said = core::ruled::said;

namespace {

const std::string epoch(22, 'e');
const std::string next_epoch(22, 'f');
const std::string least =
    epoch + " run_id=run durable=0 since=7 created=5 quarantine=60000 ttl_max=50000 set=3:set";
const std::string whole =
    epoch + " run_id=run replid=repl durable=1 since=7 cluster_since=-8 created=5 quarantine=60000" +
    " ttl_max=50000 mark=mark init=9 offset=-1 error=2 seen=3 highest=10 !lift=11 lifts=12 set=3:set names=a,b number=4" +
    " change=4:t announced=5:u announced_at=8 promised=2.x accepted=1.y became=6 became_cluster=-6 history=3=2:s,2=1:r";

bool is_readable(const std::string& text) {
    const auto read = wire::read_record_text(text, 1);
    if (!read.record) CHECK(read.why.error == errc::foreign_data);
    return read.record.has_value();
}
record_facts read(const std::string& text) { return wire::read_record_text(text, 1).record.value(); }

}  // namespace

TEST_CASE("a record is written as it was read") {
    for (const auto& text : {least, whole}) CHECK(wire::text_of(read(text)) == text);
    const record_facts r = read(whole);
    CHECK(r.exists);
    CHECK(r.text == whole);
    CHECK(r.epoch == epoch);
    CHECK(r.run_id == "run");
    CHECK(r.replid == "repl");
    CHECK(r.is_durable);
    CHECK(r.since_us == 7);
    CHECK(r.cluster_since_us == -8);
    CHECK(r.created_us == 5);
    CHECK(r.quarantine == 60s);
    CHECK(r.ttl_max == 50s);
    CHECK(r.mark == "mark");
    CHECK(r.init_us == 9);
    CHECK(r.offset->ahead_us == -1);
    CHECK(r.offset->error_us == 2);
    CHECK(r.offset->seen_us == 3);
    CHECK(r.floor == core::fence_floor{12, 10, 11});
    const core::list_facts list{.set = "3:set",
                                .names = "a,b",
                                .number = 4,
                                .is = core::list_facts::change::closed,
                                .closed_for = "4:t",
                                .announced = "5:u",
                                .announced_at_us = 8,
                                .promised = "2.x",
                                .accepted = "1.y",
                                .became_us = 6,
                                .became_cluster_us = -6,
                                .history = {{3, "2:s"}, {2, "1:r"}}};
    CHECK(r.list == list);
    CHECK(read(least).list == core::list_facts{.set = "3:set", .names = "-"});
    CHECK(read(least + " change=joining").list.is == core::list_facts::change::joining);
}

TEST_CASE("the words of a record come in any order, and those of a later version stay") {
    record_facts r = read(epoch + " later=1,2 set=3:set ttl_max=50000 a!=x quarantine=60000" +
                          " created=5 since=7 durable=0 x=y=z run_id=run");
    CHECK(r.unknown == " later=1,2 a!=x x=y=z");
    CHECK(wire::text_of(r) == least + r.unknown);
    CHECK(read(whole + " later=" + std::string(5000, 'x')).unknown.size() > 5000);
}

TEST_CASE("a word that needs a later version is said, and the record is not read") {
    const auto refused = wire::read_record_text(least + " x=1 !later=5 y=2", 1);
    CHECK_FALSE(refused.record);
    CHECK(refused.needs_later_version);
    CHECK(refused.why.error == errc::foreign_data);
    CHECK(refused.why.detail.find("!later") != std::string::npos);
    CHECK(refused.why.detail.find("y=2") == std::string::npos);
}

TEST_CASE("what no version can have written is no record") {
    CHECK(is_readable(least));
    for (const auto& text :
         {std::string(), std::string("text"), epoch, std::string("short") + least.substr(22),
          "x" + least, least + " ", least + "  x=1", " " + least, least + " x", least + " =1",
          least + " x=", least + " since=8", least + " x=1 x=2", least + " x=\x1b", least + " x=@now+1",
          least + "\n",
          least + std::string(" x=\0", 4), least + " x=\xc3\xa4", least + " offset=1",
          least + " offset=1 error=2", least + " offset=1 error=2 seen=x",
          least + " offset=1 error=2 seen=-3", least + " number=-1", least + " highest=-1",
          least + " !lift=-1", least + " lifts=-1", least + " became=-1",
          least + " history=3", least + " history=3=", least + " history=x=2:s",
          least + " init=9007199254740992", least + " init=-9007199254740992",
          least + " mark=" + std::string(1024, 'm'), least + " x=" + std::string(20'000, 'x')}) {
        INFO(text.substr(0, 200));
        CHECK_FALSE(is_readable(text));
    }
    for (const auto* const name :
         {"run_id", "durable", "since", "created", "quarantine", "ttl_max", "set"}) {
        INFO(name);
        record_words words(least);
        words[name] = "-";
        CHECK_FALSE(is_readable(words.text()));
    }
    const auto with = [](const std::string& name, const std::string& value) {
        record_words words(least);
        words[name] = value;
        return words.text();
    };
    for (const auto* const wrong : {"-1", "x", "1x", "+1", "1.0", "9007199254740992", "0x1"}) {
        INFO(wrong);
        CHECK_FALSE(is_readable(with("since", wrong)));
        CHECK_FALSE(is_readable(with("created", wrong)));
        CHECK_FALSE(is_readable(with("quarantine", wrong)));
        CHECK_FALSE(is_readable(with("ttl_max", wrong)));
    }
    CHECK_FALSE(is_readable(with("quarantine", "0")));
    CHECK(is_readable(with("ttl_max", "0")));
    CHECK_FALSE(is_readable(with("ttl_max", "86400001")));
    CHECK_FALSE(is_readable(with("durable", "2")));
}

namespace {

/// A node, whose record other clients may replace between two commands.
struct node {
    fakes::redis_model server{7};
    fakes::client_state connection{};
    time_point now = time_point(10h);
    std::function<void()> meanwhile{};
    int commands = 0;

    explicit node(const std::string& text = {}) {
        if (!text.empty()) put(text);
    }
    void put(const std::string& text) { server.execute(connection, {"SET", "N", text}, now); }
    std::string get() { return server.execute(connection, {"GET", "N"}, now).text; }
    std::int64_t us() const { return server.wall.us(now); }

    wire::record_answer run(const core::record_rule& rule, const record_facts* known = nullptr,
                            record_terms terms = {}) {
        terms.epoch = next_epoch;
        terms.set = "3:set";
        terms.server.run_id = "run";
        wire::record_exchange e("N", terms, rule, known);
        for (bool is_more = true; is_more;) {
            std::string out;
            e.write(out, resp::script_form::whole);
            is_more = e.read(ask(out));
            if (meanwhile) meanwhile();
        }
        return e.answer();
    }

private:
    resp::reply ask(const std::string& bytes) {
        ++commands;
        resp::parser p;
        resp::reply r;
        std::string_view left = bytes;
        REQUIRE(p.feed(left, r) == resp::parser::outcome::complete);
        fakes::command c;
        for (std::size_t i = 0; i < r.size(); ++i) c.emplace_back(r[i].text());
        answer_ = to_resp2(server.execute(connection, c, now));
        left = answer_;
        resp::reply said;
        REQUIRE(parsers_.emplace_back().feed(left, said) == resp::parser::outcome::complete);
        return said;
    }
    std::string answer_;
    std::deque<resp::parser> parsers_;  // what they read lives as long as they do
};

ruled promise(const record_facts& found, const record_terms& t) {
    return core::stepped(found, t,
                         {.what = core::list_step::kind::promise, .from = {.set = "3:set"},
                          .ballot = "1.x"});
}
ruled strike(const record_facts& found, const record_terms& t) {
    return core::amended(found, t, found, {.ahead_us = 7, .error_us = 2, .cluster_us = 99},
                         {.what = core::amendment::kind::strike});
}

}  // namespace

TEST_CASE("a record is read in one command and replaced in another") {
    node n(least);
    const auto answer = n.run(promise);
    CHECK(answer.what == said::done);
    CHECK(answer.record->made);
    CHECK(answer.record->list.promised == "1.x");
    CHECK(n.get() == least + " promised=1.x");
    CHECK(n.commands == 2);
    SECTION("in one where it is known") {
        const auto again = n.run(
            [](const record_facts& found, const record_terms& t) {
                return core::stepped(found, t,
                                     {.what = core::list_step::kind::promise,
                                      .from = {.set = "3:set"}, .ballot = "2.x"});
            },
            &*answer.record);
        CHECK(again.what == said::done);
        CHECK(n.commands == 3);
    }
    SECTION("and read where the rule changes nothing") {
        const auto again = n.run(promise, &*answer.record);
        CHECK(again.what == said::outbid);
        CHECK_FALSE(again.record->made);
        CHECK(n.commands == 3);
    }
}

TEST_CASE("instants are those of the node when it writes") {
    node n(least);
    n.meanwhile = [&] { n.now += 1s; };
    const auto answer = n.run(strike);
    CHECK(answer.record->since_us == n.us() - 1'000'000);
    CHECK(answer.record->offset->seen_us == answer.record->since_us);
    CHECK(answer.record->cluster_since_us == answer.record->since_us - 7);
    CHECK(answer.record->epoch == next_epoch);
    CHECK(n.get() == answer.record->text);
}

TEST_CASE("a rule is applied again to what another client wrote first") {
    node n(least);
    SECTION("and done where it still can be") {
        n.meanwhile = [&] {
            if (n.commands == 1) n.put(least + " later=1");
        };
        CHECK(n.run(promise).what == said::done);
        CHECK(n.get() == least + " promised=1.x later=1");
        CHECK(n.commands == 3);
    }
    SECTION("or not") {
        n.meanwhile = [&] {
            if (n.commands == 1) n.put(least + " promised=5.y");
        };
        CHECK(n.run(promise).what == said::outbid);
        CHECK(n.get() == least + " promised=5.y");
    }
    SECTION("by what stands there, not by what was known") {
        const record_facts known = read(least);
        n.put(least + " number=1");
        CHECK(n.run(promise, &known).what == said::as_it_was);
        CHECK(n.get() == least + " number=1");
        CHECK(n.commands == 1);
    }
    SECTION("so often, and no oftener") {
        n.meanwhile = [&] { n.put(least + " x=" + std::to_string(n.commands)); };
        const auto answer = n.run(promise);
        CHECK(answer.what == said::as_it_was);
        CHECK_FALSE(answer.record->made);
        CHECK(answer.why.error == errc::server_error);
        CHECK(n.commands == 1 + wire::record_exchange::most_tries);
    }
}

TEST_CASE("a client that stood still does not take back a record that has come of age") {
    node n;
    const auto withdraw = [](const record_facts& found, const record_terms& t) {
        return core::withdrawn(found, t);
    };
    const record_terms terms{.mark = "mark"};
    record_words words(least);
    words["mark"] = "mark";
    words["since"] = std::to_string(n.us());
    n.put(words.text());
    SECTION("in time") {
        CHECK(n.run(withdraw, nullptr, terms).what == said::done);
        CHECK(n.get().empty());
    }
    SECTION("late") {
        n.meanwhile = [&] { n.now += 31s; };
        CHECK(n.run(withdraw, nullptr, terms).what == said::as_it_was);
        CHECK(n.get() == words.text());
    }
    SECTION("or knew it from before") {
        const record_facts known = wire::read_record_text(words.text(), n.us()).record.value();
        n.now += 31s;
        CHECK(n.run(withdraw, &known, terms).what == said::as_it_was);
        CHECK(n.get() == words.text());
    }
}

TEST_CASE("words of a later version outlive every rule, and cost nothing") {
    const std::string later = " height=1700000000000000 hoist=5 mail=a@now+1";
    const std::vector<core::record_rule> rules{
        core::greeted, core::opened, promise, strike,
        [](const record_facts& found, const record_terms& t) {
            return core::declared(found, t, std::nullopt, false);
        },
        [](const record_facts& found, const record_terms& t) {
            return core::stepped(found, t,
                                 {.what = core::list_step::kind::become, .from = {.set = "3:set"},
                                  .to = {.set = "4:t", .number = 1}});
        }};
    for (const auto& rule : rules) {
        record_words words(least);
        words["mark"] = "mark";
        node n(words.text() + later);
        record_terms terms{.mark = "mark", .quarantine = 60s, .ttl_max = 50s};
        terms.server.replid = "another";
        const auto answer = n.run(rule, nullptr, terms);
        REQUIRE(answer.record);
        CHECK(n.get() != words.text() + later);
        CHECK(n.get().ends_with(later));
    }
}

TEST_CASE("what is no record is never replaced") {
    for (const auto* const text : {"text", ""}) {
        node n;
        n.put(text);
        record_terms terms;
        terms.makes = true;
        CHECK(n.run(core::greeted, nullptr, terms).why.error == errc::foreign_data);
        const record_facts none;
        CHECK(n.run(core::greeted, &none, terms).why.error == errc::foreign_data);
        CHECK(n.get() == text);
    }
    node n;
    n.server.execute(n.connection, {"ZADD", "N", "1", "x"}, n.now);
    CHECK(n.run(promise).why.error == errc::foreign_data);
}

}  // namespace node_record_test

// Tests how a record names the nodes of a set for people; knows no record.
namespace node_set_test {

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

}  // namespace node_set_test
