// A listener on a real server and a real socket; knows no client and no lock.
// SPDX-License-Identifier: MIT
#include "client/listener.hpp"

#include "../support/catch.hpp"
#include "asio/transport.hpp"
#include "support/direct.hpp"
#include "support/redis_server.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

const std::string channel = "redlock:wake:AAAAAAAAAAAAAAAAAAAAAA";

/// As much of a client as one listener needs.
class ear final : public std::enable_shared_from_this<ear>,
                  public detail::wire_owner,
                  public detail::listener_owner {
public:
    explicit ear(node_options node)
        : options_(with(std::move(node))),
          wire_(detail::io_strand(detail::io_executor::over(context_.get_executor())), 0,
                options_.nodes[0], options_.connect_timeout, *this, counts_),
          listener_(0, options_, wire_, *this, channel) {}

    std::vector<std::string> messages;
    std::vector<wire::failure> deaf;
    detail::listener& listener() noexcept { return listener_; }

    /// Runs until `done` says so, for ten seconds at most. Whether it did.
    template <class F>
    bool run_until(F&& done) {
        const auto limit = clock::now() + 10s;
        while (!done() && clock::now() < limit) {
            if (listener_.deadline() <= clock::now()) listener_.on_time(clock::now());
            wire_.flush();
            context_.restart();
            context_.run_one_for(10ms);
        }
        return done();
    }
    /// What is under way keeps it alive: hangs up, and lets go of that.
    void end() {
        listener_.close();
        context_.restart();
        context_.poll();
    }
    bool listens() {
        return run_until([this] { return listener_.is_listening(); });
    }

private:
    static client_options with(node_options node) {
        client_options o;
        o.nodes.push_back(std::move(node));
        o.client_name = "ear";
        o.connect_timeout = 5s;
        return o;
    }
    std::shared_ptr<detail::wire_owner> keep_alive() noexcept override {
        return shared_from_this();
    }
    detail::connection& user_of(std::size_t) override { return listener_; }
    void end_turn() override { wire_.flush(); }
    void put(detail::mail&) noexcept override {}
    std::uint64_t random_word() override { return 0; }
    const core::own_delay& own_delay() const noexcept override { return delay; }
    void on_listening(std::size_t, time_point) override {}
    void on_deaf(std::size_t, const wire::failure& why, time_point) override {
        deaf.push_back(why);
    }
    void on_message(std::size_t, std::string_view payload, time_point) override {
        messages.emplace_back(payload);
    }

    boost::asio::io_context context_;
    client_options options_;
    core::own_delay delay;
    detail::traffic counts_;
    detail::asio_transport wire_;
    detail::listener listener_;
};

long long published(direct& by, const std::string& payload) {
    return by.command({"PUBLISH", channel, payload}).number;
}

}  // namespace

TEST_CASE("a listener receives what is published, also after its connection broke") {
    const redis_server server({.password = "swordfish", .unix_socket = true});
    node_options node = server.node();
    if (GENERATE(false, true)) node.unix_socket = server.unix_socket();
    const auto e = std::make_shared<ear>(node);
    direct other(server.port(), "swordfish");
    e->listener().open(clock::now());
    REQUIRE(e->listens());
    CHECK(e->deaf.empty());
    CHECK(other.clients_named("ear") == 1);

    const std::string longest(512, 'r');
    for (const auto& payload : {std::string("a"), std::string(), longest}) {
        CHECK(published(other, payload) == 1);
    }
    CHECK(e->run_until([&] { return e->messages.size() == 3; }));
    CHECK(e->messages == std::vector<std::string>{"a", "", longest});

    e->listener().on_time(clock::now() + 5s);  // PING is due
    const auto since = clock::now();
    CHECK(e->run_until([&] { return e->listener().deadline() >= since + 5s; }));
    CHECK(e->deaf.empty());

    CHECK(other.command({"CLIENT", "KILL", "TYPE", "pubsub"}).number == 1);
    CHECK(e->run_until([&] { return e->deaf.size() == 1; }));
    REQUIRE(e->listens());
    CHECK(published(other, "b") == 1);
    CHECK(e->run_until([&] { return e->messages.size() == 4; }));

    e->listener().close();
    CHECK(e->run_until([&] { return other.clients_named("ear") == 0; }));
    e->listener().open(clock::now());
    REQUIRE(e->listens());
    CHECK(published(other, "c") == 1);
    CHECK(e->run_until([&] { return e->messages.size() == 5; }));
    e->end();
    CHECK(e->deaf.size() == 1);
}

TEST_CASE("a user without the right to subscribe is reported with missing_right until it has it") {
    const redis_server server;
    direct other(server.port());
    other.acl_setuser({"ann", "on", ">swordfish", "resetchannels", "+@all", "~*"});
    node_options node = server.node();
    node.username = "ann";
    node.password = "swordfish";
    const auto e = std::make_shared<ear>(node);
    e->listener().open(clock::now());
    REQUIRE(e->run_until([&] { return !e->deaf.empty(); }));
    CHECK(e->deaf[0].error == errc::missing_right);
    CHECK(e->deaf[0].detail.find("SUBSCRIBE: NOPERM") == 0);
    other.acl_setuser({"ann", "&redlock:wake:*"});
    CHECK(e->listens());
    e->end();
}
