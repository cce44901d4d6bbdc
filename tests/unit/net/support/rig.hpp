// One session without a socket: what it asks for is recorded, what it hears is typed by hand.
// SPDX-License-Identifier: MIT
#pragma once

#include "net/session.hpp"
#include "resp/command.hpp"
#include "resp/scripts.hpp"
#include "unit/runtime/support/fake_node.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::fakes {

using namespace std::chrono_literals;
using core::duration;

/// What a call heard, one line each: "+OK", "timed_out", ...
class heard_call : public net::call {
public:
    explicit heard_call(std::string name) : name_(std::move(name)) {}

    std::vector<std::string> heard;
    std::vector<net::failure> failures;
    bool wanted = true;
    bool calls_script = true;
    time_point owed = time_point::min();
    std::function<void()> then{};  // runs while it is told

    void on_reply(std::size_t, std::uint32_t, const resp::reply& r, time_point) override {
        heard.emplace_back(r.type() == resp::reply_type::integer ? std::to_string(r.integer())
                                                                 : std::string(r.text()));
        if (then) then();
    }
    void on_failure(std::size_t, std::uint32_t, const net::failure& why, time_point) override {
        heard.emplace_back(to_string(why.answer));
        failures.push_back(why);
        if (then) then();
    }
    bool is_wanted(std::uint32_t) const noexcept override { return wanted; }
    bool write_with_script(std::uint32_t, std::string& out) const override {
        if (!calls_script) return false;
        resp::append_command(out, {"EVAL", name_});
        return true;
    }
    time_point owed_until(std::size_t) const noexcept override { return owed; }
    const std::string& name() const noexcept { return name_; }

private:
    std::string name_;
};
using heard_ptr = boost::intrusive_ptr<heard_call>;

class rig final : public net::transport, public net::session_owner {
public:
    explicit rig(node_options node = {}, net::session_limits limits = {})
        : options(with(std::move(node))),
          session(0, options, static_cast<net::transport&>(*this),
                  static_cast<net::session_owner&>(*this), traffic, limits) {}

    client_options options;
    net::traffic traffic;
    time_point now = time_point{} + 1h;
    int opens = 0;
    int drops = 0;
    int ups = 0;
    int owed = 0;
    std::vector<net::failure> downs;
    net::session session;

    /// The commands that were to leave since the last call.
    std::vector<command> sent() {
        write();
        resp::parser p;
        return decode(p, std::exchange(written_, {}));
    }
    /// The end of a turn: what is to leave is written.
    void write() {
        written_ += std::exchange(session.outgoing(), {});
        session.on_written();
    }
    std::string names_sent() {
        std::string all;
        for (const command& c : sent()) {
            if (!all.empty()) all += ' ';
            all += c.front() == "EVAL" ? "EVAL:" + c.back() : c.front();
        }
        return all;
    }
    void hear(std::string_view bytes) {
        write();
        session.on_bytes(bytes, now);
    }
    void pass(duration span) {
        now += span;
        session.on_time(now);
    }
    void connect() { session.on_open(now); }
    void greet() {
        sent();
        hear(greeting());
    }
    /// Ready, having served long enough to be trusted.
    rig& ready() {
        session.start(now);
        connect();
        greet();
        now += 1s;
        return *this;
    }
    static std::string greeting() {
        std::string all = "+OK\r\n";
        for (const auto& s : resp::all_scripts()) all += bulk(s.sha1);
        return all;
    }
    static heard_ptr make(const std::string& name) { return heard_ptr(new heard_call(name)); }
    std::optional<net::failure> submit(const heard_ptr& what) {
        std::string wire;
        resp::append_command(wire, {what->name()});
        return session.submit(what, 0, wire, now);
    }
    heard_ptr submitted(const std::string& name) {
        auto what = make(name);
        submit(what);
        return what;
    }
    heard_ptr make_release(const std::string& name) {
        auto what = make(name);
        what->owed = now + 10s;
        return what;
    }

private:
    static client_options with(node_options node) {
        client_options o;
        o.nodes.push_back(std::move(node));
        o.client_name = "a tester";
        return o;
    }
    void open() override { ++opens; }
    void drop() override { ++drops; }
    std::uint64_t random_word() override { return 0; }
    void on_node_up(std::size_t, duration) override { ++ups; }
    void on_node_down(std::size_t, const net::failure& why) override { downs.push_back(why); }
    void on_release_owed(std::size_t) override { ++owed; }

    std::string written_;
};

}  // namespace redlock::fakes
