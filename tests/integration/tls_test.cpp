// TLS to real servers: what is refused, why, and that the other nodes are not delayed by it.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "../support/has_text.hpp"
#include "support/cluster.hpp"
#include "support/hostile_proxy.hpp"
#include "support/run.hpp"
#include "support/skipped.hpp"
#include "support/tls_ports.hpp"
#include "support/wall_clock.hpp"
#include "tool_process.hpp"

#include <redlock/blocking_client.hpp>

#include <boost/asio/post.hpp>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

// Servers that have a port with TLS, too.
class tls_cluster {
public:
    explicit tls_cluster(std::size_t size) : nodes(size) {
        found(nodes);  // so that two of them can grant without the third
        for (std::size_t i = 0; i < size; ++i) ports.push_back(open(i, "good", "no"));
    }

    // From now on the i-th shows this certificate; `clients`: whether it wants one.
    std::uint16_t open(std::size_t i, const std::string& certificate, const std::string& clients) {
        return open_tls_port(nodes.ask(i), papers, certificate, clients);
    }

    client_options options() const {
        client_options all = nodes.options();
        for (std::size_t i = 0; i < all.nodes.size(); ++i) {
            use_tls(all.nodes[i], ports[i], papers);
        }
        all.connect_timeout = 4s;
        return all;
    }

    certificates papers;
    cluster nodes;
    std::vector<std::uint16_t> ports;
};

// How a lock is had while the node n0 is not reached; returns what is said of that.
std::string said_of_first(const client_options& options) {
    driver d(options, 2);
    auto got = d.acquire("r", {.ttl = 20s});
    INFO(redlock::testing::text_of(got.value()));
    REQUIRE(got.error() == error_code{});
    std::string said;
    REQUIRE(d.until([&] {
        for (const auto& e : d.log().all()) {
            if (e.kind == event_kind::node_down && e.node == "n0") said = e.text;
        }
        return !said.empty();
    }));
    // The others are queried without it.
    const auto again = clock::now();
    auto other = d.acquire("s", {.ttl = 20s});
    REQUIRE(other.error() == error_code{});
    CHECK(clock::now() - again < options.connect_timeout);
    return said;
}

}  // namespace

TEST_CASE("locks are had, waited for and given back over TLS", "[tls]") {
    tls_cluster tls(3);
    driver d(tls.options());
    driver other(tls.options());
    auto held = d.acquire("r", {.ttl = 6s});
    INFO(text_of(held.value()));
    REQUIRE(held.error() == error_code{});
    REQUIRE(d.until([&] { return d.client().stats().renewals >= 2; }));
    REQUIRE(d.extend(held.value(), 60s) == error_code{});  // nobody runs its client for a while
    auto waiting = other.start_acquire("r", {.ttl = 20s, .wait = 20s});
    auto queue = tls.nodes.ask(0);
    other.beside([&] {
        REQUIRE(eventually([&] { return queue.exists("{r}:queue"); }));
    });
    // It is to be woken over TLS, too.
    REQUIRE(other.until([&] {
        return !queue.command({"PUBSUB", "CHANNELS", "redlock:wake:*"}).items.empty();
    }));
    CHECK(d.release(std::move(held.value())) == error_code{});
    REQUIRE(other.finish(waiting).error() == error_code{});
    // Many bytes, in both directions.
    std::vector<outcome<lease>> many(400);
    for (std::size_t i = 0; i < many.size(); ++i) {
        d.client().async_acquire(std::string(400, 'k') + std::to_string(i), {.ttl = 30s},
                                 many[i].handler());
    }
    for (auto& one : many) CHECK(d.finish(one).error() == error_code{});
}

TEST_CASE("a node whose TLS is not right is refused, with the reason and the remedy", "[tls]") {
    tls_cluster tls(3);
    auto options = tls.options();
    std::string reason;
    SECTION("another root") {
        options.nodes[0].tls->ca_file = tls.papers.file("other");
        reason = "name its root in ca_file";
    }
    SECTION("another name") {
        options.nodes[0].port = tls.open(0, "misnamed", "no");
        reason = "set server_name";
    }
    SECTION("no client certificate") {
        options.nodes[0].port = tls.open(0, "good", "yes");
        reason = "set cert_file and key_file";
    }
    SECTION("a certificate that has expired") {
        const auto library = wall_clock_library();
        if (library.empty()) {
            say_not_installed("libfaketime");
            return;
        }
        tls.papers.make_at("FAKETIME=-9d LD_PRELOAD=" + library, "expired");
        options.nodes[0].port = tls.open(0, "expired", "no");
        reason = "has expired";
    }
    SECTION("a certificate that is not valid yet") {
        const auto library = wall_clock_library();
        if (library.empty()) {
            say_not_installed("libfaketime");
            return;
        }
        tls.papers.make_at("FAKETIME=+9d LD_PRELOAD=" + library, "early");
        options.nodes[0].port = tls.open(0, "early", "no");
        reason = "is not valid yet";
    }
    SECTION("a server without TLS") {
        options.nodes[0].port = tls.nodes[0].port();
        reason = "use redis://";
    }
    SECTION("a server with TLS, and a client without") {
        options.nodes[0].tls.reset();
        reason = "use rediss://";
    }
    const auto said = said_of_first(options);
    INFO(said);
    CHECK(has_text(said, reason));
    CHECK(has_text(said, "n0"));
}

// What OpenSSL lets programs do that ask for nothing else, as an old system is configured.
class lax_system {
public:
    lax_system() {
        std::ofstream(file_) << "openssl_conf = all\n[all]\nssl_conf = tls\n[tls]\n"
                                "system_default = lax\n[lax]\nMinProtocol = TLSv1\n"
                                "CipherString = DEFAULT@SECLEVEL=0\n";
        ::setenv("OPENSSL_CONF", file_.c_str(), 1);
    }
    ~lax_system() { ::unsetenv("OPENSSL_CONF"); }
    lax_system(const lax_system&) = delete;
    lax_system& operator=(const lax_system&) = delete;

private:
    scratch folder_;
    std::string file_ = folder_ / "openssl.cnf";
};

TEST_CASE("a server whose TLS is older than 1.2 is refused, whatever the system lets pass", "[tls]") {
    const lax_system lax;  // of the servers and of the command
    tls_cluster tls(1);
    const auto doctor = [&](const std::string& versions) {
        const auto said = tls.nodes.ask(0).command(
            {"CONFIG", "SET", "tls-protocols", versions, "tls-ciphers", "DEFAULT@SECLEVEL=0"});
        REQUIRE(said.type != reply::kind::error);
        tool_process running({"doctor", "--tls-ca", tls.papers.file("ca"), "--node",
                              "rediss://localhost:" + std::to_string(tls.ports[0])});
        running.wait();
        return running.out();
    };
    // It says what it read there: by its address the node is none of its list.
    CHECK(eventually([&] { return has_text(doctor("TLSv1.2"), "other_set"); }));
    for (const std::string old : {"TLSv1.1", "TLSv1"}) {
        CHECK(eventually(
            [&] { return has_text(doctor(old), "the server refused the TLS handshake"); }));
    }
}

TEST_CASE("a file that can't be used is an error of the options, with its node", "[tls]") {
    tls_cluster tls(3);
    auto options = tls.options();
    options.nodes[1].tls->ca_file = tls.papers.file("none");
    std::string said;
    try {
        const blocking_client none(options);
    } catch (const std::invalid_argument& e) {
        said = e.what();
    }
    INFO(said);
    CHECK(has_text(said, "/nodes/1/tls/ca_file"));
}

TEST_CASE("a client certificate opens a server that wants one", "[tls]") {
    tls_cluster tls(1);
    auto options = tls.options();
    options.nodes[0].port = tls.open(0, "good", "yes");
    options.nodes[0].tls->cert_file = tls.papers.file("client");
    options.nodes[0].tls->key_file = tls.papers.key("client");
    driver d(options);
    CHECK(d.acquire("r").error() == error_code{});
}

TEST_CASE("a handshake that hangs, or is cut, delays nobody, and is made again", "[tls]") {
    tls_cluster tls(3);
    hostile_proxy between(tls.ports[0]);
    auto options = tls.options();
    options.nodes[0].port = between.node("n0").port;
    options.connect_timeout = 3s;
    SECTION("it hangs") {
        between.set({.what = harm::kind::stall});
        CHECK(has_text(said_of_first(options), "could not connect in time"));
    }
    SECTION("it is cut after so many bytes") {
        const std::size_t after = GENERATE(0U, 1U, 5U, 90U, 300U, 700U);
        between.set({.what = harm::kind::cut, .after = after});
        INFO(after);
        driver d(options, 2);
        auto got = d.acquire("r", {.ttl = 20s});
        REQUIRE(got.error() == error_code{});
        d.await_up("n0");  // at the next try
        CHECK(between.has_struck());
    }
    SECTION("each side gets one byte at a time") {
        options.connect_timeout = 3 * patience;  // each byte wakes both sides: long on a busy machine
        between.set({.what = harm::kind::throttle});
        driver d(options, 2);
        REQUIRE(d.until([&] { return d.log().up("n0"); }, options.connect_timeout));
        CHECK(between.connections_accepted() == 1);  // at the first try
        CHECK(d.acquire("r").error() == error_code{});
    }
}

TEST_CASE("what is still unread when a write fails opens no connection again", "[tls]") {
    tls_cluster tls(1);
    hostile_proxy between(tls.ports[0]);
    auto options = tls.options();
    options.nodes[0].port = between.node("n0").port;
    driver d(options);
    for (int i = 0; i < 5; ++i) {
        INFO(i);
        d.await_up("n0");
        between.set({.what = harm::kind::reset, .after = 20});
        auto first = d.start_acquire("a" + std::to_string(i), {.ttl = 20s, .wait = patience});
        catch_up(d.context());  // it is sent
        REQUIRE(eventually([&] { return between.has_struck(); }));
        // The first bytes of the answer are read between the call and its write.
        driver::granted second;
        bool is_begun = false;
        boost::asio::post(d.context(), [&] {
            second = d.start_acquire("b" + std::to_string(i), {.ttl = 20s, .wait = patience});
            is_begun = true;
        });
        REQUIRE(d.until([&] { return is_begun; }));
        CHECK(d.finish(second).error() == error_code{});
        CHECK(d.finish(first).error() == error_code{});
    }
}

TEST_CASE("the command speaks TLS by its URI and by its configuration", "[tls]") {
    tls_cluster tls(3);
    const scratch folder;
    const std::string file = folder / "nodes.json";
    std::string nodes;
    for (const auto port : tls.ports) {
        nodes += (nodes.empty() ? "" : ", ") + std::string(R"({"host": "localhost", "port": )") +
                 std::to_string(port) + R"(, "tls": {"ca_file": ")" + tls.papers.file("ca") + "\"}}";
    }
    std::ofstream(file) << R"({"connect_timeout_ms": 3000, "cluster": "test", "nodes": [)" << nodes << "]}";
    tool_process run({"run", "--config", file, "r", "--", "echo", "locked"});
    CHECK(run.wait() == 0);
    CHECK(run.out() == "locked\n");
    // The system's roots do not know ours.
    // With the default connect_timeout a busy machine may not get so far.
    const std::string uri = "rediss://localhost:" + std::to_string(tls.ports[0]);
    CHECK(eventually([&] {
        tool_process doctor({"doctor", "--node", uri});
        CHECK(doctor.wait() == 2);
        return has_text(doctor.out(), "name its root in ca_file");
    }));
}
