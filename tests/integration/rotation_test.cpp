// Passwords and certificates that are replaced while clients hold leases on real servers.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "support/tls_ports.hpp"
#include "support/waiting.hpp"
#include "tool_process.hpp"

#include "../support/driver.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/config.hpp>

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
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
                    R"(, "username": "app", "password_file": "password")" +
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
