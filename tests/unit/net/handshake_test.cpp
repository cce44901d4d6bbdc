// Tests what is said to a node first, and every way in which it may refuse; knows no connection.
// SPDX-License-Identifier: MIT
#include "net/handshake.hpp"
#include "resp/parser.hpp"
#include "resp/scripts.hpp"
#include "support/catch.hpp"
#include "unit/runtime/support/fake_node.hpp"

#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using outcome = net::handshake::outcome;

namespace {

const std::string secret = "hunter2-swordfish";

node_options plain_node() { return {}; }
node_options guarded_node() {
    node_options n;
    n.username = "ann";
    n.password = secret;
    n.database = 3;
    return n;
}

std::vector<fakes::command> said_to(const node_options& node) {
    net::handshake h(node, "a name");
    std::string out;
    h.begin(out);
    resp::parser p;
    return fakes::decode(p, out);
}

/// Feeds replies until the handshake says something else than `more`.
outcome after(net::handshake& h, std::string_view bytes) {
    std::string out;
    h.begin(out);
    resp::parser p;
    resp::reply r;
    outcome o = outcome::more;
    while (o == outcome::more && p.feed(bytes, r) == resp::parser::outcome::complete) {
        o = h.on_reply(r);
    }
    return o;
}

std::string scripts_loaded() {
    std::string all;
    for (const auto& s : resp::all_scripts()) all += fakes::bulk(s.sha1);
    return all;
}

}  // namespace

TEST_CASE("everything is said at once and in order") {
    const auto all = said_to(guarded_node());
    REQUIRE(all.size() == 3 + resp::all_scripts().size());
    CHECK(all[0] == fakes::command{"AUTH", "ann", secret});
    CHECK(all[1] == fakes::command{"SELECT", "3"});
    CHECK(all[2] == fakes::command{"CLIENT", "SETNAME", "a_name"});
    for (std::size_t i = 0; i < resp::all_scripts().size(); ++i) {
        CHECK(all[3 + i] ==
              fakes::command{"SCRIPT", "LOAD", std::string(resp::all_scripts()[i].text)});
    }
}

TEST_CASE("nothing is said that was not configured") {
    CHECK(said_to(plain_node()).front() == fakes::command{"CLIENT", "SETNAME", "a_name"});
    node_options n;
    n.password = secret;
    CHECK(said_to(n).front() == fakes::command{"AUTH", secret});
}

TEST_CASE("it is done after the last reply, not before") {
    const auto node = GENERATE(plain_node(), guarded_node());
    net::handshake h(node, "x");
    std::string all = (node.password.empty() ? "+OK\r\n" : "+OK\r\n+OK\r\n+OK\r\n") +
                      scripts_loaded();
    const std::size_t last = fakes::bulk(resp::all_scripts().front().sha1).size();
    CHECK(after(h, all.substr(0, all.size() - last)) == outcome::more);
    CHECK(after(h, all) == outcome::done);  // `begin` starts anew
}

TEST_CASE("each step can fail, with its cause") {
    struct failing {
        const char* step;
        std::string replies;
        errc cause;
    };
    const std::string ok = "+OK\r\n";
    const std::string loading = "-LOADING Redis is loading the dataset in memory\r\n";
    const auto f = GENERATE_COPY(
        failing{"wrong password", "-WRONGPASS invalid username-password pair\r\n",
                errc::auth_failed},
        failing{"no password set", "-ERR AUTH called without any password\r\n", errc::auth_failed},
        failing{"loading at AUTH", loading, errc::server_error},
        failing{"database out of range", ok + "-ERR DB index is out of range\r\n",
                errc::server_error},
        failing{"not authenticated after all", ok + "-NOAUTH Authentication required.\r\n",
                errc::auth_failed},
        failing{"not authenticated at SETNAME", ok + ok + "-NOAUTH Authentication required.\r\n",
                errc::auth_failed},
        failing{"loading", ok + ok + ok + loading, errc::server_error},
        failing{"no right to load", ok + ok + ok + "-NOPERM no permissions\r\n",
                errc::script_rejected},
        failing{"another SHA1", ok + ok + ok + fakes::bulk(std::string(40, 'a')),
                errc::script_rejected},
        failing{"no SHA1", ok + ok + ok + ":40\r\n", errc::script_rejected},
        failing{"nil", ok + ok + ok + "$-1\r\n", errc::script_rejected});
    INFO(f.step);
    const auto node = guarded_node();
    net::handshake h(node, "x");
    CHECK(after(h, f.replies) == outcome::failed);
    CHECK(h.why().answer == vote::refused);
    CHECK(h.why().error == f.cause);
    CHECK(h.why().detail.find(secret) == std::string::npos);
    CHECK_FALSE(h.why().detail.empty());
}

TEST_CASE("the last script can fail too") {
    const auto node = plain_node();
    net::handshake h(node, "x");
    const std::string first = fakes::bulk(resp::all_scripts().front().sha1);
    // The first one's hash again, where the second one's is due.
    CHECK(after(h, "+OK\r\n" + first + first) == outcome::failed);
    CHECK(h.why().error == errc::script_rejected);
}

TEST_CASE("a name that is refused is no failure") {
    const auto node = plain_node();
    net::handshake h(node, "x");
    CHECK(after(h, "-NOPERM no permissions to run 'client|setname'\r\n" + scripts_loaded()) ==
          outcome::done);
}

// A server that does not know AUTH says what it was sent.
TEST_CASE("the password does not come back in the failure") {
    const auto node = guarded_node();
    net::handshake h(node, "x");
    CHECK(after(h, "-ERR unknown command `AUTH`, with args beginning with: `ann`, `" + secret +
                       "`, \r\n") == outcome::failed);
    CHECK(h.why().error == errc::auth_failed);
    CHECK(h.why().detail.find(secret) == std::string::npos);
    CHECK(h.why().detail.find(secret.substr(0, 7)) == std::string::npos);
}
