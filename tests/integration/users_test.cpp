// The users of deploy/users.acl: what each may do, and that nothing they are for is refused to them;
// knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "../support/project.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"
#include "tool_call.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

const server_options with_users{.password = "pw", .keeps_data = true, .has_users = true};

// As it logs in, and with the prefix that the users may use.
client_options as_user(const cluster& nodes, const std::string& name, bool fencing = true) {
    auto options = nodes.options(fencing);
    options.key_prefix = "lock:";
    for (auto& node : options.nodes) node.username = name;
    return options;
}

// The same for the command.
call_words config_for(const scratch& folder, cluster& nodes, const std::string& name) {
    std::ofstream file(folder / (name + ".json"));
    file << R"({"key_prefix": "lock:", "cluster": "test", "nodes": [)";
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        file << (i == 0 ? "" : ", ") << "\"redis://" << name << ":pw@127.0.0.1:" << nodes[i].port()
             << '"';
    }
    file << "]}";
    return {"--config", folder / (name + ".json")};
}

tool_outcome call(const std::string& command, call_words words, const call_words& rest = {}) {
    words.insert(words.begin(), command);
    words.insert(words.end(), rest.begin(), rest.end());
    return outcome_of(words);
}

// What the nodes have refused, to whichever user.
std::vector<std::string> refused_on(cluster& nodes) {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const auto& entry : nodes.ask(i).command({"ACL", "LOG"}).items) {
            for (std::size_t at = 0; at + 1 < entry.items.size(); at += 2) {
                if (entry.items[at].text == "object") found.push_back(entry.items[at + 1].text);
            }
        }
    }
    return found;
}

const std::vector<std::string> nothing;

std::set<std::string> words_of(const std::string& text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

// The blocks of rights in docs/nodes.md, in their order.
std::vector<std::set<std::string>> documented() {
    const std::string text = read_file(project_folder() / "docs" / "nodes.md");
    const std::string opening = "```acl\n";
    std::vector<std::set<std::string>> found;
    for (auto at = text.find(opening); at != text.npos; at = text.find(opening, at + 1)) {
        const auto begin = at + opening.size();
        found.push_back(words_of(text.substr(begin, text.find("```", begin) - begin)));
    }
    return found;
}

std::set<std::string> rights_in_file(const std::string& user) {
    std::ifstream file(project_folder() / "deploy" / "users.acl");
    const std::string begin = "user " + user + " on ";
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(begin)) continue;
        auto words = words_of(line.substr(begin.size()));
        // They take away what a server may give each new user.
        CHECK(words.erase("resetchannels") + words.erase("-@all") == 2);
        return words;
    }
    return {};
}

}  // namespace

TEST_CASE("users.acl gives each user what docs/nodes.md says, and no password", "[users]") {
    const auto blocks = documented();
    REQUIRE(blocks.size() == 4);  // the second is of plain locks
    CHECK(rights_in_file("program") == blocks[0]);
    CHECK(rights_in_file("reader") == blocks[2]);
    auto of_operator = blocks[3];
    of_operator.insert(blocks[0].begin(), blocks[0].end());
    CHECK(rights_in_file("operator") == of_operator);
    CHECK(read_file(project_folder() / "deploy" / "users.acl")
              .starts_with("user default off ~* +@all\n"));
    CHECK(read_file(project_folder() / "deploy" / "users.acl").find('>') == std::string::npos);
    for (const auto& right : blocks[1]) CHECK(blocks[0].contains(right));
}

TEST_CASE("nobody does anything without a user and a password", "[users][servers]") {
    cluster nodes(1, with_users);
    direct stranger(nodes[0].port());
    for (const call_words& words : {call_words{"PING"}, {"GET", "lock:r"}, {"AUTH", "pw"}}) {
        CHECK(stranger.command(words).type == reply::kind::error);
    }
    CHECK(stranger.command({"AUTH", "program", "pw"}).type == reply::kind::status);
    CHECK(stranger.command({"GET", "lock:r"}).type == reply::kind::nil);
    CHECK(stranger.command({"GET", "other"}).type == reply::kind::error);
    CHECK(stranger.command({"CONFIG", "SET", "appendonly", "no"}).type == reply::kind::error);
}

TEST_CASE("a program takes locks of each kind, and nothing is refused to it", "[users][servers]") {
    cluster nodes(3, with_users);
    const bool fencing = GENERATE(true, false);
    const auto options = as_user(nodes, "program", fencing);
    driver d(options);
    auto held = d.acquire("r", {.ttl = 10s});
    REQUIRE(held.error() == error_code{});
    CHECK(d.extend(held.value(), 20s) == error_code{});
    CHECK(d.inspect("r").value().held);
    auto waits = options;
    event_log log;
    log.attach(waits);
    waiting_client next(waits);
    for (std::size_t i = 0; i < 3 && fencing; ++i) {
        REQUIRE(d.until([&] { return nodes.ask(i).exists("lock:{lock:r}:queue"); }));
    }
    CHECK(d.release(std::move(held.value())) == error_code{});
    REQUIRE(d.until([&] { return next.done(); }));
    REQUIRE(next.granted());
    CHECK(next.release());
    CHECK(log.count(event_kind::node_reported, severity::warning) == 0);
    if (fencing) {
        acquire_options shared{.ttl = 10s, .mode = lock_mode::shared};
        auto one = d.acquire("s", shared);
        auto other = d.acquire("s", shared);
        CHECK(other.error() == error_code{});
        CHECK(d.release(std::move(one.value())) == error_code{});
        auto slot = d.acquire("p", {.ttl = 10s, .slots = 2});
        CHECK(slot.error() == error_code{});
        auto noted = d.acquire("n", {.ttl = 10s, .note = "why"});
        CHECK(noted.error() == error_code{});
        CHECK(d.downgrade(noted.value()) == error_code{});
    }
    auto refused = refused_on(nodes);
    if (!fencing) std::erase(refused, "delifeq");  // only Valkey 9 knows that right
    CHECK(refused == nothing);
}

TEST_CASE("the command does for program and operator what they are for", "[users][servers]") {
    cluster nodes(3, with_users);
    const scratch folder;
    const auto program = config_for(folder, nodes, "program");
    const auto admin = config_for(folder, nodes, "operator");
    CHECK(call("init", admin, {"--yes"}).status == 0);
    CHECK(call("run", program, {"r", "--", "true"}).status == 0);
    const std::string token = folder / "token";
    CHECK(call("acquire", program, {"r", "--ttl", "60s", "--token-file", token}).status == 0);
    CHECK(call("extend", program, {"--token-file", token}).status == 0);
    CHECK(call("list", admin).status == 0);
    CHECK(call("inspect", admin, {"r"}).status == 0);
    const auto robbed = call("release", admin, {"--force", "--yes", "r"});
    CHECK(has_text(robbed.out, "'r' was taken from"));
    CHECK(call("release", program, {"--token-file", token}).status == 123);
    const auto checked = call("doctor", admin);
    INFO(checked.out);
    CHECK(checked.status == 0);
    CHECK(refused_on(nodes) == nothing);
}

TEST_CASE("a reader looks at everything, and nothing of that is refused to it",
          "[users][servers]") {
    cluster nodes(3, with_users);
    driver d(as_user(nodes, "program"));
    auto held = d.acquire("r", {.ttl = 60s, .note = "why"});
    auto slot = d.acquire("p", {.ttl = 60s, .slots = 2});
    auto shared = d.acquire("s", {.ttl = 60s, .mode = lock_mode::shared});
    REQUIRE(held.error() == error_code{});
    REQUIRE(slot.error() == error_code{});
    REQUIRE(shared.error() == error_code{});
    waiting_client next([&] {
        auto waits = as_user(nodes, "program");
        waits.client_name = "next";
        return waits;
    }());
    REQUIRE(d.until([&] { return nodes.ask(0).exists("lock:{lock:r}:queue"); }));
    const scratch folder;
    const auto reader = config_for(folder, nodes, "reader");
    for (const std::string name : {"r", "p", "s", "nobody's"}) {
        const auto seen = call("inspect", reader, {name});
        INFO(seen.out << seen.err);
        CHECK(seen.status == 0);
        CHECK(has_text(seen.out, "(quorum 2 of 3)"));
    }
    CHECK(has_text(call("inspect", reader, {"r"}).out, "(\"why\")"));
    const auto listed = call("list", reader);
    CHECK(listed.status == 0);
    CHECK(has_text(listed.out, "'r' held by"));
    CHECK(has_text(listed.out, "'s' shared by"));
    tool_process watching([&] {
        call_words words{"watch"};
        words.insert(words.end(), reader.begin(), reader.end());
        words.emplace_back("r");
        return words;
    }());
    CHECK(eventually([&] { return has_text(watching.out(), "'r' held by"); }));
    CHECK(d.release(std::move(held.value())) == error_code{});
    REQUIRE(d.until([&] { return next.done(); }));
    CHECK(eventually([&] { return has_text(watching.out(), "next"); }));
    CHECK(refused_on(nodes) == nothing);
}

TEST_CASE("a reader that tries to lock gets the reason, and what would help", "[users][servers]") {
    cluster nodes(3, with_users);
    {
        driver founder(as_user(nodes, "program"));
        REQUIRE(founder.acquire("founding", {.wait = 10s}).error() == error_code{});
        REQUIRE(founder.until([&] { return nodes.ask(0).exists("lock:redlock:node"); }));
        driver d(as_user(nodes, "reader"));
        const auto refused = d.acquire("r", {.ttl = 10s});
        CHECK(refused.error() == errc::no_quorum);
        const auto votes = refused.value().votes();
        CHECK(std::count_if(votes.begin(), votes.end(), [](const node_vote& v) {
                  return v.error == errc::missing_right;
              }) >= 2);
    }
    const scratch folder;
    const auto reader = config_for(folder, nodes, "reader");
    const std::vector<call_words> tries{{"run", "r", "--", "true"},
                                        {"run", "--shared", "r", "--", "true"},
                                        {"run", "--slots", "2", "r", "--", "true"},
                                        {"run", "--wait", "1s", "r", "--", "true"},
                                        {"run", "a", "b", "--", "true"},
                                        {"acquire", "r"}};
    for (const auto& words : tries) {
        const auto got = call(words[0], reader, {words.begin() + 1, words.end()});
        INFO(got.err);
        CHECK(got.status == 121);
        CHECK(has_text(got.err, "the user lacks a right: 0 of 3 nodes granted"));
        CHECK(has_text(got.err, "this user may not lock here: log in as a user that may"));
        CHECK_FALSE(has_text(got.err, "fix these nodes"));
    }
    // What it is advised to do: another user; or what doctor names, which here is granted.
    CHECK(call("run", config_for(folder, nodes, "program"), {"r", "--", "true"}).status == 0);
    const auto checked = call("doctor", reader);
    const std::string begin = "give this user ";
    const auto at = checked.out.find(begin);
    REQUIRE(at != std::string::npos);
    const std::string missing =
        checked.out.substr(at + begin.size(), checked.out.find('\n', at) - at - begin.size());
    INFO(missing);
    for (std::size_t i = 0; i < 3; ++i) {
        std::string text = read_file(nodes[i].users_file());
        const auto line_end = text.find('\n', text.find("user reader "));
        const bool has_channels = servers_have_channel_rights();
        text.insert(line_end, " " + missing + (has_channels ? " &lock:redlock:wake:*" : ""));
        std::ofstream(nodes[i].users_file()) << text;
        CHECK(nodes.ask(i).command({"ACL", "LOAD"}).text == "OK");
    }
    CHECK(call("run", reader, {"r", "--", "true"}).status == 0);
    CHECK(call("run", reader, {"--shared", "r", "--", "true"}).status == 0);
}

TEST_CASE("a node with these users keeps its locks over a restart, and votes at once",
          "[users][servers]") {
    cluster nodes(3, with_users);
    driver d(as_user(nodes, "program"));
    auto held = d.acquire("r", {.ttl = 60s});
    auto shared = d.acquire("s", {.ttl = 60s, .mode = lock_mode::shared});
    REQUIRE(held.error() == error_code{});
    REQUIRE(shared.error() == error_code{});
    REQUIRE(d.until([&] { return nodes.holding("lock:r") == 3 && nodes.holding("lock:s") == 3; }));
    for (std::size_t i = 0; i < 3; ++i) nodes.restart(i);
    CHECK(nodes.holding("lock:r") == 3);
    CHECK(nodes.holding("lock:s") == 3);
    CHECK(nodes.ask(0).exists("lock:{lock:r}:fence"));
    driver other(as_user(nodes, "program"));
    CHECK(other.acquire("r").error() == errc::contended);
    CHECK(other.acquire("another", {.wait = 10s}).error() == error_code{});
}

// Redis 7.0 and 8.0 read what a script wrote with the rights of the user `default`; 6.0 does not.
TEST_CASE("a server that forgets its locks for want of rights has no vote", "[users][servers]") {
    cluster nodes(3, with_users);
    driver d(as_user(nodes, "program"));
    auto held = d.acquire("r", {.ttl = 60s});
    REQUIRE(held.error() == error_code{});
    REQUIRE(d.until([&] { return nodes.holding("lock:r") == 3; }));
    for (std::size_t i = 0; i < 2; ++i) {
        std::string text = read_file(nodes[i].users_file());
        text.replace(0, text.find('\n'), "user default off");
        std::ofstream(nodes[i].users_file()) << text;
        nodes.restart(i);
    }
    driver other(as_user(nodes, "program"));
    const auto second = other.acquire("r");
    CHECK(second.error());
    CHECK_FALSE(second.value());
    CHECK(held.value());
}

TEST_CASE("a user that may not even look gets the reason, too", "[users]") {
    cluster nodes(3, with_users);
    for (std::size_t i = 0; i < 3; ++i) {
        std::ofstream(nodes[i].users_file(), std::ios::app)
            << "user guest on >pw ~lock:* -@all +get +info\n";
        REQUIRE(nodes.ask(i).command({"ACL", "LOAD"}).text == "OK");
    }
    const scratch folder;
    const auto got = call("inspect", config_for(folder, nodes, "guest"), {"r"});
    INFO(got.err);
    CHECK(got.status == 121);
    CHECK(has_text(got.err, "this user may not look: log in as a user that may"));
    CHECK_FALSE(has_text(got.err, "fix these nodes"));
}

TEST_CASE("a lease outlives a change of the password in users.acl", "[users][servers]") {
    cluster nodes(3, with_users);
    driver d(as_user(nodes, "program"));
    auto held = d.acquire("r", {.ttl = 10s});
    REQUIRE(held.error() == error_code{});
    const auto load = [&](const std::string& from, const std::string& to) {
        for (std::size_t i = 0; i < 3; ++i) {
            std::string text = read_file(nodes[i].users_file());
            text.replace(text.find(from, text.find("user program ")), from.size(), to);
            std::ofstream(nodes[i].users_file()) << text;
            REQUIRE(nodes.ask(i).command({"ACL", "LOAD"}).text == "OK");
        }
    };
    load(">pw", ">pw >new");
    // Redis 7.0 hangs up on all clients then.
    CHECK(d.until([&] { return d.extend(held.value(), 15s) == error_code{}; }));
    auto options = as_user(nodes, "program");
    for (auto& node : options.nodes) node.password = "new";
    driver other(options);
    CHECK(other.acquire("other", {.wait = 10s}).error() == error_code{});
    CHECK(held.value());
    CHECK(d.release(std::move(held.value())) == error_code{});
    load(">pw ", "");
    CHECK(other.acquire("another", {.wait = 10s}).error() == error_code{});
}
