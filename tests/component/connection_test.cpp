// Tests what a session and a listener have in common, with a greeting of one word; knows no socket.
// SPDX-License-Identifier: MIT
#include "client/connection.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using lines = std::vector<std::string>;

namespace {

const auto broken = boost::system::errc::make_error_code(boost::system::errc::connection_reset);

client_options one_node() {
    client_options o;
    o.nodes.emplace_back();
    return o;
}

struct recorder : detail::transport, detail::connection_owner {
    client_options given = one_node();
    core::own_delay delay;
    lines seen;  // the calls of the connection, and the replies, in order

    void open() override { seen.emplace_back("open"); }
    void drop() override { seen.emplace_back("drop"); }
    std::uint64_t random_word() override { return 0; }
    const core::own_delay& own_delay() const noexcept override { return delay; }
};

/// The greeting is "hello", and over with the first reply to it.
class line final : public recorder, public detail::connection {
public:
    line() : connection(0, given, *this, *this, {.max_reply_bytes = 64, .max_elements = 8}) {}

    time_point now = time_point{} + 1h;
    std::vector<wire::failure> ends;
    std::function<void()> then{};  // runs at its end

    using connection::link;
    using connection::link_deadline;
    using connection::longest_silence;
    using connection::round_trip;
    using connection::stop;
    using connection::stop_for_good;

    line& start() {
        connection::start(now);
        return *this;
    }
    /// It serves, and has for long enough to be trusted.
    line& ready() {
        start().on_open(now);
        outgoing().clear();
        hear("+hi\r\n");
        now += given.connect_timeout;
        seen.clear();
        return *this;
    }
    void hear(std::string_view bytes) { on_bytes(bytes, now); }
    void pass(duration span) {
        now += span;
        on_link_time(now);
    }
    lines take() { return std::exchange(seen, {}); }

private:
    void greet(time_point) override { outgoing() += "hello"; }
    void on_greeting(const resp::reply& reply, time_point at) override {
        seen.push_back("greeting " + std::string(reply.text()));
        greeted(at);
    }
    void on_reply(const resp::reply& reply, time_point) override {
        seen.push_back("reply " + std::string(reply.text()));
        if (reply.text() == "stop") stop();
    }
    void on_end(const wire::failure& why, time_point) override {
        seen.emplace_back("end");
        ends.push_back(why);
        if (then) then();
    }
};

}  // namespace

TEST_CASE("a connection opens once, and tells the replies to its greeting from the others") {
    line l;
    CHECK_FALSE(l.is_untried());
    l.start().start();
    CHECK(l.take() == lines{"open"});
    CHECK(l.is_untried());
    l.on_open(l.now);
    CHECK(l.outgoing() == "hello");
    CHECK_FALSE(l.is_ready());
    l.hear("+hi\r\n+a\r\n+b\r\n+c");
    CHECK(l.is_ready());
    CHECK_FALSE(l.is_untried());
    CHECK(l.take() == lines{"greeting hi", "reply a", "reply b"});
    CHECK(l.start().take().empty());
}

TEST_CASE("a password has connect_timeout to come, and the node is not blamed where it does not") {
    line l;
    l.start();
    l.pass(l.given.connect_timeout / 2);
    l.on_asking("password_command get", l.now);
    CHECK(l.is_untried());
    l.pass(l.given.connect_timeout - 1ms);
    CHECK(l.ends.empty());
    l.pass(1ms);
    REQUIRE(l.ends.size() == 1);
    CHECK(l.ends[0].error == errc::no_credentials);
    CHECK(l.ends[0].detail.starts_with("password_command get gave no password within "));

    l.pass(1h);
    l.on_asking("password_command get", l.now);
    l.pass(l.given.connect_timeout - 1ms);
    l.on_reached(l.now);  // it came, and the node has its own time
    l.pass(l.given.connect_timeout - 1ms);
    CHECK(l.ends.size() == 1);
    l.pass(1ms);
    REQUIRE(l.ends.size() == 2);
    CHECK(l.ends[1].error == errc::timed_out);
    CHECK(l.ends[1].detail.find("far away") == std::string::npos);
}

TEST_CASE("files that can't be used are a reason of a failed greeting, and of none after it") {
    line l;
    l.start();
    l.on_files("password_file: f is empty");
    l.on_open(l.now);
    l.on_down(broken, l.now);
    REQUIRE(l.ends.size() == 1);
    CHECK(l.ends[0].error == broken);
    CHECK(l.ends[0].detail.ends_with("; password_file: f is empty"));
    l.pass(1h);  // the next connection has files of its own
    l.on_open(l.now);
    l.on_down(broken, l.now);
    REQUIRE(l.ends.size() == 2);
    CHECK(l.ends[1].detail.find("password_file") == std::string::npos);

    line served;
    served.start().on_files("password_file: f is empty");
    served.on_open(served.now);
    served.hear("+hi\r\n");
    served.on_down(broken, served.now);
    REQUIRE(served.ends.size() == 1);
    CHECK(served.ends[0].detail.empty());
}

TEST_CASE("nothing of one connection is left on the next one") {
    line l;
    l.ready().outgoing() += "a question";
    l.hear("+half a rep");
    l.on_down(broken, l.now);
    CHECK(l.outgoing().empty());
    l.on_open(l.now);
    CHECK(l.outgoing() == "hello");
    l.hear("+hi\r\n");
    CHECK(l.take() == lines{"drop", "end", "open", "greeting hi"});
    REQUIRE(l.ends.size() == 1);
    CHECK(l.ends[0].answer == vote::unreachable);
    CHECK(l.ends[0].error == broken);
    CHECK_FALSE(l.is_untried());
}

TEST_CASE("bytes that are no reply end a connection, and it rests") {
    line l;
    l.ready().hear("+a\r\nHTTP/1.1 400 Bad Request\r\n+b\r\n");
    CHECK(l.take() == lines{"reply a", "drop", "end"});
    REQUIRE(l.ends.size() == 1);
    CHECK(l.ends[0].error == errc::protocol_error);
    CHECK_FALSE(l.ends[0].detail.empty());
    l.pass(1s);
    CHECK(l.take() == lines{"open"});
}

TEST_CASE("a connection that is not greeted in time is given up, and rests") {
    line l;
    l.start();
    const bool is_taken = GENERATE(false, true);
    if (is_taken) l.on_open(l.now);
    l.take();
    l.pass(l.given.connect_timeout - 1ns);
    CHECK(l.take().empty());
    l.pass(1ns);
    CHECK(l.take() == lines{"drop", "end"});
    REQUIRE(l.ends.size() == 1);
    CHECK(l.ends[0].answer == vote::timed_out);
    CHECK(l.ends[0].detail ==
          std::string("could not connect in time: ") +
              (is_taken ? "the server took the connection, and then answered nothing"
                        : "nothing answered at its address"));
    CHECK_FALSE(l.is_untried());
    l.pass(1s);
    CHECK(l.take() == lines{"open"});
    CHECK_FALSE(l.is_untried());  // it was tried in vain before
}

TEST_CASE("a server that begins with what is no reply is said to be of another kind") {
    line l;
    l.start().on_open(l.now);
    const auto detail = [&](std::string_view bytes) {
        l.hear(bytes);
        REQUIRE(l.ends.size() == 1);
        CHECK(l.ends[0].error == errc::protocol_error);
        return l.ends[0].detail;
    };
    const auto says = [](const std::string& text, std::string_view part) {
        return text.find(part) != text.npos;
    };
    SECTION("HTTP") { CHECK(says(detail("HTTP/1.1 400 Bad Request\r\n"), ": an HTTP server ")); }
    SECTION("SSH") { CHECK(says(detail("SSH-2.0-OpenSSH_9.2\r\n"), ": an SSH server ")); }
    SECTION("an alert of TLS") { CHECK(says(detail("\x15\x03\x01"), "use rediss://")); }
    SECTION("the bytes are not shown") {
        CHECK_FALSE(says(detail("502 AUTH s3cret: no such command\r\n"), "s3cret"));
        CHECK(says(l.ends[0].detail, ": a server of another kind "));
    }
    SECTION("what is no reply behind one that is") {
        CHECK_FALSE(says(detail("+hi\r\nHTTP/1.1 400\r\n"), "an HTTP server"));
    }
}

TEST_CASE("that a server expects no TLS is said where it took the connection and was silent") {
    line l;
    l.given.nodes[0].tls.emplace();
    l.start();
    bool is_hinted = false;
    SECTION("nothing at its address") {}
    SECTION("it took the connection") {
        l.on_reached(l.now);
        is_hinted = true;
    }
    SECTION("it speaks TLS") {
        l.on_reached(l.now);
        l.on_open(l.now);
    }
    SECTION("it spoke TLS on an earlier connection") {
        l.on_open(l.now);
        l.hear("+hi\r\n");
        l.on_down(broken, l.now);
        l.pass(1h);
        l.on_reached(l.now);
        l.ends.clear();
    }
    l.pass(l.given.connect_timeout);
    REQUIRE(l.ends.size() == 1);
    CHECK(l.ends[0].detail.ends_with("; if it expects no TLS, use redis://") == is_hinted);
}

TEST_CASE("no descriptor left is this program's matter") {
    line l;
    l.start();
    l.on_down(make_error_code(boost::system::errc::too_many_files_open), l.now);
    REQUIRE(l.ends.size() == 1);
    CHECK(l.ends[0].detail == "this program has no descriptor left: raise ulimit -n");
}

TEST_CASE("a connect_timeout is named where what the node answered took long") {
    line l;
    l.given.connect_timeout = 500ms;
    l.start();
    l.now += GENERATE(84ms, 400ms);
    l.on_open(l.now);
    l.pass(500ms);
    REQUIRE(l.ends.size() == 1);
    CHECK(l.ends[0].detail == "could not connect in time: if the server is only far away, set "
                              "connect_timeout_ms, which is 500, to 3000");
}

TEST_CASE("a connection may be stopped at its end, where the next one was to be opened") {
    line l;
    l.ready();
    const bool for_good = GENERATE(false, true);
    l.then = [&] { for_good ? l.stop_for_good() : l.stop(); };
    l.on_down(broken, l.now);
    CHECK(l.take() == lines{"drop", "end", "drop"});
    CHECK(l.link().deadline() == time_point::max());
    l.hear("+late\r\n");
    l.pass(1h);
    CHECK(l.take().empty());
    l.then = nullptr;
    l.start();
    CHECK(l.take() == (for_good ? lines{} : lines{"open"}));
    l.on_down(broken, l.now);
    CHECK(l.ends.size() == (for_good ? 1 : 2));
}

TEST_CASE("a connection that is stopped and started at its end is opened once") {
    line l;
    l.ready();
    l.then = [&] {
        l.stop();
        l.start();
    };
    l.on_down(broken, l.now);
    CHECK(l.take() == lines{"drop", "end", "drop", "open"});
}

TEST_CASE("a connection that is stopped at a reply reads no further") {
    line l;
    l.ready().hear("+a\r\n+stop\r\n+b\r\n");
    CHECK(l.take() == lines{"reply a", "reply stop", "drop"});
    CHECK(l.ends.empty());
}

TEST_CASE("a connection's time-outs are as given, or go by the round trip of its greeting") {
    line l;
    l.given.connect_timeout = 700ms;
    l.given.node_timeout = 0ms;
    CHECK(l.node_timeout() == 250ms);
    l.start();
    CHECK(l.node_timeout() == 700ms);  // nothing is known of the node
    l.now += 10ms;
    l.on_open(l.now);
    l.now += 60ms;
    l.hear("+hi\r\n");
    CHECK(l.round_trip() == 60ms);
    CHECK(l.node_timeout() == 250ms);
    CHECK(l.node_timeout(500ms) == 240ms);
    CHECK(l.longest_silence() == 2400ms);
    l.given.node_timeout = 20ms;
    CHECK(l.node_timeout() == 20ms);
    CHECK(l.longest_silence() == 700ms);
}

TEST_CASE("a connection is given as much longer to connect as the client's timers ring late") {
    line l;
    l.given.connect_timeout = 500ms;
    l.start();
    const time_point due = l.now + 500ms;
    l.delay.awaits([&] { return due; }, l.now);
    l.delay.rang(due + 200ms);
    l.pass(700ms);
    CHECK(l.ends.empty());
    CHECK(l.link_deadline() == due + 400ms);
    SECTION("and opens in that time") {
        l.on_open(l.now);
        l.hear("+hi\r\n");
        CHECK(l.is_ready());
    }
    SECTION("and no longer") {
        l.pass(200ms);
        CHECK(l.ends.size() == 1);
        CHECK(l.link_deadline() == l.link().deadline());  // the rest is as short as ever
    }
}
