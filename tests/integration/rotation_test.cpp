// Passwords, tokens and certificates that are replaced while clients hold leases on real servers.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "support/tls_ports.hpp"
#include "support/waiting.hpp"
#include "tool_call.hpp"

#include "../support/outcome.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/config.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

constexpr const char* everything[] = {"~*", "&*", "+@all"};

// Three servers, the user "app", and the files by which a client logs in there.
class rotating_cluster {
public:
    explicit rotating_cluster(bool has_tls) : has_tls_(has_tls), nodes(3) {
        found(nodes);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            std::vector<std::string> words = {"app", "on", ">first-secret"};
            words.insert(words.end(), std::begin(everything), std::end(everything));
            nodes.ask(i).acl_setuser(words);
        }
        put_text("password", "first-secret\n");
        if (!has_tls) return;
        put_text("roots", text_of(first.file("ca")) + text_of(second.file("ca")));
        put("ca", first.file("ca"));
        put("cert", first.file("client"));
        put("key", first.key("client"));
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            ports_.push_back(open_tls_port(nodes.ask(i), first, "good", "yes"));
            nodes.ask(i).config_set("tls-ca-cert-file", folder / "roots");
        }
    }

    client_options options(event_log& log) const {
        std::string text = R"({"node_timeout_ms": 3000, "connect_timeout_ms": 6000,
                               "cluster": "test", "nodes": [)";
        for (std::size_t i = 0; i < nodes_size; ++i) {
            const auto port = has_tls_ ? ports_[i] : nodes_ports(i);
            text += std::string(i == 0 ? "" : ", ") + R"({"name": "n)" + std::to_string(i) +
                    R"(", "host": "localhost", "port": )" + std::to_string(port) +
                    R"(, "username": "app", )" +
                    (has_command_ ? R"("password_command": ["./get", "n)" + std::to_string(i) +
                                        R"("])"
                                  : R"("password_file": "password")") +
                    (has_tls_ ? R"(, "tls": {"ca_file": "ca", "cert_file": "cert",
                                    "key_file": "key"}})"
                              : "}");
        }
        std::ofstream(folder / "nodes.json") << text << "]}";
        auto read = load_options(folder / "nodes.json");
        if (!read) throw std::runtime_error(read.error().message());
        log.attach(*read);
        return std::move(*read);
    }

    /// From now on options have a program in place of the file, whose $1 is the node's name.
    void use_command(const std::string& script) {
        has_command_ = true;
        const std::string all = "#!/bin/sh\ncd " + (folder / "") + "\n" + script + "\n";
        std::ofstream(folder / "get.next") << all;
        ::chmod((folder / "get.next").c_str(), 0700);
        std::filesystem::rename(folder / "get.next", folder / "get");
    }
    std::vector<std::string> lines_of(const std::string& name) const {
        std::ifstream file(folder / name);
        std::vector<std::string> found;
        for (std::string line; std::getline(file, line);) found.push_back(line);
        return found;
    }
    void kill_app(std::size_t node) { nodes.ask(node).command({"CLIENT", "KILL", "USER", "app"}); }

    // By renaming, as rotations should.
    void put_text(const std::string& name, const std::string& text) const {
        std::ofstream(folder / (name + ".next")) << text;
        std::filesystem::rename(folder / (name + ".next"), folder / name);
    }
    void put(const std::string& name, const std::string& from) const {
        put_text(name, text_of(from));
    }
    void show(std::size_t node, const certificates& of) {
        nodes.ask(node).command({"CONFIG", "SET", "tls-cert-file", of.file("good"),
                                 "tls-key-file", of.key("good")});
    }

    static std::string text_of(const std::string& path) { return read_file(path); }

    static constexpr std::size_t nodes_size = 3;
    const bool has_tls_;
    certificates first;
    certificates second;
    scratch folder;
    mutable cluster nodes;

private:
    std::uint16_t nodes_ports(std::size_t i) const { return nodes[i].port(); }

    bool has_command_ = false;
    std::vector<std::uint16_t> ports_;
};

std::size_t times_up(const event_log& log, const std::string& node) {
    std::size_t found = 0;
    for (const auto& e : log.all()) found += e.kind == event_kind::node_up && e.node == node;
    return found;
}

// Every node in turn has the client connect again.
void reconnect_each(rotating_cluster& all, const event_log& log) {
    for (std::size_t i = 0; i < all.nodes.size(); ++i) {
        const std::string name = "n" + std::to_string(i);
        REQUIRE(eventually([&] { return times_up(log, name) > 0; }));
        const std::size_t before = times_up(log, name);
        all.nodes.ask(i).kill_other_clients();
        INFO(name);
        REQUIRE(eventually([&] { return times_up(log, name) > before; }));
    }
}

std::string report_of(const event_log& log, const std::string& node) {
    for (const auto& e : log.all()) {
        const bool is_of_files = e.detail.find("password_file") != std::string::npos;
        if (e.kind == event_kind::node_reported && e.node == node && is_of_files) return e.text;
    }
    return {};
}

}  // namespace

TEST_CASE("a rotation of passwords and certificates under load loses no lease", "[tls][threads]") {
    rotating_cluster all(true);
    event_log log;
    blocking_client client(all.options(log));
    std::vector<lease> held;
    for (int i = 0; i < 20; ++i) {
        auto got = client.acquire("held" + std::to_string(i), {.ttl = 8s});
        REQUIRE(got.has_value());
        held.push_back(std::move(*got));
    }
    std::atomic<bool> is_over{false};
    std::atomic<int> failed{0};
    std::atomic<int> done{0};
    std::jthread load([&] {
        while (!is_over) {
            if (auto got = client.acquire("load", {.ttl = 8s, .wait = 20s})) {
                ++done;
            } else {
                ++failed;
            }
        }
    });

    // Both passwords count, the file is replaced, the old one goes.
    for (std::size_t i = 0; i < 3; ++i) all.nodes.ask(i).acl_setuser({"app", ">two"});
    all.put_text("password", "two\n");
    for (std::size_t i = 0; i < 3; ++i) all.nodes.ask(i).acl_setuser({"app", "<first-secret"});
    reconnect_each(all, log);
    // The same with the roots, then with the certificates of both sides.
    all.put("ca", all.folder / "roots");
    for (std::size_t i = 0; i < 3; ++i) all.show(i, all.second);
    reconnect_each(all, log);
    all.put("ca", all.second.file("ca"));
    all.put("cert", all.second.file("client"));
    all.put("key", all.second.key("client"));
    for (std::size_t i = 0; i < 3; ++i) {
        all.nodes.ask(i).config_set("tls-ca-cert-file", all.second.file("ca"));
    }
    reconnect_each(all, log);

    const int at_the_end = done;
    CHECK(eventually([&] { return done > at_the_end + 10; }));
    const auto renewals = client.stats().renewals;
    CHECK(eventually([&] { return client.stats().renewals > renewals + held.size(); }));
    is_over = true;
    load.join();
    CHECK(failed == 0);
    CHECK(log.count(event_kind::lost) == 0);
    for (const lease& one : held) CHECK(static_cast<bool>(one));
    // What was replaced is of no use any more.
    event_log ignored;
    auto old = all.options(ignored);
    for (node_options& node : old.nodes) node.tls->ca_file = all.first.file("ca");
    blocking_client refused(old);
    const auto none = refused.acquire("other");
    REQUIRE_FALSE(none.has_value());
    CHECK(none.error().message().find("name its root in ca_file") != std::string::npos);
}

TEST_CASE("a password file that can't be read leaves the last password, and is reported") {
    rotating_cluster all(false);
    event_log log;
    blocking_client client(all.options(log));
    REQUIRE(client.acquire("r").has_value());
    const std::string file = all.folder / "password";
    std::string why;
    SECTION("it is gone") {
        std::filesystem::remove(file);
        why = "can't be read: No such file";
    }
    SECTION("it is empty, as where another program is about to write it") {
        std::ofstream(file, std::ios::trunc).flush();
        why = "is empty";
    }
    SECTION("a pipe stands there") {
        std::filesystem::remove(file);
        REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
        why = "is no regular file";
    }
    reconnect_each(all, log);
    REQUIRE(client.acquire("r").has_value());
    const std::string said = report_of(log, "n0");
    INFO(said);
    CHECK(said.find("password_file: " + file + " " + why) != std::string::npos);
    CHECK(said.find("the password that was read before is used") != std::string::npos);

    // Now it is also the reason why the nodes refuse the client.
    for (std::size_t i = 0; i < 3; ++i) {
        all.nodes.ask(i).acl_setuser({"app", ">two", "<first-secret"});
        all.nodes.ask(i).kill_other_clients();
    }
    std::string votes;
    REQUIRE(eventually([&] {
        const auto none = client.acquire("r");
        votes = none ? std::string() : none.error().message();
        return votes.find("WRONGPASS") != std::string::npos;
    }));
    CHECK(votes.find(file + " " + why) != std::string::npos);
    CHECK(votes.find("first-secret") == std::string::npos);
    std::filesystem::remove(file);
    all.put_text("password", "two");
    CHECK(eventually([&] { return client.acquire("r").has_value(); }));
}

TEST_CASE("a client whose first password can't be read is not made") {
    const redis_server server;
    client_options options;
    options.nodes.push_back(server.node());
    options.nodes[0].password_file = "/no/such/file";
    std::string said;
    try {
        const blocking_client none(options);
    } catch (const std::invalid_argument& e) {
        said = e.what();
    }
    INFO(said);
    CHECK(said.find("/nodes/0/password_file: /no/such/file can't be read: No such file") !=
          std::string::npos);
    options.nodes[0].password = "the last one";
    CHECK_NOTHROW(blocking_client{options});
}

namespace {

constexpr const char* gives_token = "echo $1 >>calls; exec cat password";

bool has_told(const event_log& log, const std::string& secret) {
    const auto all = log.all();
    return std::any_of(all.begin(), all.end(), [&](const seen_event& e) {
        return has_text(e.text + e.detail, secret);
    });
}

// Of the failed connections to a node the last one with this error.
std::string why_down(const event_log& log, const std::string& node, errc error) {
    std::string why;
    for (const auto& e : log.all()) {
        if (e.kind == event_kind::node_down && e.node == node && e.error == error) why = e.detail;
    }
    return why;
}

}  // namespace

TEST_CASE("a command gives each connection the token of now, also that of a waiter and with TLS",
          "[tls][threads]") {
    rotating_cluster all(GENERATE(false, true));
    all.use_command(gives_token);
    event_log log;
    event_log waiters;
    blocking_client client(all.options(log));
    auto held = client.acquire("r", {.ttl = 8s});
    REQUIRE(held.has_value());
    waiting_client waiter(all.options(waiters), {.ttl = 8s, .wait = 60s});
    REQUIRE(eventually([&] { return all_are_heard_by(all.nodes, 1); }));

    // One node is first to take no other token than the new one.
    all.nodes.ask(0).acl_setuser({"app", ">next-secret", "<first-secret"});
    all.kill_app(0);
    REQUIRE(eventually([&] { return !why_down(log, "n0", errc::auth_failed).empty(); }));
    for (std::size_t i = 1; i < 3; ++i) all.nodes.ask(i).acl_setuser({"app", ">next-secret"});
    all.put_text("password", "next-secret\n");
    for (std::size_t i = 1; i < 3; ++i) all.nodes.ask(i).acl_setuser({"app", "<first-secret"});
    for (const auto* node : {"n0", "n1", "n2"}) {
        const auto i = static_cast<std::size_t>(node[1] - '0');
        const auto before = times_up(log, node);
        if (i > 0) all.kill_app(i);
        INFO(node);
        CHECK(eventually([&] { return log.up(node) && times_up(log, node) + (i == 0) > before; }));
    }
    const auto renewals = client.stats().renewals;
    CHECK(eventually([&] { return client.stats().renewals > renewals; }));
    CHECK(static_cast<bool>(*held));
    CHECK(eventually([&] { return all_are_heard_by(all.nodes, 1); }));
    CHECK(client.release(std::move(*held)).has_value());
    CHECK(waiter.granted());

    const auto calls = all.lines_of("calls");
    for (const auto* node : {"n0", "n1", "n2"}) {
        CHECK(std::count(calls.begin(), calls.end(), node) >= 5);  // 2 sessions and 1 listener
    }
    for (const auto* secret : {"first-secret", "next-secret"}) {
        CHECK_FALSE(has_told(log, secret));
        CHECK_FALSE(has_told(waiters, secret));
    }
}

TEST_CASE("a command that hangs delays no other node, is given up, and ends with the client",
          "[threads]") {
    rotating_cluster all(false);
    all.use_command("[ $1 = n0 ] || exec cat password; echo $$ >>hung; exec sleep 1000");
    event_log log;
    {
        auto options = all.options(log);
        options.connect_timeout = 2s;
        blocking_client client(options);
        const auto got = client.acquire("r", {.ttl = 8s});
        REQUIRE(got.has_value());
        CHECK(got->votes()[0].answer != vote::granted);
        REQUIRE(eventually([&] { return !why_down(log, "n0", errc::no_credentials).empty(); }));
        const auto why = why_down(log, "n0", errc::no_credentials);
        CHECK(why == "password_command " + (all.folder / "./get") +
                         " gave no password within connect_timeout_ms, which is 2000: have it "
                         "answer sooner, or set that to 4000 or more");
        REQUIRE(eventually([&] { return all.lines_of("hung").size() >= 2; }));
        CHECK(static_cast<bool>(*got));
    }
    for (const auto& pid : all.lines_of("hung")) {
        INFO(pid);
        CHECK(eventually([&] { return !is_alive(std::stoi(pid)); }));
    }
}

TEST_CASE("a command that is too slow has the time that its complaint names") {
    rotating_cluster all(false);
    all.use_command("sleep 1; exec cat password");
    event_log log;
    auto options = all.options(log);
    options.connect_timeout = 400ms;
    std::string said;
    for (int tries = 0; tries < 6; ++tries) {
        blocking_client client(options);
        const auto got = client.acquire("r");
        if (got) break;
        said = got.error().message();
        INFO(said);
        const std::string before = "or set that to ";
        const auto at = said.find(before);
        REQUIRE(at != said.npos);
        options.connect_timeout = std::chrono::milliseconds(
            std::stoi(said.substr(at + before.size())));
    }
    CHECK(has_text(said, "there is no password for the node: password_command "));
    blocking_client client(options);
    CHECK(client.acquire("r", {.wait = 20s}).has_value());
}

TEST_CASE("a command that fails is named with its complaint, and runs again until it is repaired") {
    rotating_cluster all(false);
    all.use_command("echo first-secret; echo 'no role: log in' >&2; exit 3");
    event_log log;
    blocking_client client(all.options(log));
    const auto none = client.acquire("r");
    REQUIRE_FALSE(none.has_value());
    CHECK(none.error().code == errc::no_quorum);
    const auto said = none.error().message();
    INFO(said);
    CHECK(has_text(said, "there is no password for the node: password_command " +
                             (all.folder / "./get") + " exited with status 3, \"no role: log in\""
                             ": run it by hand as this user: it has to write the password as its "
                             "first line, and to end with status 0"));
    CHECK_FALSE(has_text(said, "first-secret"));
    all.use_command(gives_token);
    CHECK(client.acquire("r", {.wait = 20s}).has_value());
    CHECK_FALSE(has_told(log, "first-secret"));
}

TEST_CASE("the command shows a token that a program gives in no output and no list of processes") {
    rotating_cluster all(false);
    all.use_command(gives_token);
    event_log log;
    static_cast<void>(all.options(log));  // writes the file
    const std::string file = all.folder / "nodes.json";
    const auto ran = outcome_of({"run", "--config", file, "--verbose", "job", "--", "sh", "-c",
                                 "cat /proc/[0-9]*/cmdline /proc/self/environ | tr '\\0' ' '"});
    CHECK(ran.status == 0);
    CHECK(has_text(ran.out, file));  // what is there is seen
    CHECK_FALSE(has_text(ran.out + ran.err, "first-secret"));
    for (const call_words& words : {call_words{"doctor"}, {"doctor", "--json"}, {"inspect", "job"},
                                    {"list"}, {"init", "--yes"}}) {
        call_words line = words;
        line.insert(line.end(), {"--config", file});
        const auto got = outcome_of(line);
        INFO(words[0] << ": " << got.out << got.err);
        CHECK_FALSE(has_text(got.out + got.err, "first-secret"));
        CHECK_FALSE(has_text(got.out + got.err, "no password"));
    }
    // Each call had connections of its own.
    CHECK(all.lines_of("calls").size() >= 18);
    all.put_text("password", "other\n");
    const auto refused = outcome_of({"doctor", "--config", file});
    CHECK(has_text(refused.out + refused.err, "WRONGPASS"));
    CHECK_FALSE(has_text(refused.out + refused.err, "other"));
}

TEST_CASE("a callback gives user and password from any thread, or never, and others go on",
          "[threads]") {
    rotating_cluster all(false);
    event_log log;
    auto options = all.options(log);
    options.connect_timeout = 2s;
    std::mutex mutex;
    std::vector<std::jthread> helpers;
    std::vector<credentials_request> kept;
    std::atomic<int> abandoned{0};
    std::atomic<bool> throws{true};
    for (node_options& node : options.nodes) {
        node.password.clear();
        node.password_file.clear();
        node.username.clear();
        node.credentials = [&](const credentials_request& request) {
            const std::lock_guard lock(mutex);
            if (request.node() == "n0") {
                helpers.emplace_back([request] { request.answer("first-secret", "app"); });
            } else if (request.node() == "n1") {
                request.answer("first-secret", "app");
            } else if (throws) {
                throw std::runtime_error("the vault\nis sealed");
            } else {
                kept.push_back(request);
                request.on_abandoned([&] { ++abandoned; });
            }
        };
    }
    {
        blocking_client client(options);
        CHECK(client.acquire("r").has_value());
        REQUIRE(eventually([&] { return !why_down(log, "n2", errc::no_credentials).empty(); }));
        CHECK(why_down(log, "n2", errc::no_credentials) ==
              "the credentials callback failed: the vault\\x0ais sealed");
        throws = false;
        REQUIRE(eventually([&] { return abandoned > 0; }));
        CHECK(eventually([&] {
            const auto got = client.acquire("r");
            return got && has_text(got->votes()[2].detail,
                                   "the credentials callback gave no password within");
        }));
        // What comes late is of no use, and of no harm.
        const std::lock_guard lock(mutex);
        for (const auto& request : kept) request.answer("first-secret", "app");
    }
    const std::lock_guard lock(mutex);
    for (const auto& request : kept) request.answer("first-secret", "app");
}
