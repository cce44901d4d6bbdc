// Faults of nodes that `async_probe` and `redlock doctor` find and name, planted in real servers.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "../support/record_words.hpp"
#include "support/founded.hpp"
#include "support/hostile_proxy.hpp"
#include "support/waiting.hpp"
#include "tool_call.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/node_report.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

std::vector<node_report> reports_of(const client_options& options) {
    blocking_client examiner(options);
    auto got = examiner.probe();
    REQUIRE(got.has_value());
    REQUIRE(got->size() == options.nodes.size());
    return std::move(*got);
}

std::string findings_of(const std::vector<node_report>& reports) {
    std::string out;
    for (const auto& r : reports) {
        for (const auto& f : r.findings) {
            out += r.name + ": " + std::string(to_string(f.problem)) + ": " + f.text + "\n";
        }
    }
    return out;
}

// What is said of the problem on that node; empty where nothing is.
std::string said_of(const std::vector<node_report>& reports, std::size_t node, node_problem what) {
    for (const auto& f : reports[node].findings) {
        if (f.problem == what) return f.text;
    }
    return {};
}

std::size_t findings(const std::vector<node_report>& reports) {
    std::size_t all = 0;
    for (const auto& r : reports) all += r.findings.size();
    return all;
}

tool_outcome examine(const std::vector<std::string>& words) {
    std::vector<std::string> all{"doctor"};
    all.insert(all.end(), words.begin(), words.end());
    return outcome_of(all);
}

std::vector<std::string> uris_of(cluster& nodes) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        words.insert(words.end(), {"--node", nodes[i].uri()});
    }
    return words;
}

// Whether a lock can be had there now, which is the last word on a remedy.
bool can_lock(const client_options& options) {
    blocking_client locker(options);
    const auto got = locker.acquire("r", {.ttl = 10s, .wait = 5s});
    return got.has_value() && *got;
}

}  // namespace

TEST_CASE("doctor says where healthy nodes come from, and leaves nothing on them",
          "[doctor][servers]") {
    cluster nodes(3, durable);
    const auto reports = reports_of(nodes.options());
    INFO(findings_of(reports));
    CHECK(findings(reports) == 0);
    for (const auto& r : reports) {
        CHECK(r.is_reachable);
        CHECK(r.has_vote);
        CHECK(r.role == "master");
        CHECK_FALSE(r.version.empty());
        CHECK(r.has_log == true);
        CHECK(r.fsync == "always");
        CHECK(r.eviction_policy == "noeviction");
        CHECK(r.memory_used > 0);
        CHECK(r.clock_offset.has_value());
        CHECK(r.round_trip > 0us);
        CHECK(r.node_timeout == 3s);
        CHECK(r.ttl_max == 0s);  // nothing has been acquired: there is no record
    }
    const auto got = examine({"--config", nodes.config()});
    CHECK(got.status == 0);
    CHECK(got.out == "configuration: " + nodes.config() +
                         "\n3 nodes are healthy, and all of them vote\n");
    CHECK(nodes.keys() == 0);
    const auto json = examine({"--json", "--config", nodes.config()});
    CHECK(json.status == 0);
    CHECK(json.out.starts_with("{\"healthy\":true,\"state\":\"healthy\",\"configuration\":\"" +
                               nodes.config() + "\",\"findings\":[],\"nodes\":["));
}

TEST_CASE("nodes with a warning alone are not healthy, and have no errors", "[doctor]") {
    cluster nodes(2, durable);  // one of two may not fail
    const auto text = examine(uris_of(nodes));
    INFO(text.out);
    CHECK(text.status == 1);
    CHECK_FALSE(has_text(text.out, "healthy"));
    auto words = uris_of(nodes);
    words.insert(words.begin(), "--json");
    const auto json = examine(words);
    CHECK(json.status == 1);
    CHECK(json.out.starts_with(R"({"healthy":false,"state":"warnings",)"));
}

TEST_CASE("settings that endanger locks are found, each with its remedy", "[doctor][servers]") {
    founded_cluster nodes(3, durable);
    auto bad = nodes.ask(1);
    node_problem what{};
    std::string remedy;
    SECTION("eviction") {
        bad.config_set("maxmemory-policy", "allkeys-lru");
        what = node_problem::evicts_locks;
        remedy = "set maxmemory-policy noeviction";
    }
    SECTION("fsync") {
        bad.config_set("appendfsync", "everysec");
        what = node_problem::forgets_at_restart;
        remedy = "set appendonly yes, appendfsync always";
    }
    SECTION("no append-only file") {
        bad.config_set("appendonly", "no");
        what = node_problem::forgets_at_restart;
        remedy = "set appendonly yes";
    }
    SECTION("memory nearly full") {
        // Room enough for the connections and the scripts, of which memory is full otherwise.
        // (Made there: what a client sends stays in its buffer for a while, and counts, too.)
        bad.command({"SETRANGE", "other", "20000000", "x"});
        bad.config_set("maxmemory",
                       std::to_string(std::stoll(bad.info("used_memory")) + 1'000'000));
        what = node_problem::memory_nearly_full;
        remedy = "raise maxmemory";
    }
    const auto reports = reports_of(nodes.options());
    INFO(findings_of(reports));
    CHECK(findings(reports) == 1);
    CHECK(has_text(said_of(reports, 1, what), remedy));
    CHECK(reports[1].has_vote);
    const auto got = examine({"--config", nodes.config()});
    CHECK(got.status == 1);
    CHECK(has_text(got.out, std::string("warning: ") + nodes[1].node().host));
    CHECK(has_text(got.out, remedy));
    CHECK(got.out.ends_with("3 of 3 nodes vote\n"));
}

TEST_CASE("a replica, and the master that it follows, are found", "[doctor]") {
    cluster nodes(3, durable);
    nodes.ask(2).command({"REPLICAOF", "127.0.0.1", std::to_string(nodes[1].port())});
    auto master = nodes.ask(1);
    REQUIRE(eventually([&] { return master.info("connected_slaves") == "1"; }));
    const auto reports = reports_of(nodes.options());
    INFO(findings_of(reports));
    CHECK(has_text(said_of(reports, 2, node_problem::not_master), "name a master in its place"));
    CHECK_FALSE(reports[2].has_vote);
    CHECK(has_text(said_of(reports, 1, node_problem::has_replicas), "detach them"));
    CHECK(reports[1].replicas == 1);
    CHECK(examine({"--config", nodes.config()}).status == 2);
}

TEST_CASE("one server under two names is found", "[doctor]") {
    cluster nodes(2, durable);
    auto options = nodes.options();
    options.nodes.push_back(options.nodes[1]);
    options.nodes[2].host = "localhost";
    options.nodes[2].name = "n2";
    const auto reports = reports_of(options);
    INFO(findings_of(reports));
    const auto said = said_of(reports, 1, node_problem::duplicate_node) +
                      said_of(reports, 2, node_problem::duplicate_node);
    CHECK(has_text(said, "same server as n"));
    CHECK(has_text(said, "give each node a server of its own"));
}

TEST_CASE("a round trip that is longer than node_timeout is found", "[doctor]") {
    founded_cluster nodes(1, durable);
    hostile_proxy far(nodes[0].port());
    far.set({.what = harm::kind::delay, .by = 40ms});
    auto options = nodes.options();
    options.nodes = {far.node("far")};
    options.node_timeout = 5ms;
    const auto reports = reports_of(options);
    INFO(findings_of(reports));
    const auto said = said_of(reports, 0, node_problem::slow) +
                      said_of(reports, 0, node_problem::unreachable);
    CHECK(has_text(said, "node_timeout is 5.0 ms"));
}

TEST_CASE("each right that is missing is found, alone", "[doctor][servers]") {
    cluster nodes(1, durable);
    auto admin = nodes.ask(0);
    // docs/nodes.md
    const std::vector<std::string> rights{
        "+script|load", "+evalsha", "+eval", "+set", "+get", "+getrange", "+del", "+mget",
        "+exists", "+pttl", "+pexpire", "+info", "+time", "+zscore", "+zremrangebyscore", "+zadd",
        "+zcard", "+zrange", "+zrangebyscore", "+zrem", "+publish", "+subscribe", "+ping",
        "+config|get"};
    auto options = nodes.options();
    options.key_prefix = "lock:";
    options.nodes[0].username = "locker";
    options.nodes[0].password = "pw";
    const auto grant = [&](const std::vector<std::string>& words) {
        admin.command({"ACL", "DELUSER", "locker"});
        std::vector<std::string> all{"locker", "on", ">pw", "resetchannels"};
        all.insert(all.end(), words.begin(), words.end());
        admin.acl_setuser(all);
    };
    auto whole = rights;
    whole.insert(whole.end(), {"~lock:*", "&lock:redlock:wake:*"});
    grant(whole);
    {
        const auto reports = reports_of(options);
        INFO(findings_of(reports));
        CHECK(findings(reports) == 0);
    }
    for (const std::string& missing : rights) {
        // A user without ping is noticed by an idle listener only; locks do without CONFIG.
        if (missing == "+ping" || missing == "+config|get") continue;
        auto rest = whole;
        std::erase(rest, missing);
        grant(rest);
        const auto reports = reports_of(options);
        INFO("without " << missing << ":\n" << findings_of(reports));
        const auto said = said_of(reports, 0, node_problem::missing_right);
        CHECK_FALSE(said.empty());
        const bool is_named = has_text(said, missing) || has_text(said, missing.substr(1)) ||
                              (missing == "+info" && has_text(said, "INFO")) ||
                              (missing == "+time" && has_text(said, "TIME"));
        CHECK(is_named);
    }
    SECTION("no right to the keys") {
        auto rest = rights;
        rest.insert(rest.end(), {"~other:*", "&lock:redlock:wake:*"});
        grant(rest);
        CHECK_FALSE(said_of(reports_of(options), 0, node_problem::missing_right).empty());
    }
    SECTION("no right to the channel") {
        if (!servers_have_channel_rights()) return;
        auto rest = rights;
        rest.insert(rest.end(), {"~lock:*"});
        grant(rest);
        CHECK_FALSE(said_of(reports_of(options), 0, node_problem::missing_right).empty());
    }
}

TEST_CASE("a user that can't read appendfsync is found, and granting that helps", "[doctor]") {
    cluster nodes(1, durable);
    auto admin = nodes.ask(0);
    auto options = nodes.options();
    options.nodes[0].username = "locker";
    options.nodes[0].password = "pw";
    admin.acl_setuser({"locker", "on", ">pw", "~*", "&*", "+@all", "-config"});
    const auto reports = reports_of(options);
    INFO(findings_of(reports));
    CHECK(findings(reports) == 1);
    const auto said = said_of(reports, 0, node_problem::forgets_at_restart);
    CHECK(has_text(said, "appendfsync can't be read (NOPERM"));
    CHECK(has_text(said, "each restart costs it its vote for ttl_max (60 s)"));
    CHECK(has_text(said, "give this user +config|get"));
    CHECK(reports[0].missing_rights == std::vector<std::string>{"config|get"});
    CHECK(reports[0].has_vote);
    // Without the guard no client reads it.
    options.guard = restart_guard::off;
    CHECK(findings(reports_of(options)) == 0);
    options.guard = restart_guard::automatic;
    admin.acl_setuser({"locker", "+config|get"});
    CHECK(findings(reports_of(options)) == 0);
}

TEST_CASE("the configuration's own findings are in the text and in the JSON", "[doctor]") {
    const scratch folder;
    const std::string file = folder / "nodes.json";
    std::string where;
    std::string what;
    SECTION("one node") {
        std::ofstream(file) << R"({"nodes": ["redis://127.0.0.1:1"]})";
        where = "/nodes";
        what = "when the one node fails, nothing can be locked";
    }
    SECTION("an even number") {
        std::ofstream(file) << R"({"nodes": ["redis://127.0.0.1:1", "redis://127.0.0.1:2"]})";
        where = "/nodes";
        what = "2 nodes bear no more failures than 1";
    }
    SECTION("certificates that are not verified") {
        std::ofstream(file) << R"({"nodes": ["redis://127.0.0.1:1", "redis://127.0.0.1:2",
            {"host": "127.0.0.1", "port": 3, "tls": {"verify": false}}]})";
        where = "/nodes/2/tls/verify";
        what = "is false, so any server may pass for this node";
        tool_process run({"run", "--verbose", "--config", file, "r", "--", "true"});
        CHECK(run.wait() == 121);
        CHECK(has_text(run.err(), "nodes.json: " + where + ": " + what));
    }
    const auto text = examine({"--config", file});
    CHECK(text.status == 2);
    CHECK(has_text(text.out, "warning: configuration: " + where + ": " + what));
    const auto json = examine({"--json", "--config", file});
    CHECK(json.status == 2);
    CHECK(has_text(json.out,
                   R"({"node":null,"severity":"warning","problem":"configuration","text":")" +
                       where + ": " + what));
}

TEST_CASE("what many nodes have in common is shown of three, and counted", "[doctor]") {
    std::vector<std::string> nodes;
    for (int port = 1; port <= 7; ++port) {
        nodes.insert(nodes.end(), {"--node", "redis://127.0.0.1:" + std::to_string(port)});
    }
    const auto times = [](const std::string& text, const std::string& part) {
        std::size_t n = 0;
        for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
        return n;
    };
    const auto text = examine(nodes);
    INFO(text.out);
    CHECK(text.status == 2);
    CHECK(times(text.out, ": unreachable: ") == 4);
    CHECK(has_text(text.out, "error: 127.0.0.1:3: unreachable: "));
    CHECK(
        has_text(text.out, "\nerror: and 4 more: unreachable: redlock doctor --json names them\n"));
    CHECK_FALSE(has_text(text.out, "127.0.0.1:4"));
    nodes.emplace_back("--json");
    CHECK(times(examine(nodes).out, R"("problem":"unreachable")") == 7);
    nodes.resize(10);  // five nodes are all shown
    CHECK(times(examine(nodes).out, ": unreachable: ") == 5);
}

TEST_CASE("nodes that refuse to write are found, and the remedy helps", "[doctor]") {
    const auto folder = std::filesystem::temp_directory_path() /
                        ("redlock-saves-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    const auto in_the_way = folder / "dump.rdb";  // a directory by the name of the snapshot
    server_options each;
    each.args = {"--save", "3600 1000000", "--dir", folder.string()};
    founded_cluster nodes(3, each);
    std::string code;
    std::string remedy;
    std::function<void(direct&)> harm;
    std::function<void(direct&)> mend;
    SECTION("too few replicas") {
        code = "NOREPLICAS";
        remedy = "it has 0 of the replicas that min-replicas-to-write asks for: set "
                 "min-replicas-to-write 0";
        harm = [](direct& node) { node.config_set("min-replicas-to-write", "1"); };
        mend = [](direct& node) { node.config_set("min-replicas-to-write", "0"); };
    }
    SECTION("a save that failed") {
        code = "MISCONF";
        remedy = "make room on its disk and say BGSAVE";
        const auto save = [](direct& node, const std::string& outcome) {
            node.command({"BGSAVE"});
            REQUIRE(eventually([&] {
                return node.info("rdb_bgsave_in_progress") == "0" &&
                       node.info("rdb_last_bgsave_status") == outcome;
            }));
        };
        harm = [=](direct& node) {
            std::filesystem::create_directory(in_the_way);
            save(node, "err");
        };
        mend = [=](direct& node) {
            std::filesystem::remove(in_the_way);
            save(node, "ok");
            std::filesystem::remove(in_the_way);
        };
    }
    SECTION("a save that failed, with the other remedy") {
        code = "MISCONF";
        remedy = "or set stop-writes-on-bgsave-error no";
        harm = [=](direct& node) {
            std::filesystem::create_directory(in_the_way);
            node.command({"BGSAVE"});
            REQUIRE(eventually([&] { return node.info("rdb_last_bgsave_status") == "err"; }));
        };
        mend = [](direct& node) { node.config_set("stop-writes-on-bgsave-error", "no"); };
    }
    SECTION("no memory") {
        code = "OOM";
        remedy = "raise maxmemory";
        harm = [](direct& node) { node.config_set("maxmemory", "1"); };
        mend = [](direct& node) { node.config_set("maxmemory", "0"); };
    }
    const auto on_each = [&](const std::function<void(direct&)>& what) {
        for (std::size_t i = 0; i < 3; ++i) {
            auto node = nodes.ask(i);
            what(node);
        }
    };
    REQUIRE(can_lock(nodes.options()));
    on_each(harm);
    REQUIRE_FALSE(can_lock(nodes.options()));
    const auto reports = reports_of(nodes.options());
    INFO(findings_of(reports));
    for (std::size_t i = 0; i < 3; ++i) {
        const auto said = said_of(reports, i, node_problem::refuses_writes);
        CHECK(has_text(said, code));
        CHECK(has_text(said, remedy));
        CHECK_FALSE(reports[i].has_vote);
        CHECK_FALSE(nodes.ask(i).exists("redlock:probe"));
    }
    const auto got = examine({"--config", nodes.config()});
    CHECK(got.status == 2);
    CHECK(has_text(got.out, "0 of 3 nodes vote, and a lock needs 2"));
    on_each(mend);
    CHECK(can_lock(nodes.options()));
    CHECK(said_of(reports_of(nodes.options()), 0, node_problem::refuses_writes).empty());
    std::filesystem::remove_all(folder);
}

TEST_CASE("what the server refused is named, and granting that helps", "[doctor][servers]") {
    founded_cluster nodes(1, durable);
    auto admin = nodes.ask(0);
    auto options = nodes.options();
    options.nodes[0].username = "locker";
    options.nodes[0].password = "pw";
    options.key_prefix = GENERATE("", "lock:");
    std::vector<std::string> has;
    std::string lacks;
    SECTION("keys") {
        has = {"~localhost:*", "&*", "+@all"};
        lacks = "~" + options.key_prefix + "*";
    }
    SECTION("the channel") {
        if (!servers_have_channel_rights()) return;
        has = {"~*", "resetchannels", "+@all"};
        lacks = "&" + options.key_prefix + "redlock:wake:*";
    }
    SECTION("a command") {
        has = {"~*", "&*", "+@all", "-set"};
        lacks = "+set";
    }
    const auto grant = [&](const std::vector<std::string>& words) {
        std::vector<std::string> all{"locker", "on", ">pw"};
        all.insert(all.end(), words.begin(), words.end());
        admin.acl_setuser(all);
    };
    grant(has);
    auto reports = reports_of(options);
    INFO(findings_of(reports));
    CHECK(has_text(said_of(reports, 0, node_problem::missing_right), "give this user " + lacks));
    CHECK(said_of(reports, 0, node_problem::auth_failed).empty());
    grant({lacks});
    CHECK(said_of(reports_of(options), 0, node_problem::missing_right).empty());
    CHECK(can_lock(options));
}

TEST_CASE("doctor reports the rights that a read-only user lacks for locking", "[doctor]") {
    founded_cluster nodes(3, durable);
    auto options = nodes.options();
    for (std::size_t i = 0; i < 3; ++i) {
        nodes.ask(i).acl_setuser({"reader", "on", ">pw", "~*", "&*", "-@all", "+@read", "+eval",
                                  "+evalsha", "+script|load", "+info", "+time", "+select", "+ping",
                                  "+subscribe", "+config|get"});
        options.nodes[i].username = "reader";
        options.nodes[i].password = "pw";
    }
    const auto reports = reports_of(options);
    INFO(findings_of(reports));
    const auto said = said_of(reports, 0, node_problem::missing_right);
    CHECK(has_text(said, "this user may not take all kinds of locks"));
    CHECK(has_text(said, "+set"));
    CHECK(has_text(said, "+del"));
}

TEST_CASE("in an outage the node that is left is not blamed, and shows what it holds", "[doctor]") {
    founded_cluster nodes(3);
    driver d(nodes.options());
    const auto held = d.acquire("r", {.ttl = 60s});
    REQUIRE(held.value());
    REQUIRE(d.until([&] { return nodes.holding("r") == 3; }));
    auto options = nodes.options();
    options.connect_timeout = 2s;
    if (GENERATE(false, true)) {
        nodes.stop(0);
        nodes.stop(1);
    } else {
        nodes.kill(0);
        nodes.kill(1);
    }
    const auto reports = reports_of(options);
    INFO(findings_of(reports));
    CHECK(said_of(reports, 2, node_problem::in_quarantine).empty());
    const auto said = said_of(reports, 2, node_problem::no_vote);
    CHECK(has_text(said, "no quorum of nodes answers"));
    CHECK_FALSE(has_text(said, "or say redlock init"));
    blocking_client looker(options);
    const auto seen = looker.inspect("r");
    REQUIRE(seen.has_value());
    CHECK_FALSE(seen->decided);
    CHECK(seen->nodes[2].state == key_state::held);
    CHECK(has_text(seen->nodes[2].owner, "@test"));
    CHECK_FALSE(seen->nodes[2].error);
}

TEST_CASE("a node of another set, and another ttl_max, are found", "[doctor]") {
    founded_cluster nodes(3, durable);
    auto options = nodes.options();
    SECTION("another set") {
        options.cluster = "another";
        const auto reports = reports_of(options);
        INFO(findings_of(reports));
        CHECK(has_text(said_of(reports, 0, node_problem::other_set), "redlock init"));
        CHECK(has_text(said_of(reports, 0, node_problem::other_set),
                       "this client names the cluster \"another\" of 3 nodes"));
        CHECK(examine(uris_of(nodes)).status == 2);
    }
    SECTION("another ttl_max") {
        options.ttl_max = 30s;
        const auto reports = reports_of(options);
        INFO(findings_of(reports));
        CHECK(has_text(said_of(reports, 0, node_problem::other_ttl_max),
                       "give all clients the same"));
        CHECK(reports[0].ttl_max == 60s);
    }
}

// As if the clocks of all nodes had been an hour ahead when the last fence was drawn.
TEST_CASE("that the clocks of all nodes went back is found, and init --lower-fences ends it",
          "[doctor]") {
    founded_cluster nodes(3, durable);
    const auto fence_of = [&] {
        blocking_client locker(nodes.options());
        const auto got = locker.acquire("r", {.ttl = 10s, .wait = 5s});
        REQUIRE(got.has_value());
        return static_cast<std::int64_t>(got->fence());
    };
    const std::int64_t before = fence_of();
    const std::int64_t highest = before + 3'600'000'000;
    for (std::size_t i = 0; i < 3; ++i) {
        record_words record(nodes.ask(i).get("redlock:node").value_or(""));
        REQUIRE_FALSE(record["highest"] == "-");
        record["highest"] = std::to_string(highest);
        nodes.ask(i).set("redlock:node", record.text());
    }
    const auto reports = reports_of(nodes.options());
    INFO(findings_of(reports));
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(has_text(said_of(reports, i, node_problem::clocks_went_back), "by 60 min at least"));
    }
    CHECK(examine({"--config", nodes.config()}).status == 1);
    CHECK(fence_of() > highest);
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).command({"DEL", "{r}:fence"});  // as in 16 s
    tool_process running({"init", "--yes", "--lower-fences", "--config", nodes.config()});
    REQUIRE(running.wait() == 0);
    CHECK(findings(reports_of(nodes.options())) == 0);
    const std::int64_t after = fence_of();
    CHECK(after > before);
    CHECK(after < highest);
}

TEST_CASE("cluster mode without a hash tag is found", "[doctor]") {
    server_options each = durable;
    each.args.insert(each.args.end(), {"--cluster-enabled", "yes"});
    cluster nodes(3, each);
    for (std::size_t i = 0; i < 3; ++i) {
        nodes.ask(i).command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
    }
    for (std::size_t i = 0; i < 3; ++i) {
        auto ask = nodes.ask(i);
        REQUIRE(eventually([&] {
            return ask.command({"CLUSTER", "INFO"}).text.find("cluster_state:ok") != std::string::npos;
        }));
    }
    auto options = nodes.options();
    SECTION("without") {
        const auto reports = reports_of(options);
        INFO(findings_of(reports));
        CHECK(has_text(said_of(reports, 0, node_problem::no_hash_tag), "{lock}:"));
    }
    SECTION("with: the nodes are as good as any") {
        options.key_prefix = "{lock}:";
        const auto reports = reports_of(options);
        INFO(findings_of(reports));
        CHECK(findings(reports) == 0);
        driver d(options);
        auto held = d.acquire("r", {.ttl = 10s});
        REQUIRE(held.error() == error_code{});
        CHECK(d.release(std::move(held.value())) == error_code{});
    }
}

TEST_CASE("nodes that do not answer are found, with the cause", "[doctor]") {
    SECTION("a wrong password") {
        server_options each = durable;
        each.password = "right";
        cluster nodes(3, each);
        auto options = nodes.options();
        options.nodes[1].password = "wrong-s3cret";
        const auto reports = reports_of(options);
        const auto all = findings_of(reports);
        INFO(all);
        CHECK(has_text(said_of(reports, 1, node_problem::auth_failed), "correct the user"));
        CHECK_FALSE(has_text(all, "s3cret"));
    }
    SECTION("none, at that address") {
        cluster nodes(3, durable);
        nodes.kill(2);
        const auto reports = reports_of(nodes.options());
        INFO(findings_of(reports));
        CHECK(has_text(said_of(reports, 2, node_problem::unreachable), "start the server"));
        CHECK_FALSE(reports[2].is_reachable);
    }
    SECTION("one that hangs, which costs less than 3 s") {
        cluster nodes(3, durable);
        CHECK(once_in_three([&] {
            const auto first = clock::now();
            examine(uris_of(nodes));  // takes long on a busy machine
            nodes.stop(1);
            const auto second = clock::now();
            const auto got = examine(uris_of(nodes));
            const auto third = clock::now();
            nodes.cont(1);
            CHECK(got.status == 2);
            CHECK(has_text(got.out, "look whether the server hangs"));
            return third - second < second - first + 3s;
        }));
    }
    SECTION("an even number of them") {
        cluster nodes(2, durable);
        const auto got = examine({"--config", nodes.config()});
        CHECK(got.status == 1);
        CHECK(has_text(got.out, "warning: configuration: /nodes: "));
    }
}
