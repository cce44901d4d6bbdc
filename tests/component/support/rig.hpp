// One session without a socket: what it asks for is recorded, what it hears is typed by hand.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/session.hpp"
#include "component/support/fake_node.hpp"
#include "wire/resp/command.hpp"

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

/// The replies to a call, one line each: "+OK", "timed_out", ...
class heard_call : public detail::call {
public:
    explicit heard_call(std::string name) : name_(std::move(name)) {}

    std::vector<std::string> heard;
    std::vector<wire::failure> failures;
    bool wanted = true;
    bool calls_script = true;
    enum class kind { command, plain_request, fenced_request } is = kind::command;
    bool owed = false;
    bool begins = false;  // a lease
    std::function<void()> then{};  // runs in each of its callbacks

    void on_reply(std::size_t, std::uint32_t, const resp::reply& r, time_point) override {
        heard.emplace_back(r.type() == resp::reply_type::integer ? std::to_string(r.integer())
                                                                 : std::string(r.text()));
        if (then) then();
    }
    void on_failure(std::size_t, std::uint32_t, const wire::failure& why, time_point) override {
        heard.emplace_back(to_string(why.answer));
        failures.push_back(why);
        if (then) then();
    }
    bool is_wanted(std::uint32_t) const noexcept override { return wanted; }
    bool write_again(std::size_t, std::uint32_t, wire::request& out, time_point) const override {
        if (!calls_script) return false;
        if (is == kind::command) {
            resp::append_command(out.words, {"EVAL", name_});
        } else {
            write(out);
        }
        return true;
    }
    void write(wire::request& out) const {
        if (is == kind::command) return resp::append_command(out.words, {name_});
        resp::append_words(out.keys, {name_});
        if (is == kind::fenced_request) {
            resp::append_words(out.keys, {name_ + ":fence"});
            resp::append_words(out.queues, {name_ + ":queue"});
        }
        resp::append_words(out.words, {"release", "by " + name_});
        out.count = 2;
        if (is == kind::plain_request) {
            resp::append_command(out.command, {"DELIFEQ", name_, "by " + name_});
        }
    }
    bool is_owed(std::size_t) const noexcept override { return owed; }
    bool begins_lease() const noexcept override { return begins; }
    const std::string& name() const noexcept { return name_; }

private:
    std::string name_;
};
using heard_ptr = boost::intrusive_ptr<heard_call>;

class rig : public detail::transport, public detail::session_owner {
public:
    explicit rig(node_options node = {}, detail::session_limits limits = {},
                 bool is_fenced = false)
        : options(with(std::move(node), is_fenced)),
          session(0, options, static_cast<detail::transport&>(*this),
                  static_cast<detail::session_owner&>(*this), traffic, limits) {}

    core::own_delay delay;
    client_options options;
    detail::traffic traffic;
    time_point now = time_point{} + 1h;
    int opens = 0;
    int drops = 0;
    int ups = 0;
    int owed = 0;
    std::vector<wire::failure> downs;
    std::vector<detail::greeting> greeted;
    std::function<void()> on_greeting{};
    std::string asked_more;  // in the second part of the latest greeting
    // Of the node that is greeted, and what it says of a command of Valkey 9.
    std::string valkey_version;
    std::string delifeq_answer = ":0\r\n";
    core::record_terms record;  // what the record of a node that is greeted goes by
    detail::session session;

    /// The commands that were to leave since the last call.
    std::vector<command> sent() {
        write();
        resp::parser p;
        return decode(p, std::exchange(written_, {}));
    }
    /// The end of a turn: what is to leave is written.
    void write() {
        session.end_turn();
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
        hear(greeting(valkey_version));
        if (session.is_ready()) return;
        asked_more = names_sent();
        hear(options.fencing ? record_reply() : delifeq_answer);
    }
    /// Ready, having served long enough to be trusted.
    rig& ready() {
        session.start(now);
        connect();
        greet();
        now += 1s;
        return *this;
    }
    /// The answers of a node to a client without fences.
    static std::string greeting(const std::string& valkey_version = {}) {
        std::string info = "run_id:a\r\nrole:master\r\n";
        if (!valkey_version.empty()) info += "valkey_version:" + valkey_version + "\r\n";
        std::string all = "+OK\r\n" + bulk(info);
        all += "*2\r\n" + bulk("1700000000") + bulk("0");
        all += "*" + std::to_string(resp::all_scripts().size()) + "\r\n";
        for (std::size_t i = 0; i < resp::all_scripts().size(); ++i) all += ":1\r\n";
        return all;
    }
    /// Of record.lua: a record that stands since long ago.
    static std::string record_reply() {
        return "*2\r\n:1700000000000000\r\n" +
               bulk(std::string(22, 'e') + " run_id=a durable=0 since=0 created=5 quarantine=60000" +
                    " ttl_max=60000 set=1:abc");
    }
    static heard_ptr make(const std::string& name) { return heard_ptr(new heard_call(name)); }
    std::optional<wire::failure> submit(const heard_ptr& what) {
        wire::request text;
        what->write(text);
        return session.submit(what, 0, text, now);
    }
    heard_ptr submitted(const std::string& name) {
        auto what = make(name);
        submit(what);
        return what;
    }
    heard_ptr make_request(const std::string& name) const {
        auto what = make(name);
        what->is = options.fencing ? heard_call::kind::fenced_request
                                   : heard_call::kind::plain_request;
        return what;
    }
    heard_ptr requested(const std::string& name) {
        auto what = make_request(name);
        submit(what);
        return what;
    }
    heard_ptr make_release(const std::string& name) {
        auto what = make(name);
        what->owed = true;
        return what;
    }

private:
    static client_options with(node_options node, bool is_fenced) {
        client_options o;
        o.nodes.push_back(std::move(node));
        o.client_name = "a tester";
        o.node_timeout = 50ms;  // what tests reckon with
        o.fencing = is_fenced;
        o.guard = restart_guard::off;
        return o;
    }
    void open() override { ++opens; }
    void drop() override { ++drops; }
    std::uint64_t random_word() override { return 0; }
    const core::own_delay& own_delay() const noexcept override { return delay; }
    core::record_terms record_terms(std::size_t) override { return record; }
    void on_greeted(std::size_t, const detail::greeting& told, time_point, time_point) override {
        greeted.push_back(told);
        if (on_greeting) on_greeting();
    }
    void on_node_up(std::size_t, duration, time_point) override { ++ups; }
    void on_node_down(std::size_t, const wire::failure& why, time_point) override {
        downs.push_back(why);
    }
    void on_release_owed(std::size_t) override { ++owed; }
    core::fence_limits limits_of_fences() override { return {15s, 1h}; }

    std::string written_;
};

/// One that is `ready()` from the beginning, as most tests want it.
struct ready_rig : rig {
    explicit ready_rig(node_options node = {}, detail::session_limits limits = {},
                       bool is_fenced = false)
        : rig(std::move(node), limits, is_fenced) {
        ready();
    }
};

}  // namespace redlock::fakes
