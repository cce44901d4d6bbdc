// Tests what a client listens to on one node, fact by fact: greeting, pulse, life; knows no socket.
// SPDX-License-Identifier: MIT
#include "client/listener.hpp"
#include "component/support/fake_node.hpp"
#include "support/catch.hpp"
#include "wire/login.hpp"
#include "wire/resp/reply.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fakes::guarded_node;
using fakes::plain_node;
using fakes::secret;
using lines = std::vector<std::string>;

namespace {

const std::string channel = "p:redlock:wake:me";

std::string push(std::string_view kind, std::string_view of, std::string_view last) {
    return "*3\r\n" + fakes::bulk(kind) + fakes::bulk(of) + std::string(last);
}
std::string message(std::string_view payload, std::string_view of = channel) {
    return push("message", of, fakes::bulk(payload));
}
const std::string subscribed = push("subscribe", channel, ":1\r\n");
const std::string pong = "*2\r\n" + fakes::bulk("pong") + fakes::bulk("");
const auto reset = boost::system::errc::make_error_code(boost::system::errc::connection_reset);

/// One listener without a socket: what it asks for is recorded, what it hears is typed by hand.
class ear final : public detail::transport, public detail::listener_owner {
public:
    explicit ear(node_options node = plain_node())
        : options(with(std::move(node))),
          listener(0, options, static_cast<detail::transport&>(*this),
                   static_cast<detail::listener_owner&>(*this), channel) {}

    client_options options;
    time_point now = time_point{} + 1h;
    core::own_delay delay;
    int opens = 0;
    int drops = 0;
    int starts = 0;  // of listening
    lines messages;
    std::vector<wire::failure> deaf;
    std::function<void()> then{};  // runs in each callback of the owner
    detail::listener listener;

    std::vector<fakes::command> sent() {
        resp::parser p;
        const std::string bytes = std::exchange(listener.outgoing(), {});
        listener.on_written();
        return fakes::decode(p, bytes);
    }
    void hear(std::string_view bytes) { listener.on_bytes(bytes, now); }
    void pass(duration span) {
        now += span;
        listener.on_time(now);
    }
    void open() override { ++opens; }
    void drop() override { ++drops; }
    void want() { listener.open(now); }
    void connect() { listener.on_open(now); }
    std::string mark() const { return wire::mark_of_connection(options); }
    std::string greeting() const {
        const node_options& node = options.nodes[0];
        const std::string select = node.database == 0 ? "" : "+OK\r\n";
        return select + (node.password.empty() ? "" : "+OK\r\n") + "+OK\r\n" + subscribed;
    }
    /// It listens, and has for long enough to be trusted.
    ear& ready() {
        want();
        connect();
        sent();
        hear(greeting());
        now += 1s;
        return *this;
    }
    duration longest_wait() const {
        return std::max<duration>(options.connect_timeout, 10 * options.node_timeout);
    }

private:
    static client_options with(node_options node) {
        client_options o;
        o.nodes.push_back(std::move(node));
        o.client_name = "a tester";
        return o;
    }
    void told() {
        if (then) then();
    }
    std::uint64_t random_word() override { return 0; }
    const core::own_delay& own_delay() const noexcept override { return delay; }
    void on_listening(std::size_t, time_point) override {
        ++starts;
        told();
    }
    void on_deaf(std::size_t, const wire::failure& why, time_point) override {
        deaf.push_back(why);
        told();
    }
    void on_message(std::size_t, std::string_view payload, time_point) override {
        messages.emplace_back(payload);
        told();
    }
};

}  // namespace

TEST_CASE("nothing is opened before it is wanted") {
    ear e;
    CHECK(e.opens == 0);
    CHECK(e.listener.deadline() == time_point::max());
    e.pass(1h);
    e.listener.close();
    CHECK(e.opens == 0);
    CHECK_FALSE(e.listener.is_listening());
}

// SELECT has no effect on channels. But a commit names the programs of its database.
TEST_CASE("a listener sends AUTH, SELECT, SETNAME and SUBSCRIBE in one write, and then listens") {
    ear e(guarded_node());
    e.want();
    CHECK(e.opens == 1);
    e.connect();
    CHECK(e.sent() == std::vector<fakes::command>{{"AUTH", "ann", secret},
                                                  {"SELECT", "3"},
                                                  {"CLIENT", "SETNAME", "a_tester" + e.mark()},
                                                  {"SUBSCRIBE", channel}});
    e.hear("+OK\r\n+OK\r\n+OK\r\n");
    CHECK_FALSE(e.listener.is_listening());
    CHECK(e.starts == 0);
    e.hear(subscribed);
    CHECK(e.listener.is_listening());
    CHECK(e.starts == 1);
    CHECK(e.sent().empty());
}

TEST_CASE("it says no password that it does not have") {
    ear e;
    e.want();
    e.connect();
    CHECK(e.sent() ==
          std::vector<fakes::command>{{"CLIENT", "SETNAME", "a_tester" + e.mark()}, {"SUBSCRIBE", channel}});
    e.hear("-NOPERM no permissions to run 'client|setname'\r\n" + subscribed);  // a courtesy
    CHECK(e.listener.is_listening());
}

TEST_CASE("to be wanted twice is to be wanted") {
    ear e;
    e.want();
    e.want();
    e.connect();
    e.want();
    e.hear(e.greeting());
    e.want();
    CHECK(e.opens == 1);
    CHECK(e.starts == 1);
    e.listener.on_down(reset, e.now);
    e.want();
    CHECK(e.opens == 1);  // it rests
}

TEST_CASE("what others say may come in pieces of any size, or many at once") {
    const auto node = GENERATE(plain_node(), guarded_node());
    const std::string all = ear(node).greeting() + message("a") + message("") +
                            message("of others", "p:redlock:wake:you") + message("b\r\n*3");
    for (std::size_t first = 0; first <= all.size(); ++first) {
        ear e(node);
        e.want();
        e.connect();
        e.hear(all.substr(0, first));
        e.hear(all.substr(first));
        CHECK(e.starts == 1);
        CHECK(e.messages == lines{"a", "", "b\r\n*3"});
    }
    ear e(node);
    e.want();
    e.connect();
    for (const char byte : all) e.hear({&byte, 1});
    CHECK(e.messages == lines{"a", "", "b\r\n*3"});
    CHECK(e.deaf.empty());
}

TEST_CASE("each step of the greeting can fail, with its cause, and is tried again after a rest") {
    struct failing {
        const char* step;
        std::string replies;
        errc cause;
    };
    const std::string ok = "+OK\r\n";
    const std::string loading = "-LOADING Redis is loading the dataset in memory\r\n";
    const std::string crowded = "-ERR max number of clients reached\r\n";
    const std::string noauth = "-NOAUTH Authentication required.\r\n";
    const auto f = GENERATE_COPY(
        failing{"wrong password", "-WRONGPASS invalid username-password pair\r\n",
                errc::auth_failed},
        failing{"no password set", "-ERR AUTH called without any password\r\n", errc::auth_failed},
        failing{
            "an echo",
            "-ERR unknown command `AUTH`, with args beginning with: `ann`, `" + secret + "`\r\n",
            errc::auth_failed},
        failing{"loading at AUTH", loading, errc::server_error},
        failing{"too many clients", crowded, errc::server_error},
        failing{"too many clients at SELECT", ok + crowded, errc::server_error},
        failing{"too many clients at SETNAME", ok + ok + crowded, errc::server_error},
        failing{"protected mode", ok + "-DENIED Redis is running in protected mode\r\n",
                errc::server_error},
        failing{"not authenticated at SETNAME", ok + ok + noauth, errc::auth_failed},
        failing{"not authenticated after all", ok + ok + ok + noauth, errc::auth_failed},
        failing{"no right to the channel", ok + ok + ok + "-NOPERM no permissions\r\n",
                errc::missing_right},
        failing{"loading", ok + ok + ok + loading, errc::server_error},
        failing{"no such command", ok + ok + ok + "-ERR unknown command `SUBSCRIBE`\r\n",
                errc::server_error},
        failing{"another answer", ok + ok + ok + ok, errc::protocol_error},
        failing{"nil", ok + ok + ok + "*-1\r\n", errc::protocol_error},
        failing{"another channel", ok + ok + ok + push("subscribe", "x", ":1\r\n"),
                errc::protocol_error},
        failing{"a message first", ok + ok + ok + message("m"), errc::protocol_error},
        failing{"half an answer", ok + ok + ok + "*1\r\n" + fakes::bulk("subscribe"),
                errc::protocol_error},
        failing{"garbage", "HTTP/1.1 400 Bad Request\r\n", errc::protocol_error});
    INFO(f.step);
    ear e(guarded_node());
    e.want();
    e.connect();
    e.sent();
    e.hear(f.replies);
    REQUIRE(e.deaf.size() == 1);
    CHECK(e.deaf[0].error == f.cause);
    CHECK_FALSE(e.deaf[0].detail.empty());
    CHECK(e.deaf[0].detail.find(secret) == std::string::npos);
    CHECK(e.deaf[0].detail.find(secret.substr(0, 7)) == std::string::npos);
    CHECK(e.drops == 1);
    CHECK(e.opens == 1);
    CHECK(e.messages.empty());
    CHECK(e.listener.deadline() > e.now);
    e.pass(1s);
    CHECK(e.opens == 2);
    e.connect();
    CHECK(e.sent().size() == 4);
    e.hear(e.greeting());
    CHECK(e.listener.is_listening());
}

TEST_CASE("a connection that does not come about is given up after connect_timeout") {
    ear e;
    e.want();
    if (GENERATE(false, true)) e.connect();
    CHECK(e.listener.deadline() == e.now + e.options.connect_timeout);
    e.pass(e.options.connect_timeout - 1ns);
    CHECK(e.deaf.empty());
    e.pass(1ns);
    REQUIRE(e.deaf.size() == 1);
    CHECK(e.deaf[0].answer == vote::timed_out);
    CHECK(e.drops == 1);
    e.pass(1s);
    CHECK(e.opens == 2);
}

TEST_CASE("a node that is gone is dialled ever more seldom") {
    ear e;
    e.want();
    duration before = 0ns;
    for (int i = 1; i <= 12; ++i) {
        e.listener.on_down(reset, e.now);
        CHECK(e.opens == i);
        const duration rest = e.listener.deadline() - e.now;
        CHECK(rest >= before);
        CHECK(rest <= 1s);
        before = rest;
        e.pass(rest);
        CHECK(e.opens == i + 1);
    }
    CHECK(before == 500ms);
    REQUIRE(e.deaf.size() == 12);
    CHECK(e.deaf[0].answer == vote::unreachable);
    CHECK(e.deaf[0].error == reset);
}

TEST_CASE("a listener whose connection had served reconnects at once") {
    ear e;
    e.ready();
    e.listener.on_down(reset, e.now);
    CHECK(e.deaf.size() == 1);
    CHECK_FALSE(e.listener.is_listening());
    CHECK(e.opens == 2);
    e.connect();
    CHECK(e.sent().size() == 2);
    e.hear(e.greeting());
    CHECK(e.starts == 2);
    e.hear(message("m"));
    CHECK(e.messages == lines{"m"});
}

TEST_CASE("half a message does not outlive its connection") {
    ear e;
    e.ready();
    e.hear(message("lost").substr(0, 12));
    e.listener.on_down(reset, e.now);
    e.connect();
    e.hear(e.greeting() + message("m"));
    CHECK(e.messages == lines{"m"});
    CHECK(e.deaf.size() == 1);
}

TEST_CASE("a silent node is sent PING") {
    ear e;
    e.ready();
    e.pass(4s - 1ns);  // it has listened for one already
    CHECK(e.sent().empty());
    CHECK(e.listener.deadline() == e.now + 1ns);
    e.pass(1ns);
    CHECK(e.sent() == std::vector<fakes::command>{{"PING"}});
    CHECK(e.listener.deadline() == e.now + e.longest_wait());
    SECTION("and answers") {
        e.now += 100ms;
        e.hear(pong);
        CHECK(e.listener.deadline() == e.now + 5s);
        e.pass(5s);
        CHECK(e.sent() == std::vector<fakes::command>{{"PING"}});
    }
    SECTION("and does not") {
        e.pass(e.longest_wait() - 1ns);
        CHECK(e.deaf.empty());
        CHECK(e.sent().empty());
        e.pass(1ns);
        REQUIRE(e.deaf.size() == 1);
        CHECK(e.deaf[0].answer == vote::timed_out);
        CHECK(e.opens == 1);  // nothing answers there
        e.pass(1s);
        CHECK(e.opens == 2);
        e.connect();
        e.hear(e.greeting());
        CHECK(e.listener.deadline() == e.now + 5s);
    }
    SECTION("and a message is no answer") {
        e.hear(message("m"));
        CHECK(e.messages == lines{"m"});
        e.pass(e.longest_wait());
        CHECK(e.deaf.size() == 1);
    }
    SECTION("and may be as slow as node_timeout allows") {
        e.hear(pong);
        e.options.node_timeout = 300ms;
        e.pass(5s);
        CHECK(e.listener.deadline() == e.now + 3s);
    }
}

TEST_CASE("a node from which messages arrive is sent no PING") {
    ear e;
    e.ready();
    for (int i = 0; i < 10; ++i) {
        e.pass(4s - 1ns);
        CHECK(e.sent().empty());
        e.hear(i % 2 == 0 ? message("m") : message("m", "of others"));
        CHECK(e.listener.deadline() == e.now + 5s);
    }
    CHECK(e.messages.size() == 5);
}

TEST_CASE("whatever is no message ends the connection") {
    const auto said = GENERATE(
        as<std::string>(), "+OK\r\n", ":1\r\n", "$-1\r\n", "*0\r\n", "-ERR no\r\n", "what\r\n",
        pong, subscribed, push("unsubscribe", channel, ":0\r\n"), "*1\r\n" + fakes::bulk("message"),
        "*2\r\n" + fakes::bulk("message") + fakes::bulk(channel),
        push("message", channel, ":1\r\n"), push("message", channel, "$-1\r\n"),
        push("message", channel, "*0\r\n"), "*3\r\n+message\r\n" + fakes::bulk(channel) + ":1\r\n",
        "*4\r\n" + fakes::bulk("pmessage") + fakes::bulk("*") + fakes::bulk(channel) +
            fakes::bulk("m"),
        "*9\r\n", "*3\r\n$7\r\nmessage\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n");
    INFO(said);
    ear e;
    e.ready();
    e.hear(message("before") + said + message("after"));
    CHECK(e.messages == lines{"before"});
    REQUIRE(e.deaf.size() == 1);
    CHECK(e.deaf[0].error ==
          (said.starts_with("-ERR") ? errc::server_error : errc::protocol_error));
    CHECK(e.drops == 1);
    CHECK(e.opens == 1);  // not at once, however long it has served
    e.pass(1s);
    CHECK(e.opens == 2);
}

TEST_CASE("a payload that nobody sends is not kept") {
    ear e;
    e.ready();
    e.hear(message(std::string(512, 'r')));
    CHECK(e.messages.size() == 1);
    e.hear(message(std::string(1'000'000, 'r')).substr(0, 1'000));
    for (int i = 0; i < 4; ++i) e.hear(std::string(1'000, 'r'));
    CHECK(e.messages.size() == 1);
    REQUIRE(e.deaf.size() == 1);
    CHECK(e.deaf[0].error == errc::protocol_error);
}

TEST_CASE("a listener closed at any step reports nothing more, and can be opened again") {
    const int step = GENERATE(range(0, 10));
    INFO(step);
    ear e(guarded_node());
    const std::vector<std::function<void()>> steps{
        [&] { e.want(); },
        [&] { e.connect(); },
        [&] { e.hear("+OK\r\n"); },
        [&] { e.hear("+OK\r\n"); },
        [&] { e.hear("+OK\r\n"); },
        [&] { e.hear(subscribed + message("m").substr(0, 9)); },
        [&] { e.pass(5s); },
        [&] { e.listener.on_down(reset, e.now); },
        [&] { e.listener.on_down(reset, e.now); },
    };
    for (int i = 0; i < step; ++i) steps[static_cast<std::size_t>(i)]();
    const auto deaf = e.deaf.size();
    const auto starts = e.starts;
    e.listener.close();
    e.listener.close();
    CHECK_FALSE(e.listener.is_listening());
    CHECK(e.listener.deadline() == time_point::max());
    CHECK(e.listener.outgoing().empty());
    const int opens = e.opens;
    e.pass(1h);
    e.hear(e.greeting() + message("late"));  // no performer does, but nothing comes of it
    CHECK(e.opens == opens);
    CHECK(e.deaf.size() == deaf);
    CHECK(e.starts == starts);
    CHECK(e.messages.empty());

    e.want();
    CHECK(e.opens == opens + 1);
    CHECK(e.listener.deadline() == e.now + e.options.connect_timeout);
    e.connect();
    CHECK(e.sent().size() == 4);
    e.hear(e.greeting() + message("m"));
    CHECK(e.starts == starts + 1);
    CHECK(e.messages == lines{"m"});
    CHECK(e.listener.deadline() == e.now + 5s);
}

TEST_CASE("the owner may close a listener, or open it again, in any notification") {
    ear e;
    const bool again = GENERATE(false, true);
    e.then = [&] {
        e.listener.close();
        if (again) e.want();
    };
    e.want();
    e.connect();
    SECTION("that it listens") {
        e.hear(e.greeting() + message("a"));
        CHECK(e.starts == 1);
        CHECK(e.messages.empty());
    }
    SECTION("the first of several messages") {
        const auto close = std::exchange(e.then, nullptr);
        e.hear(e.greeting());
        e.then = close;
        e.hear(message("a") + message("b") + message("c"));
        CHECK(e.messages == lines{"a"});
    }
    SECTION("that it is deaf") {
        const auto close = std::exchange(e.then, nullptr);
        e.hear(e.greeting());
        e.now += 1s;
        e.then = close;
        e.listener.on_down(reset, e.now);
        CHECK(e.deaf.size() == 1);
        CHECK(e.drops == 2);  // also the new connection, which was made at once
    }
    SECTION("that it is deaf because of an unexpected reply") {
        e.hear("+OK\r\n*0\r\n" + e.greeting() + message("a"));
        CHECK(e.deaf.size() == 1);
        CHECK(e.starts == 0);
    }
    SECTION("that it is deaf because time passed") {
        e.pass(e.options.connect_timeout);
        CHECK(e.deaf.size() == 1);
    }
    CHECK_FALSE(e.listener.is_listening());
    const int opens = e.opens;
    if (again) {
        CHECK(e.listener.deadline() == e.now + e.options.connect_timeout);
        e.then = nullptr;
        e.connect();
        e.hear(e.greeting() + message("m"));
        CHECK(e.messages.back() == "m");
    } else {
        CHECK(e.listener.deadline() == time_point::max());
        e.pass(1h);
        CHECK(e.opens == opens);
    }
}
