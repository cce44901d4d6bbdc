// The list of nodes changes while locks are held, on real servers: by clients, and by the command.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "support/skipped.hpp"
#include "support/waiting.hpp"
#include "tool_call.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/event.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

using marks = std::map<std::size_t, list_change>;
constexpr auto stays = list_change::none;
constexpr auto joins = list_change::joining;
constexpr auto leaves = list_change::leaving;

/// Servers of which programs name some, with a quarantine that a test can wait for.
struct changing {
    explicit changing(std::size_t size, const server_options& each = {}) : nodes(size, each) {}

    client_options list(const marks& of, const std::string& name = "test") const {
        client_options o = nodes.options();
        o.cluster.clear();
        o.client_name = name;
        o.ttl_max = 2s;
        std::vector<node_options> named;
        for (const auto& [i, change] : of) {
            named.push_back(o.nodes[i]);
            named.back().change = change;
        }
        o.nodes = named;
        return o;
    }
    std::string file(const marks& of) {
        const auto path = folder / ("list" + std::to_string(++files) + ".json");
        std::ofstream out(path);
        out << R"({"ttl_max_ms": )" << ttl_max_ms
            << R"(, "node_timeout_ms": 3000, "connect_timeout_ms": 6000, "nodes": [)";
        const char* comma = "";
        for (const auto& [i, change] : of) {
            const node_options node = nodes.options().nodes[i];
            out << comma << R"({"name": "n)" << i << R"(", "host": ")" << node.host
                << R"(", "port": )" << node.port
                << (change == joins ? R"(, "change": "joining"})" : change == leaves ? R"(, "change": "leaving"})" : "}");
            comma = ", ";
        }
        out << "]}";
        return path;
    }
    tool_outcome tool(std::vector<std::string> words, const std::string& config) {
        words.insert(words.begin() + 1, {"--config", config});
        return outcome_of(words);
    }

    cluster nodes;
    scratch folder;
    int files = 0;
    int ttl_max_ms = 2000;  // of the files
};

/// A program that takes and gives back one lock after the other.
class busy {
public:
    explicit busy(client_options options)
        : client_(told_to(*this, std::move(options))), thread_([this](const std::stop_token& stop) {
              while (!stop.stop_requested()) {
                  const auto began = redlock::clock::now();
                  auto got = client_.acquire("busy", {.ttl = 1s});
                  if (got) {
                      ++granted_;
                      (void)client_.release(std::move(*got));
                      continue;
                  }
                  ++refused_;
                  const std::scoped_lock lock(mutex_);
                  why_ += got.error().message() + "\n" + events_;
                  longest_ = std::max(longest_, redlock::clock::now() - began);
              }
          }) {}
    void stop() { thread_.request_stop(); thread_.join(); }
    std::size_t granted() const { return granted_; }
    std::size_t refused() const { return refused_; }
    std::string why() { const std::scoped_lock lock(mutex_); return why_; }

private:
    static client_options told_to(busy& to, client_options of) {
        of.on_event = [&to](const event& e) {
            if (e.kind == event_kind::granted || e.kind == event_kind::released) return;
            const std::scoped_lock lock(to.mutex_);
            to.events_ += "    " + format(e) + "\n";
        };
        return of;
    }

    std::atomic<std::size_t> granted_{0};
    std::atomic<std::size_t> refused_{0};
    std::mutex mutex_;
    std::string why_;     // with what happened until then
    std::string events_;
    blocking_client client_;
    redlock::clock::duration longest_{};
    std::jthread thread_;
};

template <class Probe>
bool comes_true(Probe probe, std::chrono::milliseconds within = 20s) {
    for (const auto until = redlock::clock::now() + within; redlock::clock::now() < until;) {
        if (probe()) return true;
        std::this_thread::sleep_for(20ms);
    }
    return false;
}

void change_under_load(changing& at, const marks& before, const marks& joint, const marks& after) {
    blocking_client old(at.list(before, "old"));
    REQUIRE(comes_true([&] { return old.acquire("r", {.ttl = 1s}).has_value(); }));
    auto old_lease = old.acquire("held before", {.ttl = 2s});
    REQUIRE(old_lease.has_value());

    blocking_client holding(at.list(joint, "holding"));
    // The new nodes are in quarantine; where those that stay are no quorum of the new list it waits.
    std::optional<lease> held;
    REQUIRE(comes_true([&] {
        auto got = holding.acquire("held", {.ttl = 2s});
        if (got) held = std::move(*got);
        return held.has_value();
    }));
    blocking_client operating(at.list(joint, "operating"));
    const commit_report early = operating.commit();
    CHECK(early.error == errc::other_set);
    REQUIRE_FALSE(early.old_programs.empty());
    CHECK(has_text(early.old_programs.front(), "old"));
    (void)old.release(std::move(*old_lease));
    (void)old.close();

    busy working(at.list(joint, "working"));
    REQUIRE(comes_true([&] { return working.granted() > 20; }));
    const commit_report done = operating.commit({.wait = 10s});
    INFO(done.detail << " " << done.error.message());
    CHECK_FALSE(done.error);
    CHECK(std::all_of(done.votes.begin(), done.votes.end(),
                      [](const node_vote& v) { return v.answer == vote::granted; }));
    for (const list_standing& n : done.nodes) CHECK(n.state == list_state::changed);
    const auto at_commit = working.granted();
    CHECK(comes_true([&] { return working.granted() > at_commit + 20; }));
    CHECK(held->remaining() > 0ms);

    // A program with the new list alone waits; one with the old list is overlooked for good.
    blocking_client fresh(at.list(after, "fresh"));
    auto early_lease = fresh.acquire("r", {.ttl = 1s});
    REQUIRE(early_lease.has_error());
    CHECK(has_text(early_lease.error().message(), "quarantine"));
    blocking_client overlooked(at.list(before, "overlooked"));
    const auto none = overlooked.acquire("r", {.ttl = 1s});
    REQUIRE(none.has_error());
    CHECK(none.error().votes.front().error == errc::other_set);
    REQUIRE(comes_true([&] { return fresh.acquire("r", {.ttl = 1s}).has_value(); }));
    CHECK(held->remaining() > 0ms);
    CHECK(bool(*held));
    working.stop();
    INFO(working.why());
    CHECK(working.refused() == 0);
    // A holder by the joint list keeps the new list's programs out.
    CHECK(fresh.acquire("held", {.ttl = 1s}).has_error());
    CHECK(holding.release(std::move(*held)).has_value());
    // One of three nodes may still be in quarantine, and another not have read the release.
    CHECK(comes_true([&] { return fresh.acquire("held", {.ttl = 1s}).has_value(); }));
}

}  // namespace

TEST_CASE("one of three nodes is replaced while a lock is held", "[list_change]") {
    changing at(4);
    change_under_load(at, {{0, stays}, {1, stays}, {2, stays}},
                      {{0, stays}, {1, stays}, {2, leaves}, {3, joins}},
                      {{0, stays}, {1, stays}, {3, stays}});
}

TEST_CASE("three nodes become five while a lock is held", "[list_change]") {
    changing at(5);
    change_under_load(at, {{0, stays}, {1, stays}, {2, stays}},
                      {{0, stays}, {1, stays}, {2, stays}, {3, joins}, {4, joins}},
                      {{0, stays}, {1, stays}, {2, stays}, {3, stays}, {4, stays}});
}

TEST_CASE("a node that was away during the commit follows programs with the new list",
          "[list_change]") {
    changing at(4, durable);
    const marks joint{{0, stays}, {1, stays}, {2, leaves}, {3, joins}};
    {
        blocking_client old(at.list({{0, stays}, {1, stays}, {2, stays}}));
        REQUIRE(comes_true([&] { return old.acquire("r", {.ttl = 1s}).has_value(); }));
    }
    {
        blocking_client operating(at.list(joint, "operating"));
        REQUIRE(comes_true([&] { return operating.acquire("r", {.ttl = 1s}).has_value(); }));
        REQUIRE(comes_true([&] { return at.nodes.ask(3).exists("redlock:node"); }));
        at.nodes.kill(1);
        const commit_report done = operating.commit();
        INFO(done.detail);
        CHECK_FALSE(done.error);
        CHECK(done.votes[1].answer != vote::granted);
        CHECK(has_text(done.detail, "not all nodes of the old list"));
    }
    at.nodes.restart(1);
    blocking_client fresh(at.list({{0, stays}, {1, stays}, {3, stays}}));
    // Without node 0 a quorum needs the one that was away.
    REQUIRE(comes_true([&] { return fresh.acquire("r", {.ttl = 1s}).has_value(); }));
    CHECK(comes_true([&] {
        const record_words record(at.nodes.ask(1).get("redlock:node").value_or(""));
        return has_text(record["history"], "=3:");
    }));
    at.nodes.kill(0);
    CHECK(comes_true([&] { return fresh.acquire("r2", {.ttl = 1s}).has_value(); }));
}

TEST_CASE("the command ends a change, names the programs in the way, and may be repeated", "[list_change][tool]") {
    changing at(4);
    const std::string old = at.file({{0, stays}, {1, stays}, {2, stays}});
    const std::string joint = at.file({{0, stays}, {1, stays}, {2, leaves}, {3, joins}});
    const std::string after = at.file({{0, stays}, {1, stays}, {3, stays}});
    CHECK(at.tool({"init", "--yes"}, old).status == 0);
    CHECK(at.tool({"init", "--yes"}, joint).status == 125);
    const auto plain = at.tool({"commit", "--yes"}, old);
    CHECK(plain.status == 125);
    CHECK(has_text(plain.err, "joining or leaving"));
    CHECK(at.tool({"commit"}, joint).status == 125);
    {
        tool_process holding({"run", "--config", old, "--ttl", "2s", "r", "--", "sleep", "30"});
        REQUIRE(comes_true([&] { return at.nodes.holding("r") == 3; }));
        const auto refused = at.tool({"commit", "--yes"}, joint);
        CHECK(refused.status == 120);
        CHECK(has_text(refused.err, "with another list are connected"));
        holding.send(SIGTERM);
        holding.wait();
    }
    CHECK(comes_true([&] {
        CHECK(at.tool({"run", "r", "--", "true"}, joint).status == 0);
        return at.nodes.ask(3).exists("redlock:node");
    }));
    const auto looked = at.tool({"doctor", "--json"}, joint);
    CHECK(has_text(looked.out, R"("state":"joining")"));
    CHECK(has_text(looked.out, "run redlock commit"));
    const auto done = at.tool({"commit", "--yes", "--json"}, joint);
    INFO(done.err << done.out);
    CHECK(done.status == 0);
    CHECK(has_text(done.out, R"("committed":true)"));
    CHECK(at.tool({"commit", "--yes"}, joint).status == 0);
    const auto back = at.tool({"commit", "--yes", "--give-up"}, joint);
    CHECK(back.status == 120);
    CHECK(has_text(back.err, "not given up: the new list stands: to go back, change the list once more"));
    CHECK(at.tool({"run", "r", "--", "true"}, old).status == 121);
    CHECK(at.tool({"run", "--wait", "10s", "r", "--", "true"}, after).status == 0);
    CHECK(at.tool({"inspect", "--json", "r"}, joint).out.find(R"("quorum_after":2)") != std::string::npos);
    // Nothing is left to be done, but that the list is still a joint one.
    CHECK(at.tool({"doctor"}, after).status == 1);  // these nodes forget at a restart
}

// Of five nodes that its list names three have the lease: more than half, and of the new list one.
TEST_CASE("a joint program takes over no lease that the old list alone holds", "[list_change]") {
    changing all(5);
    blocking_client old(all.list({{0, stays}, {1, stays}, {2, stays}}));
    auto lease = old.acquire("r", {.ttl = 2s});
    REQUIRE(lease.has_value());
    blocking_client joint(all.list({{0, leaves}, {1, leaves}, {2, stays}, {3, joins}, {4, joins}}));
    REQUIRE(joint.acquire("other", {.ttl = 1s, .wait = 20s}).has_value());  // the new nodes vote
    const std::string token = lease->token();
    const auto taken = joint.adopt(token);
    REQUIRE_FALSE(taken.has_value());
    CHECK(taken.error() == errc::no_quorum);
    // It was not given back either: the next renewals find it.
    std::this_thread::sleep_for(2s);
    CHECK(static_cast<bool>(*lease));
    REQUIRE(old.release(std::move(*lease)).has_value());
    const auto gone = joint.adopt(token);
    REQUIRE_FALSE(gone.has_value());
    CHECK(gone.error() == errc::not_held);
}

TEST_CASE("a change is given up, and another one begun", "[list_change][tool]") {
    changing at(5);
    const std::string old = at.file({{0, stays}, {1, stays}, {2, stays}});
    const std::string first = at.file({{0, stays}, {1, stays}, {2, leaves}, {3, joins}});
    const std::string second = at.file({{0, stays}, {1, stays}, {2, leaves}, {4, joins}});
    CHECK(at.tool({"init", "--yes"}, old).status == 0);
    CHECK(at.tool({"run", "r", "--", "true"}, first).status == 0);
    const auto announced = at.tool({"doctor"}, old);
    CHECK(has_text(announced.out, "commit --give-up"));
    // The remedy that it names helps, and that of a node which was to join and is gone.
    at.nodes.kill(3);
    const auto nearly = at.tool({"commit", "--yes", "--give-up"}, first);
    CHECK(nearly.status == 1);
    CHECK(has_text(nearly.err, "run commit --give-up --without n3,"));
    const auto given =
        at.tool({"commit", "--yes", "--give-up", "--without", "n3", "--json"}, first);
    INFO(given.err << given.out);
    CHECK(given.status == 0);
    CHECK(has_text(given.out, R"("committed":false,"given_up":true,)"));
    CHECK_FALSE(has_text(at.tool({"doctor"}, old).out, "commit --give-up"));
    CHECK(at.tool({"run", "r", "--", "true"}, old).status == 0);
    CHECK(at.tool({"run", "--wait", "10s", "r", "--", "true"}, second).status == 0);
    const auto done = at.tool({"commit", "--yes"}, second);
    INFO(done.err << done.out);
    CHECK(done.status == 0);
}

TEST_CASE("a joint list is no first list, and the doctor says how to begin", "[list_change][tool]") {
    changing at(3);
    const std::string joint = at.file({{0, stays}, {1, joins}, {2, joins}});
    const std::string old = at.file({{0, stays}});
    const auto refused = at.tool({"run", "--wait", "3s", "r", "--", "true"}, joint);
    CHECK(refused.status == 121);
    CHECK(has_text(refused.err, "give the old list alone to redlock init"));
    CHECK(at.tool({"commit", "--yes"}, joint).status == 121);
    CHECK(has_text(at.tool({"doctor"}, joint).out, "give the old list alone to redlock init"));
    // The remedy that it names helps.
    CHECK(at.tool({"init", "--yes"}, old).status == 0);
    CHECK(at.tool({"run", "--wait", "20s", "r", "--", "true"}, joint).status == 0);
    CHECK_FALSE(has_text(at.tool({"doctor"}, joint).out, "it has no record"));
    CHECK(at.tool({"commit", "--yes"}, joint).status == 0);
}

TEST_CASE("lists of one and two nodes change, also to none of the same nodes", "[list_change][tool]") {
    const auto [before, joint, after] = GENERATE(table<marks, marks, marks>({
        {{{0, stays}}, {{0, stays}, {1, joins}}, {{0, stays}, {1, stays}}},
        {{{0, stays}, {1, stays}}, {{0, stays}, {1, leaves}, {2, joins}}, {{0, stays}, {2, stays}}},
        {{{0, stays}}, {{0, leaves}, {1, joins}}, {{1, stays}}},
    }));
    changing at(3);
    const std::string old = at.file(before);
    const std::string both = at.file(joint);
    CHECK(at.tool({"run", "r", "--", "true"}, old).status == 0);
    CHECK(at.tool({"run", "--wait", "20s", "r", "--", "true"}, both).status == 0);
    const auto done = at.tool({"commit", "--yes"}, both);
    INFO(done.err << done.out);
    CHECK(done.status == 0);
    CHECK(at.tool({"run", "--wait", "20s", "r", "--", "true"}, at.file(after)).status == 0);
    CHECK(at.tool({"run", "r", "--", "true"}, both).status == 0);
}

TEST_CASE("a commit waits until a quorum of the new list votes", "[list_change][tool]") {
    changing at(2);
    const std::string joint = at.file({{0, leaves}, {1, joins}});
    CHECK(at.tool({"run", "r", "--", "true"}, at.file({{0, stays}})).status == 0);
    const auto done = at.tool({"commit", "--yes"}, joint);
    INFO(done.err << done.out);
    CHECK(done.status == 0);
    CHECK(has_text(done.err, "the commit waits for n1"));
    CHECK(at.tool({"run", "r", "--", "true"}, joint).status == 0);
}

TEST_CASE("a commit that waits for votes bears a node that is gone for a moment", "[list_change][tool]") {
    changing at(2, durable);
    const std::string joint = at.file({{0, leaves}, {1, joins}});
    CHECK(at.tool({"run", "r", "--", "true"}, at.file({{0, stays}})).status == 0);
    tool_process commit({"commit", "--config", joint, "--yes"});
    REQUIRE(eventually([&] { return at.nodes.ask(1).exists("redlock:node"); }));
    std::this_thread::sleep_for(1s);  // it bears that at its beginning in any case
    const std::size_t gone = GENERATE(0U, 1U);
    at.nodes.kill(gone);
    std::this_thread::sleep_for(600ms);
    at.nodes.restart(gone, redis_server::data::keep);
    const int status = commit.wait();
    INFO(commit.err() << commit.out());
    CHECK(status == 0);
    CHECK(at.tool({"run", "r", "--", "true"}, joint).status == 0);
}

TEST_CASE("a commit closes nothing where the new list would have no quorum", "[list_change][tool]") {
    changing at(5);
    const std::string joint = at.file({{0, stays}, {1, leaves}, {2, leaves}, {3, joins}, {4, joins}});
    CHECK(at.tool({"run", "r", "--", "true"}, at.file({{0, stays}, {1, stays}, {2, stays}})).status == 0);
    at.nodes.kill(3);
    at.nodes.kill(4);
    const auto refused = at.tool({"commit", "--yes"}, joint);
    INFO(refused.err << refused.out);
    CHECK(refused.status == 121);
    CHECK(has_text(refused.err, "the new list has no quorum that votes"));
    CHECK(has_text(refused.out, "n3: unreachable: Connection refused (not reached)\n"));
    CHECK_FALSE(has_text(at.nodes.ask(0).get("redlock:node").value_or(""), "accepted="));
    CHECK(at.tool({"run", "r", "--", "true"}, at.file({{0, stays}, {1, stays}, {2, stays}})).status == 0);
    at.nodes.restart(4, redis_server::data::empty);
    const auto done = at.tool({"commit", "--yes", "--without", "n3"}, joint);
    INFO(done.err << done.out);
    CHECK(done.status == 1);
    CHECK(at.tool({"run", "r", "--", "true"}, joint).status == 0);
}

TEST_CASE("the commit gives a node of the new list the record that it has lost", "[list_change]") {
    changing at(3);
    const marks joint{{0, stays}, {1, leaves}, {2, leaves}};
    {
        blocking_client old(at.list({{0, stays}, {1, stays}, {2, stays}}));
        REQUIRE(comes_true([&] { return old.acquire("r", {.ttl = 1s}).has_value(); }));
    }
    at.nodes.kill(0);
    at.nodes.restart(0, redis_server::data::empty);
    blocking_client operating(at.list(joint, "operating"));
    const commit_report done = operating.commit();
    INFO(done.detail);
    CHECK_FALSE(done.error);
    CHECK(done.is_complete);
    const record_words record(at.nodes.ask(0).get("redlock:node").value_or(""));
    CHECK(record["number"] == "1");
    CHECK(record["became"] != "-");
    CHECK(record["since"] != "0");
}

TEST_CASE("a give-up that died half-way stops nobody", "[list_change][tool]") {
    changing at(4);
    const std::string old = at.file({{0, stays}, {1, stays}, {2, stays}});
    const std::string joint = at.file({{0, stays}, {1, stays}, {2, leaves}, {3, joins}});
    CHECK(at.tool({"run", "r", "--", "true"}, old).status == 0);
    CHECK(at.tool({"run", "--wait", "20s", "r", "--", "true"}, joint).status == 0);
    for (const std::size_t i : {0, 1}) {
        direct node = at.nodes.ask(i);
        const std::string record = node.get("redlock:node").value_or("");
        const std::string own = record_words(record)["set"];
        node.set("redlock:node", record + " change=" + own + " promised=1.x accepted=1.x");
    }
    CHECK(at.tool({"run", "r", "--", "true"}, old).status == 0);
    CHECK(at.tool({"run", "r", "--", "true"}, joint).status == 0);
    CHECK_FALSE(has_text(at.tool({"doctor"}, joint).out, "it is closed"));
    const auto given = at.tool({"commit", "--yes", "--give-up"}, joint);
    INFO(given.err << given.out);
    CHECK(given.status == 0);
    CHECK_FALSE(has_text(at.nodes.ask(0).get("redlock:node").value_or(""), "accepted="));
}

TEST_CASE("a joining node with a record of another set is named before anything is closed",
          "[list_change][tool]") {
    changing at(4);
    const std::string old = at.file({{0, stays}, {1, stays}, {2, stays}});
    const std::string joint = at.file({{0, stays}, {1, stays}, {2, leaves}, {3, joins}});
    CHECK(at.tool({"init", "--yes"}, old).status == 0);
    CHECK(at.tool({"init", "--yes"}, at.file({{3, stays}})).status == 0);
    const auto refused = at.tool({"commit", "--yes"}, joint);
    CHECK(refused.status == 120);
    CHECK(has_text(refused.err, "delete its key redlock:node"));
    CHECK_FALSE(has_text(at.nodes.ask(0).get("redlock:node").value_or(""), "accepted="));
    // The remedy that it names helps.
    CHECK(at.nodes.ask(3).del("redlock:node"));
    const auto done = at.tool({"commit", "--yes"}, joint);
    INFO(done.err << done.out);
    CHECK(done.status == 0);
}

TEST_CASE("a joining node of another set that was away at the commit is named when it is back",
          "[list_change][tool]") {
    changing at(4);
    const std::string joint = at.file({{0, stays}, {1, stays}, {2, leaves}, {3, joins}});
    const std::string after = at.file({{0, stays}, {1, stays}, {3, stays}});
    CHECK(at.tool({"init", "--yes"}, at.file({{0, stays}, {1, stays}, {2, stays}})).status == 0);
    at.nodes.kill(3);
    const auto first = at.tool({"commit", "--yes"}, joint);
    CHECK(first.status == 1);
    CHECK(has_text(first.err, "run commit again when it is back"));
    at.nodes.restart(3, redis_server::data::empty);
    CHECK(at.tool({"init", "--yes"}, at.file({{3, stays}})).status == 0);
    const auto again = at.tool({"commit", "--yes"}, joint);
    CHECK(again.status == 1);
    CHECK(has_text(again.err, "delete its key redlock:node"));
    CHECK_FALSE(has_text(again.err, "has still to follow"));
    const auto refused = at.tool({"run", "r", "--", "true"}, after);
    INFO(refused.err);
    CHECK(refused.status == 121);
    CHECK(has_text(refused.err, "delete its key redlock:node"));
    CHECK_FALSE(has_text(at.tool({"doctor"}, after).out, "redlock init"));
    // The remedy that they name helps.
    CHECK(at.nodes.ask(3).del("redlock:node"));
    CHECK(at.tool({"run", "--wait", "20s", "r", "--", "true"}, after).status == 0);
    CHECK(at.tool({"commit", "--yes"}, joint).status == 0);
}

TEST_CASE("a node that leaves and is gone is no end of a change", "[list_change][tool]") {
    changing at(6);
    const std::string old = at.file({{0, stays}, {1, stays}, {2, stays}, {3, stays}, {4, stays}});
    const std::string joint = at.file(
        {{0, stays}, {1, stays}, {2, stays}, {3, leaves}, {4, leaves}, {5, joins}});
    CHECK(at.tool({"init", "--yes"}, old).status == 0);
    for (const std::size_t i : {3, 4}) at.nodes.kill(i);
    const auto first = at.tool({"commit", "--yes"}, joint);
    INFO(first.err << first.out);
    CHECK(first.status == 1);
    CHECK(has_text(first.err, "run commit --without n3 --without n4,"));
    CHECK_FALSE(has_text(first.err, "has still to follow"));
    // The remedy that it names helps, and half of it is not forgotten.
    const auto half = at.tool({"commit", "--yes", "--without", "n4"}, joint);
    INFO(half.err);
    CHECK(half.status == 1);
    CHECK(has_text(half.err, "run commit --without n4 --without n3,"));
    CHECK(at.tool({"commit", "--yes", "--without", "n4", "--without", "n3"}, joint).status == 0);
}

TEST_CASE("two nodes that wait for two that are gone get their records by an operator's word",
          "[list_change][tool]") {
    changing at(6);
    const std::string old = at.file({{0, stays}, {1, stays}, {2, stays}, {3, stays}, {4, stays}});
    const std::string joint = at.file(
        {{0, stays}, {1, stays}, {2, stays}, {3, stays}, {4, leaves}, {5, joins}});
    CHECK(at.tool({"run", "r", "--", "true"}, old).status == 0);
    // Until n5 votes: else it decides before the others have answered.
    CHECK(comes_true([&] {
        at.tool({"run", "r", "--", "true"}, joint);
        return at.tool({"doctor", "--ready"}, joint).status == 0;
    }));
    for (const std::size_t i : {0, 1}) at.nodes.kill(i);
    for (const std::size_t i : {2, 3}) at.nodes.restart(i, redis_server::data::empty);
    for (const std::string& list : {old, joint}) {
        const auto refused = at.tool({"run", "r", "--", "true"}, list);
        INFO(refused.err);
        CHECK(refused.status == 121);
        CHECK(has_text(refused.err, "redlock commit --without n0 --without n1"));
    }
    // The remedy that it names helps.
    const auto done = at.tool({"commit", "--yes", "--without", "n0", "--without", "n1"}, joint);
    INFO(done.err << done.out);
    CHECK(done.status == 1);
    CHECK(at.tool({"run", "--wait", "20s", "r", "--", "true"}, joint).status == 0);
}

TEST_CASE("a program without the guard is met behind the close", "[list_change]") {
    changing at(4);
    client_options unguarded = at.list({{0, stays}, {1, stays}, {2, stays}}, "unguarded");
    {
        blocking_client guarded(unguarded);
        REQUIRE(comes_true([&] { return guarded.acquire("r", {.ttl = 1s}).has_value(); }));
    }
    unguarded.guard = restart_guard::off;
    blocking_client old(unguarded);
    REQUIRE(comes_true([&] { return old.acquire("r", {.ttl = 1s}).has_value(); }));
    blocking_client operating(at.list({{0, stays}, {1, stays}, {2, leaves}, {3, joins}}, "operating"));
    const commit_report done = operating.commit({.despite_old_programs = true});
    INFO(done.detail);
    CHECK_FALSE(done.error);
    CHECK_FALSE(done.is_complete);
    REQUIRE_FALSE(done.old_programs.empty());
    CHECK(has_text(done.old_programs.front(), "unguarded"));
    CHECK(comes_true([&] {
        const auto none = old.acquire("r", {.ttl = 1s});
        return none.has_error() && none.error().votes.front().error == errc::other_set;
    }));
    SECTION("and one with the new list alone waits as the others do") {
        client_options alone = at.list({{0, stays}, {1, stays}, {3, stays}}, "alone");
        alone.guard = restart_guard::off;
        blocking_client fresh(alone);
        const auto began = redlock::clock::now();
        REQUIRE(comes_true([&] { return fresh.acquire("r", {.ttl = 1s}).has_value(); }));
        CHECK(redlock::clock::now() - began >= 2s);
    }
}

// CLIENT LIST is then longer than any other reply may be.
TEST_CASE("an old program is seen among thousands of connections", "[list_change]") {
    constexpr std::size_t others = 4'300;
    rlimit most{};
    ::getrlimit(RLIMIT_NOFILE, &most);
    if (most.rlim_max < others + 300) {
        return say_skipped("a process may have too few descriptors here: raise ulimit -Hn");
    }
    most.rlim_cur = most.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &most);
    changing at(4);
    blocking_client old(at.list({{0, stays}, {1, stays}, {2, stays}}));
    REQUIRE(comes_true([&] { return old.acquire("r", {.ttl = 1s}).has_value(); }));
    boost::asio::io_context context;
    std::vector<boost::asio::ip::tcp::socket> connections;
    const boost::asio::ip::tcp::endpoint node(boost::asio::ip::make_address("127.0.0.1"),
                                              at.nodes.options().nodes[0].port);
    for (std::size_t i = 0; i < others; ++i) connections.emplace_back(context).connect(node);
    REQUIRE(comes_true([&] {
        return at.nodes.ask(0).command({"CLIENT", "LIST"}).text.size() > 1'048'576;
    }));
    blocking_client operating(at.list({{0, stays}, {1, stays}, {2, leaves}, {3, joins}}, "operating"));
    const commit_report refused = operating.commit();
    INFO(refused.detail);
    CHECK(refused.error == errc::other_set);
    REQUIRE_FALSE(refused.old_programs.empty());
    CHECK(has_text(refused.old_programs.front(), "test"));
    (void)old.close();
    const commit_report done = operating.commit({.wait = 20s});
    INFO(done.detail);
    CHECK_FALSE(done.error);
    CHECK(has_text(done.detail, "have no name of this library"));
}

TEST_CASE("a program that looks at no record has to be stopped before the commit", "[list_change]") {
    changing at(4);
    client_options blind = at.list({{0, stays}, {1, stays}, {2, stays}}, "blind");
    blind.fencing = false;
    blocking_client guarded(at.list({{0, stays}, {1, stays}, {2, stays}}));
    REQUIRE(comes_true([&] { return guarded.acquire("r", {.ttl = 1s}).has_value(); }));
    (void)guarded.close();
    blocking_client operating(at.list({{0, stays}, {1, stays}, {2, leaves}, {3, joins}}, "operating"));
    {
        blocking_client old(blind);
        REQUIRE(comes_true([&] { return old.acquire("plain", {.ttl = 1s}).has_value(); }));
        const commit_report refused = operating.commit({.despite_old_programs = true});
        CHECK(refused.error == errc::other_set);
        CHECK(has_text(refused.detail, "looks at no record"));
        CHECK_FALSE(has_text(at.nodes.ask(0).get("redlock:node").value_or(""), "accepted="));
    }
    const commit_report done = operating.commit({.wait = 10s});
    INFO(done.detail);
    CHECK_FALSE(done.error);
    CHECK(done.is_complete);
}

TEST_CASE("a node that does not list its connections is named, and is no reason to go on",
          "[list_change]") {
    changing at(4);
    {
        blocking_client old(at.list({{0, stays}, {1, stays}, {2, stays}}));
        REQUIRE(comes_true([&] { return old.acquire("r", {.ttl = 1s}).has_value(); }));
    }
    client_options terms = at.list({{0, stays}, {1, stays}, {2, leaves}, {3, joins}}, "operating");
    terms.node_timeout = 500ms;
    blocking_client operating(terms);
    REQUIRE(comes_true([&] { return operating.acquire("r", {.ttl = 1s}).has_value(); }));
    // An empty node gets none while one of the others is silent.
    REQUIRE(comes_true([&] { return at.nodes.ask(3).exists("redlock:node"); }));
    at.nodes.stop(1);
    const commit_report refused = operating.commit();
    CHECK(refused.error == errc::other_set);
    CHECK(has_text(refused.detail, "does not say which programs are connected"));
    CHECK_FALSE(has_text(at.nodes.ask(0).get("redlock:node").value_or(""), "accepted="));
    const commit_report done = operating.commit({.despite_old_programs = true});
    INFO(done.detail);
    CHECK_FALSE(done.error);
    CHECK_FALSE(done.is_complete);
    at.nodes.cont(1);
}

TEST_CASE("a node that waits for one that is gone gets its record by an operator's word",
          "[list_change][tool]") {
    changing at(4);
    const std::string old = at.file({{0, stays}, {1, stays}, {2, stays}});
    const std::string joint = at.file({{0, stays}, {1, stays}, {2, leaves}, {3, joins}});
    CHECK(at.tool({"run", "r", "--", "true"}, old).status == 0);
    CHECK(at.tool({"run", "--wait", "20s", "r", "--", "true"}, joint).status == 0);
    at.nodes.kill(1);
    at.nodes.restart(0, redis_server::data::empty);
    const auto refused = at.tool({"run", "r", "--", "true"}, old);
    CHECK(refused.status == 121);
    CHECK(has_text(refused.err, "redlock commit --without n1"));
    CHECK_FALSE(has_text(refused.err, "more;"));
    CHECK(has_text(at.tool({"doctor"}, old).out, "redlock commit --without n1"));
    CHECK(at.tool({"commit", "--yes", "--without", "n7"}, old).status == 125);
    SECTION("with the old list alone nothing else is done") {
        // The remedy that it names helps.
        CHECK(at.tool({"commit", "--yes", "--without", "n1"}, old).status == 1);
        CHECK(at.tool({"run", "--wait", "20s", "r", "--", "true"}, old).status == 0);
        CHECK_FALSE(has_text(at.nodes.ask(0).get("redlock:node").value_or(""), "number="));
    }
    SECTION("with the joint list the change goes on") {
        const auto done = at.tool({"commit", "--yes", "--without", "n1"}, joint);
        INFO(done.err << done.out);
        CHECK(done.status == 1);
        CHECK(at.tool({"run", "--wait", "20s", "r", "--", "true"}, joint).status == 0);
    }
}

TEST_CASE("a change that was announced and left is forgotten by a program with the old list",
          "[list_change]") {
    changing at(4);
    blocking_client old(at.list({{0, stays}, {1, stays}, {2, stays}}, "old"));
    REQUIRE(comes_true([&] { return old.acquire("r", {.ttl = 1s}).has_value(); }));
    const auto is_announced = [&](std::size_t node) {
        return has_text(at.nodes.ask(node).get("redlock:node").value_or(""), "announced=");
    };
    {
        blocking_client joint(
            at.list({{0, stays}, {1, stays}, {2, leaves}, {3, joins}}, "joint"));
        REQUIRE(comes_true([&] { return joint.acquire("r", {.ttl = 1s}).has_value(); }));
        const auto said_at = [&] {
            const record_words record(at.nodes.ask(0).get("redlock:node").value_or(""));
            return std::stoll("0" + record["announced_at"]);
        };
        const auto first = said_at();
        REQUIRE(comes_true([&] { return said_at() - first > 2'500'000; }));  // a quarantine
        for (const std::size_t i : {0, 1, 2}) CHECK(is_announced(i));
    }
    CHECK(comes_true([&] { return !is_announced(0) && !is_announced(1) && !is_announced(2); }));
}

TEST_CASE("after a commit no text names init for what the change itself explains",
          "[list_change][tool]") {
    changing at(4);
    at.ttl_max_ms = 6000;  // three commands come before the new list has votes
    const std::string old = at.file({{0, stays}, {1, stays}, {2, stays}});
    const std::string joint = at.file({{0, stays}, {1, stays}, {2, leaves}, {3, joins}});
    const std::string after = at.file({{0, stays}, {1, stays}, {3, stays}});
    CHECK(at.tool({"run", "r", "--", "true"}, old).status == 0);
    const std::string larger = at.file({{0, stays}, {1, leaves}, {2, leaves}, {3, joins}});
    const auto begun = at.tool({"run", "r", "--", "true"}, larger);
    CHECK(begun.status == 121);
    CHECK(has_text(begun.err, "quarantine"));
    CHECK_FALSE(has_text(begun.err, "redlock init"));
    const auto joining = at.tool({"doctor"}, larger);
    CHECK(has_text(joining.out, "no program with this list"));
    CHECK_FALSE(has_text(joining.out, "redlock init"));
    CHECK_FALSE(has_text(joining.out, "nobody"));
    CHECK(at.tool({"run", "--wait", "20s", "r", "--", "true"}, joint).status == 0);
    CHECK(at.tool({"commit", "--yes"}, joint).status == 0);
    const auto early = at.tool({"doctor"}, after);
    INFO(early.out);
    CHECK_FALSE(has_text(early.out, "redlock init"));
    CHECK_FALSE(has_text(early.out, "nobody"));
    const auto refused = at.tool({"run", "r", "--", "true"}, after);
    INFO(refused.err);
    CHECK(refused.status == 121);
    CHECK_FALSE(has_text(refused.err, "redlock init"));
    const auto overlooked = at.tool({"run", "r", "--", "true"}, old);
    INFO(overlooked.err);
    CHECK(overlooked.status == 121);
    CHECK_FALSE(has_text(overlooked.err, "redlock init"));
    CHECK(has_text(overlooked.err, "give this program the new list"));
    CHECK_FALSE(has_text(at.tool({"doctor"}, old).out, "redlock init"));
}
