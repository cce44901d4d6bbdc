// Kills, freezes, empties, starves and demotes servers, so many at a time as its caller says.
// SPDX-License-Identifier: MIT
#include "nodes.hpp"

#include "judge/times.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace redlock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using testing::direct;
using testing::redis_server;

constexpr std::size_t size = 5;
constexpr std::size_t minority = 2;
constexpr std::size_t quorum = 3;
constexpr std::size_t with_log = 3;  // so many of them

}  // namespace

const char* name_of(fault what) {
    constexpr std::array<const char*, faults> names{"none",   "kill",    "snapshot", "empty",
                                                    "freeze", "flush",   "scripts",  "cut",
                                                    "oom",    "replica", "copy"};
    return names[static_cast<std::size_t>(what)];
}

nodes::nodes(std::uint64_t seed, milliseconds ttl_max, std::function<void(const std::string&)> log)
    : random_(seed), ttl_max_(ttl_max), log_(std::move(log)) {
    nodes_.reserve(size);
    for (std::size_t i = 0; i < size; ++i) {
        const bool has_log = i < with_log;
        testing::server_options options;
        options.args = {"--repl-diskless-sync-delay", "0"};  // a copy is made at once
        options.keeps_data = has_log;
        nodes_.push_back({"n" + std::to_string(i), has_log,
                          redis_server(std::move(options), redis_server::start::do_not_wait)});
    }
    for (auto& n : nodes_) n.server.await_ready();
    next_fault_ = clock::now() + 1s;  // the bootstrap of the cluster first
}

int nodes::between(int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random_);
}

bool nodes::is_impaired(const node& n, clock::time_point now) const {
    return n.current != fault::none || now < n.impaired_until;
}

std::size_t nodes::impaired(clock::time_point now) const {
    return static_cast<std::size_t>(std::count_if(
        nodes_.begin(), nodes_.end(), [&](const node& n) { return is_impaired(n, now); }));
}

bool nodes::may_be_struck(const node& n, clock::time_point now) const {
    return most_.impaired > minority ? n.current == fault::none : !is_impaired(n, now);
}

std::size_t nodes::forgetful(clock::time_point now) const {
    return static_cast<std::size_t>(std::count_if(nodes_.begin(), nodes_.end(), [&](const node& n) {
        return loses_data(n, n.current) || now < n.impaired_until;
    }));
}

void nodes::step() {
    const auto now = clock::now();
    for (auto& n : nodes_) {
        if (n.current != fault::none && now >= n.mend_at) end(n);
    }
    const auto bad = impaired(now);
    if (is_volley_) {
        if (bad == 0) end_volley();
        return;
    }
    const bool many = most_.impaired > minority;
    if (now < next_fault_ || (!many && bad >= most_.impaired)) return;
    next_fault_ = now + milliseconds(between(50, 600));
    if (many && between(0, 3) == 0) return begin_storm();
    if (bad == 0 && between(0, 1) == 0) return begin_volley();
    auto& n = nodes_[static_cast<std::size_t>(between(0, size - 1))];
    if (may_be_struck(n, now)) begin(n, draw(n), draw_time());
}

// What exclusion is most delicate against: two nodes miss an acquire and are back, and then a
// third, which had granted it, forgets.
void nodes::begin_volley() {
    is_volley_ = true;
    const auto spared = static_cast<std::size_t>(between(0, with_log - 1));
    for (std::size_t i = 0; i < size; ++i) {
        nodes_[i].was_in_volley = i < with_log && i != spared;
        if (nodes_[i].was_in_volley) {
            begin(nodes_[i], possible(nodes_[i], fault::kill), milliseconds(between(200, 800)));
        }
    }
}

void nodes::end_volley() {
    is_volley_ = false;
    auto third = static_cast<std::size_t>(between(0, size - 1));
    while (nodes_[third].was_in_volley) third = (third + 1) % size;
    constexpr std::array forgetting{fault::empty, fault::flush, fault::copy};
    const auto what = forgetting[static_cast<std::size_t>(between(0, forgetting.size() - 1))];
    begin(nodes_[third], what, what == fault::copy ? 500ms : 20ms);
}

// One fault hits a quorum or all of them, and is over for all at one time.
void nodes::begin_storm() {
    const auto what = draw(nodes_.front());
    const auto time = draw_time();
    const auto first = static_cast<std::size_t>(between(0, size - 1));
    const auto many = static_cast<std::size_t>(between(quorum, size));
    if (many == size) mend();  // none is spared for what it suffers already
    const auto now = clock::now();
    for (std::size_t i = 0; i < many; ++i) {
        auto& n = nodes_[(first + i) % size];
        if (may_be_struck(n, now)) begin(n, possible(n, what), time);
    }
}

// From a blink to longer than a connection is kept open without an answer.
milliseconds nodes::draw_time() {
    return milliseconds(std::lround(20 * std::exp2(between(0, 720) / 100.0)));
}

// One that loses data blocks a place of a minority for long: more often something that does not.
fault nodes::draw(const node& n) {
    constexpr std::array harmless{fault::freeze, fault::scripts, fault::cut, fault::oom,
                                  fault::replica};
    const auto what = static_cast<fault>(between(1, faults - 1));
    const bool is_scarce = most_.forgetful <= minority;
    if (loses_data(n, what) && is_scarce && between(0, 2) != 0) {
        return harmless[static_cast<std::size_t>(between(0, harmless.size() - 1))];
    }
    return possible(n, what);
}

// The nearest that this node can take, and that the others leave room for.
fault nodes::possible(const node& n, fault what) const {
    if (what == fault::kill && !n.has_log) what = fault::snapshot;
    if (what == fault::snapshot && n.has_log) what = fault::kill;
    const auto now = clock::now();
    const bool forgets_already = now < n.impaired_until;
    if (!loses_data(n, what) || forgets_already) return what;
    return forgetful(now) < most_.forgetful ? what : fault::freeze;
}

bool nodes::loses_data(const node& n, fault what) const {
    switch (what) {
        case fault::snapshot:
        case fault::empty:
        case fault::flush:
        case fault::copy: return true;
        case fault::kill: return n.was_replica;
        default: return false;
    }
}

// Rather of one that has missed something.
std::uint16_t nodes::port_of_another(const node& n) {
    const auto first = static_cast<std::size_t>(between(0, size - 1));
    const node* found = nullptr;
    for (std::size_t i = 0; i < size; ++i) {
        const auto& one = nodes_[(first + i) % size];
        if (&one == &n) continue;
        if (found == nullptr || (one.was_in_volley && !found->was_in_volley)) found = &one;
    }
    return found->server.port();
}

void nodes::begin(node& n, fault what, milliseconds time) {
    ++counts_[static_cast<std::size_t>(what)];
    const bool lasts = what != fault::flush && what != fault::scripts && what != fault::cut;
    log_(n.name + " " + name_of(what));
    if (loses_data(n, what)) lost_data(n);
    n.current = what;
    n.mend_at = clock::now() + time;
    strike(n, what);
    if (!lasts) end(n);
}

void nodes::strike(node& n, fault what) {
    switch (what) {
        case fault::kill:
        case fault::empty: n.server.kill(); break;
        case fault::snapshot: ask(n).command({"SAVE"}); break;
        case fault::freeze: n.server.stop(); break;
        case fault::flush: ask(n).command({"FLUSHALL"}); break;
        case fault::scripts: ask(n).script_flush(); break;
        case fault::cut: ask(n).kill_other_clients(); break;
        case fault::oom: ask(n).config_set("maxmemory", "1"); break;
        case fault::replica: ask(n).command({"REPLICAOF", "127.0.0.1", "1"}); break;
        case fault::copy:
            ask(n).command({"REPLICAOF", "127.0.0.1", std::to_string(port_of_another(n))});
            break;
        case fault::none: break;
    }
}

void nodes::end(node& n) {
    using data = redis_server::data;
    const auto what = n.current;
    switch (what) {
        case fault::kill:
        case fault::snapshot: n.server.restart(data::keep); break;
        case fault::empty: n.server.restart(data::empty); break;
        case fault::freeze: n.server.cont(); break;
        case fault::oom: ask(n).config_set("maxmemory", "0"); break;
        case fault::replica:
        case fault::copy: ask(n).command({"REPLICAOF", "NO", "ONE"}); break;
        default: break;
    }
    ask(n).command({"PING"});
    const auto now = clock::now();
    if (loses_data(n, what)) {
        lost_data(n);
        n.impaired_until = now + ttl_max_ + ttl_max_ / 100 + 2ms + 1s;
    }
    if (what == fault::snapshot || what == fault::copy) n.old_keys_until = now + ttl_max_;
    if (what == fault::kill || what == fault::snapshot || what == fault::empty) {
        n.was_replica = false;
    } else if (what == fault::replica || what == fault::copy) {
        n.was_replica = true;
    }
    log_(n.name + " answers after " + name_of(what));
    n.current = fault::none;
}

// The second longer is for those that see the loss late.
void nodes::lost_data(node& n) {
    const auto now = clock::now();
    const auto window = ttl_max_ + 1s;
    n.lost_data_at = now;
    const auto lately = std::count_if(nodes_.begin(), nodes_.end(), [&](const node& each) {
        return each.lost_data_at + window > now;
    });
    if (static_cast<std::size_t>(lately) < quorum) return;
    if (forgotten_.empty() || forgotten_.back().until < now - window) {
        forgotten_.push_back({now - window, now + window});
    } else {
        forgotten_.back().until = now + window;
    }
}

void nodes::freeze() {
    const auto now = clock::now();
    const auto first = static_cast<std::size_t>(between(0, size - 1));
    for (std::size_t i = 0; i < size && impaired(now) < minority; ++i) {
        auto& n = nodes_[(first + i) % size];
        if (!is_impaired(n, now)) begin(n, fault::freeze, 1h);
    }
}

void nodes::mend() {
    for (auto& n : nodes_) {
        if (n.current != fault::none) end(n);
    }
    is_volley_ = false;
}

std::vector<std::uint16_t> nodes::ports() const {
    std::vector<std::uint16_t> all;
    for (const auto& n : nodes_) all.push_back(n.server.port());
    return all;
}

std::vector<found_key> nodes::keys() {
    std::vector<found_key> all;
    for (const auto& n : nodes_) {
        if (clock::now() < n.old_keys_until) continue;
        for (auto& key : lock_keys(n.name, ask(n))) all.push_back(std::move(key));
    }
    return all;
}

namespace {

bool is_companion(const std::string& key, std::string_view what) {
    return key.starts_with('{') && key.ends_with(what);
}

// Those of the readers of a key whose time is not over by the server's own clock.
std::vector<std::string> live_readers(const std::string& key, direct& server) {
    const auto now = server.command({"TIME"});
    const auto now_ms = std::stoll(now.items.at(0).text) * 1'000 +
                        std::stoll(now.items.at(1).text) / 1'000;
    std::vector<std::string> values;
    for (const auto& member : server
                                  .command({"ZRANGEBYSCORE", "{" + key + "}:readers",
                                            "(" + std::to_string(now_ms), "+inf"})
                                  .items) {
        values.push_back(member.text);
    }
    return values;
}

}  // namespace

std::vector<found_key> lock_keys(const std::string& name, direct server) {
    std::vector<found_key> found;
    for (auto& key : server.keys()) {
        if (key == "redlock:node" || is_companion(key, "}:fence") || is_companion(key, "}:slots") ||
            is_companion(key, "}:readers")) {
            continue;
        }
        const auto value = server.command({"GET", key});
        if (value.type == testing::reply::kind::nil) continue;  // it ran out in between
        if (value.text == judge::shared_by_nobody) {
            const auto readers = live_readers(key, server);
            for (const auto& reader : readers) found.push_back({name, key, reader});
            if (!readers.empty()) continue;
        }
        found.push_back({name, std::move(key), value.text});
    }
    return found;
}

}  // namespace redlock::chaos
