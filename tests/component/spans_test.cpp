// What a tracer gets: which spans, inside which, and that each ends once; knows no engine.
// SPDX-License-Identifier: MIT
#include <redlock/span.hpp>

#include "component/support/program.hpp"
#include "support/catch.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using redlock::testing::masters;
using redlock::testing::program;

namespace {

struct traced {
    span_kind kind{};
    std::uint64_t parent = 0;
    std::string resource{};
    std::uint64_t fence = 0;
    clock::time_point from{}, to{};
    bool is_open = true;
    error_code error{};
    std::string detail{};
    std::size_t votes = 0;
};

// Keeps all spans, and checks what holds for each of them.
class tracer {
public:
    void take(const span_report& s) {
        REQUIRE(s.id != 0);
        CHECK(s.when == clock::now());
        s.edge == span_edge::begin ? begin(s) : end(s);
    }
    std::vector<traced> all(span_kind kind) const {
        std::vector<traced> out;
        for (const auto& [id, s] : spans_) {
            if (s.kind == kind) out.push_back(s);
        }
        return out;
    }
    std::size_t count(span_kind kind) const { return all(kind).size(); }
    traced only(span_kind kind) const {
        REQUIRE(count(kind) == 1);
        return all(kind).front();
    }
    span_kind kind_of(std::uint64_t id) const { return spans_.at(id).kind; }
    std::size_t open() const {
        std::size_t n = 0;
        for (const auto& [id, s] : spans_) n += s.is_open ? 1 : 0;
        return n;
    }
    bool is_empty() const { return spans_.empty(); }

private:
    void begin(const span_report& s) {
        CHECK(spans_.count(s.id) == 0);
        CHECK_FALSE(s.error);
        if (s.kind != span_kind::acquire && s.kind != span_kind::adopt) {
            REQUIRE(spans_.count(s.parent) == 1);
            CHECK(spans_[s.parent].is_open);
            CHECK(spans_[s.parent].resource == s.resource);
        }
        spans_[s.id] = {.kind = s.kind,
                        .parent = s.parent,
                        .resource = std::string(s.resource),
                        .fence = s.fence,
                        .from = s.when};
    }
    void end(const span_report& s) {
        REQUIRE(spans_.count(s.id) == 1);
        traced& of = spans_[s.id];
        CHECK(of.is_open);
        CHECK(of.kind == s.kind);
        CHECK(s.parent == 0);
        of.is_open = false;
        of.to = s.when;
        of.error = s.error;
        of.detail = s.detail;
        of.votes = s.votes.size();
    }

    std::map<std::uint64_t, traced> spans_;  // in the order in which they began
};

client_options traced_by(tracer& t, client_options options) {
    options.on_span = [&t](const span_report& s) { t.take(s); };
    return options;
}

// A program whose client is traced; at its end the client is closed, and no span may be open.
struct scene {
    ~scene() {
        nodes.vacate("r");
        for (std::size_t i = 0; i < 3; ++i) nodes.resume(i);
        p.client.close();
        p.pass(10min);
        CHECK(spans.open() == 0);
    }
    void hang(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) nodes.hang(i);
    }
    /// Its outcome, and what it completed with.
    std::shared_ptr<std::optional<error_code>> begin_acquire(acquire_options how) {
        auto ended = std::make_shared<std::optional<error_code>>();
        p.client.async_acquire(
            "r", how,
            boost::asio::bind_cancellation_slot(
                cancel.slot(), [ended](error_code ec, const lease&) { *ended = ec; }));
        p.pass(0s);
        return ended;
    }
    void abort() {
        cancel.emit(boost::asio::cancellation_type::terminal);
        p.pass(0s);
    }

    masters nodes;
    boost::asio::io_context io;
    tracer spans;
    boost::asio::cancellation_signal cancel;
    program p{nodes, io, traced_by(spans, nodes.options())};
};

const error_code aborted = boost::asio::error::operation_aborted;

}  // namespace

TEST_CASE("a lease's spans lie in each other from its acquire to its release") {
    scene s;
    const auto began = clock::now();
    auto [ec, held] = s.p.acquire("r", {.ttl = 9s, .span = 77});
    REQUIRE_FALSE(ec);
    CHECK(s.spans.open() == 1);
    s.p.pass(10s);  // three renewals, each up to a quarter earlier than a third of the ttl
    s.p.client.async_extend(held, 5s, [](error_code) {});
    s.p.pass(0s);
    s.p.client.async_downgrade(held, [](error_code) {});
    s.p.pass(0s);
    const std::uint64_t fence = held.fence();
    std::optional<error_code> released;
    s.p.client.async_release(std::move(held), [&](error_code why) { released = why; });
    s.p.pass(0s);
    REQUIRE(released == error_code{});
    CHECK(s.spans.open() == 0);

    const traced acquire = s.spans.only(span_kind::acquire);
    CHECK(acquire.parent == 77);
    CHECK(acquire.resource == "r");
    CHECK(acquire.votes == 3);
    const traced attempt = s.spans.only(span_kind::attempt);
    CHECK(s.spans.kind_of(attempt.parent) == span_kind::acquire);
    CHECK(attempt.votes == 3);
    const traced hold = s.spans.only(span_kind::hold);
    CHECK(s.spans.kind_of(hold.parent) == span_kind::acquire);
    CHECK(hold.fence == fence);
    CHECK(hold.from == began);
    CHECK(hold.to - hold.from == 10s);
    CHECK(s.spans.count(span_kind::renewal) >= 3);
    for (const span_kind kind : {span_kind::renewal, span_kind::extend, span_kind::downgrade,
                                 span_kind::release}) {
        for (const traced& one : s.spans.all(kind)) {
            CHECK(s.spans.kind_of(one.parent) == span_kind::hold);
            CHECK_FALSE(one.error);
        }
    }
    CHECK(s.spans.count(span_kind::extend) == 1);
    CHECK(s.spans.count(span_kind::downgrade) == 1);
    CHECK(s.spans.count(span_kind::release) == 1);
    for (const traced& one : {acquire, attempt, hold}) CHECK_FALSE(one.error);
}

TEST_CASE("a lease that is destroyed is released in a span, one that is detached is let go") {
    scene s;
    const bool is_detached = GENERATE(false, true);
    {
        auto held = s.p.acquire("r").second;
        if (is_detached) held.detach();
    }
    s.p.pass(0s);
    CHECK(s.spans.open() == 0);
    CHECK_FALSE(s.spans.only(span_kind::hold).error);
    CHECK(s.spans.count(span_kind::release) == (is_detached ? 0 : 1));
}

TEST_CASE("an acquire that waits has a span for each attempt, and says why it was refused") {
    scene s;
    s.nodes.occupy("r", 1h);
    const auto ended = s.begin_acquire({.wait = 20s});
    s.p.pass(20s);
    REQUIRE(*ended == errc::contended);
    CHECK(s.spans.open() == 0);
    const traced acquire = s.spans.only(span_kind::acquire);
    CHECK(acquire.error == errc::contended);
    CHECK(acquire.parent == 0);
    CHECK(acquire.to - acquire.from == 20s);
    CHECK(acquire.votes == 3);
    CHECK(s.spans.count(span_kind::attempt) == s.p.client.stats().retries + 1);
    CHECK(s.spans.all(span_kind::attempt).front().error == errc::contended);
    CHECK(s.spans.count(span_kind::hold) == 0);
}

TEST_CASE("the second attempt of a waiter is another span of the same acquire") {
    scene s;
    s.nodes.occupy("r", 5s);
    const auto ended = s.begin_acquire({.wait = 1min});
    s.p.pass(10s);
    REQUIRE(*ended == error_code());
    const auto attempts = s.spans.all(span_kind::attempt);
    REQUIRE(attempts.size() >= 2);
    CHECK(attempts.front().error == errc::contended);
    CHECK_FALSE(attempts.back().error);
    for (const traced& one : attempts) {
        CHECK(s.spans.kind_of(one.parent) == span_kind::acquire);
        CHECK(one.to <= one.from + 1s);
    }
}

TEST_CASE("an acquire that can't be is a span without an attempt") {
    scene s;
    const auto ended = s.begin_acquire({.ttl = -1ms});
    REQUIRE(*ended == errc::invalid_argument);
    const traced acquire = s.spans.only(span_kind::acquire);
    CHECK(acquire.error == errc::invalid_argument);
    CHECK(acquire.detail.find("ttl") != std::string::npos);
    CHECK(s.spans.count(span_kind::attempt) == 0);
}

TEST_CASE("a hold that is lost ends with the loss, and its release is no span") {
    scene s;
    auto held = s.p.acquire("r", {.ttl = 9s}).second;
    SECTION("another program takes the key") {
        s.nodes.occupy("r", 1min);
        s.p.pass(3s);
        CHECK(s.spans.only(span_kind::hold).detail == "taken");
        CHECK(s.spans.only(span_kind::renewal).error == errc::not_held);
    }
    SECTION("the nodes hang") {
        s.hang(2);
        const auto until = held.valid_until();
        s.p.pass(10s);
        CHECK(s.spans.only(span_kind::hold).detail == "unreachable");
        CHECK(s.spans.only(span_kind::hold).to < until);
        CHECK(s.spans.all(span_kind::renewal).front().error == errc::no_quorum);
    }
    SECTION("while it is extended") {
        s.hang(2);
        std::optional<error_code> ended;
        s.p.client.async_extend(held, 5s, [&](error_code why) { ended = why; });
        s.p.pass(10s);
        CHECK(ended);
        CHECK(s.spans.only(span_kind::extend).error == *ended);
    }
    const traced hold = s.spans.only(span_kind::hold);
    CHECK_FALSE(hold.is_open);
    CHECK(hold.error == errc::lost);
    s.p.client.async_release(std::move(held), [](error_code) {});
    s.p.pass(0s);
    CHECK(s.spans.count(span_kind::release) == 0);
    CHECK(s.spans.open() == 0);
}

TEST_CASE("what is cancelled ends its spans, in every phase") {
    scene s;
    SECTION("an attempt is under way") {
        s.hang(3);
        const auto ended = s.begin_acquire({.wait = 1min});
        CHECK(s.spans.open() == 2);
        s.abort();
        CHECK(*ended == aborted);
        CHECK(s.spans.only(span_kind::attempt).error == aborted);
        CHECK(s.spans.only(span_kind::acquire).error == aborted);
    }
    SECTION("it sleeps between two attempts") {
        s.nodes.occupy("r", 1h);
        const auto ended = s.begin_acquire({.wait = 1min});
        s.p.pass(5s);
        CHECK(s.spans.open() == 1);
        s.abort();
        CHECK(*ended == aborted);
        CHECK(s.spans.only(span_kind::acquire).error == aborted);
    }
    SECTION("it stands behind another of the same client") {
        const auto held = s.p.acquire("r").second;
        const auto ended = s.begin_acquire({.wait = 1min});
        s.abort();
        CHECK(*ended == aborted);
        CHECK(s.spans.all(span_kind::acquire).back().error == aborted);
    }
    SECTION("an extend and a release are under way") {
        auto held = s.p.acquire("r", {.ttl = 1min}).second;
        s.hang(3);
        std::optional<error_code> extended;
        s.p.client.async_extend(held, 5s,
                                boost::asio::bind_cancellation_slot(
                                    s.cancel.slot(), [&](error_code why) { extended = why; }));
        s.p.pass(0s);
        s.abort();
        CHECK(extended == aborted);
        CHECK(s.spans.only(span_kind::extend).error == aborted);
        CHECK(s.spans.only(span_kind::hold).is_open);
        std::optional<error_code> released;
        s.p.client.async_release(std::move(held),
                                 boost::asio::bind_cancellation_slot(
                                     s.cancel.slot(), [&](error_code why) { released = why; }));
        s.p.pass(0s);
        CHECK(s.spans.only(span_kind::release).is_open);
        CHECK_FALSE(s.spans.only(span_kind::hold).is_open);
        s.abort();
        CHECK(released == aborted);
        CHECK(s.spans.only(span_kind::release).error == aborted);
    }
}

TEST_CASE("an acquire that is cancelled before the nodes are known ends its span") {
    masters nodes;
    for (std::size_t i = 0; i < 3; ++i) nodes.hang(i);
    boost::asio::io_context io;
    tracer spans;
    program p(nodes, io, traced_by(spans, nodes.options()));
    std::optional<error_code> ended;
    p.client.async_acquire("r", {.wait = 1min}, [&](error_code why, const lease&) { ended = why; });
    p.pass(0s);
    CHECK(spans.open() == 1);
    p.client.cancel();
    p.pass(0s);
    CHECK(ended == aborted);
    CHECK(spans.open() == 0);
    CHECK(spans.count(span_kind::attempt) == 0);
}

TEST_CASE("a client that is closed ends every span") {
    masters nodes;
    boost::asio::io_context io;
    tracer spans;
    auto p = std::make_unique<program>(nodes, io, traced_by(spans, nodes.options()));
    const auto held = p->acquire("r", {.ttl = 9s}).second;
    const bool is_silent = GENERATE(false, true);
    for (std::size_t i = 0; is_silent && i < 3; ++i) nodes.hang(i);
    const auto ignore = [](error_code, const lease&) {};
    p->client.async_acquire("other", {.wait = 1min}, ignore);
    p->client.async_acquire("r", {.wait = 1min}, ignore);
    p->client.async_extend(held, 5s, [](error_code) {});
    if (is_silent) p->pass(0s);
    CHECK(spans.open() >= 1);
    const bool is_destroyed = GENERATE(false, true);
    is_destroyed ? p.reset() : p->client.close();
    nodes.advance(io, 10min);
    CHECK(spans.open() == 0);
    for (const traced& hold : spans.all(span_kind::hold)) CHECK(hold.error == errc::client_closed);
    CHECK(spans.count(span_kind::release) == spans.count(span_kind::hold));
    CHECK(spans.all(span_kind::acquire).back().error == errc::client_closed);
}

TEST_CASE("a context that is destroyed first tells the tracer nothing any more") {
    masters nodes;
    auto io = std::make_unique<boost::asio::io_context>();
    auto spans = std::make_unique<tracer>();
    redlock::client c(io->get_executor(), traced_by(*spans, nodes.options()));
    nodes.advance(*io, 0s);
    c.async_acquire("r", {}, [](error_code, const lease&) {});
    nodes.advance(*io, 0s);
    CHECK_FALSE(spans->is_empty());
    spans.reset();
    io.reset();
    nodes.advance(1h);
}

TEST_CASE("an adopted lease has a hold, inside the adoption") {
    scene s;
    auto held = s.p.acquire("r", {.ttl = 1min}).second;
    const std::string token = held.token();
    held.detach();
    std::optional<error_code> ended;
    lease adopted;
    s.p.client.async_adopt(token, {.ttl = 9s, .span = 5}, [&](error_code why, lease got) {
        ended = why;
        adopted = std::move(got);
    });
    s.p.pass(0s);
    REQUIRE(ended == error_code());
    const traced adopt = s.spans.only(span_kind::adopt);
    CHECK(adopt.parent == 5);
    CHECK(adopt.resource == "r");
    CHECK(adopt.votes == 3);
    const auto holds = s.spans.all(span_kind::hold);
    REQUIRE(holds.size() == 2);
    CHECK(s.spans.kind_of(holds.back().parent) == span_kind::adopt);
    CHECK(holds.back().fence == adopted.fence());
    CHECK(s.spans.open() == 1);
    s.p.client.async_adopt("no token", [&](error_code why, const lease&) { ended = why; });
    s.p.pass(0s);
    CHECK(s.spans.all(span_kind::adopt).back().error == ended);
    CHECK(s.spans.open() == 1);
}

TEST_CASE("several resources are one span, with all their names") {
    scene s;
    std::optional<lease> held;
    s.p.client.async_acquire_all({"a", "b"}, [&](error_code, lease got) { held = std::move(got); });
    s.p.pass(0s);
    REQUIRE(held);
    CHECK(s.spans.only(span_kind::acquire).resource == s.spans.only(span_kind::hold).resource);
    CHECK(s.spans.only(span_kind::hold).resource.find('b') != std::string::npos);
    held.reset();
    s.p.pass(0s);
    CHECK(s.spans.open() == 0);
}

TEST_CASE("leases that are renewed together have a span each") {
    scene s;
    std::vector<lease> held;
    for (int i = 0; i < 5; ++i)
        held.push_back(s.p.acquire("r" + std::to_string(i), {.ttl = 9s}).second);
    s.p.pass(3s);
    REQUIRE(s.spans.count(span_kind::renewal) == 5);
    std::map<std::uint64_t, int> of;
    for (const traced& one : s.spans.all(span_kind::renewal)) ++of[one.parent];
    CHECK(of.size() == 5);
    CHECK(s.spans.open() == 5);
}

TEST_CASE("with a tracer and without one the client does the same") {
    const auto done = [](bool is_traced) {
        masters nodes;
        boost::asio::io_context io;
        tracer spans;
        program p(nodes, io, is_traced ? traced_by(spans, nodes.options()) : nodes.options());
        {
            const auto held = p.acquire("r", {.ttl = 9s}).second;
            p.pass(1min);
            CHECK(held);
        }
        p.pass(0s);
        CHECK(spans.is_empty() == !is_traced);
        return p.client.stats();
    };
    const client_stats plain = done(false), traced = done(true);
    CHECK(plain.commands == traced.commands);
    CHECK(plain.renewals == traced.renewals);
    CHECK(plain.released == 1);
    CHECK(traced.released == 1);
}

TEST_CASE("a tracer that throws takes no lock down") {
    masters nodes;
    boost::asio::io_context io;
    auto options = nodes.options();
    int calls = 0;
    options.on_span = [&](const span_report&) {
        ++calls;
        throw std::runtime_error("full");
    };
    program p(nodes, io, std::move(options));
    auto [ec, held] = p.acquire("r", {.ttl = 9s});
    REQUIRE_FALSE(ec);
    p.pass(1min);
    CHECK(held);
    CHECK(calls > 10);
}
