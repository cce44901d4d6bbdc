// Kills, freezes, empties and starves servers, a minority at a time.
// SPDX-License-Identifier: MIT
#include "nodes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace redlock::chaos {
namespace {

using namespace std::chrono_literals;
using testing::direct;
using testing::redis_server;
using std::chrono::milliseconds;

constexpr std::size_t size = 5;
constexpr std::size_t minority = 2;
constexpr std::size_t durable = 3;  // so many of them

const char* name_of(fault what) {
    constexpr std::array names{"none",  "kill",    "empty restart", "freeze",
                               "flush", "scripts", "cut",           "oom"};
    return names[static_cast<std::size_t>(what)];
}

bool loses_data(fault what) { return what == fault::empty || what == fault::flush; }

}  // namespace

nodes::nodes(std::uint64_t seed, milliseconds ttl_max,
             std::function<void(const std::string&)> log)
    : random_(seed), ttl_max_(ttl_max), log_(std::move(log)) {
    nodes_.reserve(size);
    for (std::size_t i = 0; i < size; ++i) {
        const bool is_durable = i < durable;
        testing::server_options options;
        if (is_durable) options.args = {"--appendonly", "yes", "--appendfsync", "always"};
        nodes_.push_back({"n" + std::to_string(i), is_durable,
                          redis_server(std::move(options), redis_server::start::do_not_wait)});
    }
    for (auto& n : nodes_) n.server.await_ready();
    next_fault_ = clock::now() + 1s;  // the birth of the cluster first
}

int nodes::between(int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random_);
}

bool nodes::is_impaired(const node& n, clock::time_point now) const {
    return n.current != fault::none || now < n.impaired_until;
}

std::size_t nodes::impaired(clock::time_point now) const {
    return static_cast<std::size_t>(
        std::count_if(nodes_.begin(), nodes_.end(),
                      [&](const node& n) { return is_impaired(n, now); }));
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
    if (now < next_fault_ || bad >= minority) return;
    next_fault_ = now + milliseconds(between(50, 600));
    if (bad == 0 && between(0, 1) == 0) return begin_volley();
    auto& n = nodes_[static_cast<std::size_t>(between(0, size - 1))];
    if (!is_impaired(n, now)) begin(n, draw(n), draw_time());
}

// What exclusion is most delicate against: two nodes miss an acquire and are back, and then a
// third, which had granted it, forgets.
void nodes::begin_volley() {
    is_volley_ = true;
    const auto spared = static_cast<std::size_t>(between(0, durable - 1));
    for (std::size_t i = 0; i < size; ++i) {
        nodes_[i].was_in_volley = i < durable && i != spared;
        if (nodes_[i].was_in_volley) {
            begin(nodes_[i], fault::kill, milliseconds(between(200, 800)));
        }
    }
}

void nodes::end_volley() {
    is_volley_ = false;
    auto third = static_cast<std::size_t>(between(0, size - 1));
    while (nodes_[third].was_in_volley) third = (third + 1) % size;
    begin(nodes_[third], between(0, 1) == 0 ? fault::empty : fault::flush, 20ms);
}

// From a blink to longer than a connection is kept open without an answer.
milliseconds nodes::draw_time() {
    return milliseconds(std::lround(20 * std::exp2(between(0, 720) / 100.0)));
}

// One that loses data blocks its place for long: more often something that does not.
fault nodes::draw(const node& n) {
    const auto what = static_cast<fault>(between(1, faults - 1));
    if (loses_data(what) && between(0, 2) != 0) return fault::freeze;
    return what == fault::kill && !n.is_durable ? fault::freeze : what;
}

void nodes::begin(node& n, fault what, milliseconds time) {
    n.current = what;
    ++counts_[static_cast<std::size_t>(what)];
    const bool lasts = what == fault::kill || what == fault::empty || what == fault::freeze ||
                       what == fault::oom;
    n.mend_at = clock::now() + time;
    log_(n.name + " " + name_of(what));
    switch (what) {
    case fault::kill:
    case fault::empty: n.server.kill(); break;
    case fault::freeze: n.server.stop(); break;
    case fault::flush: ask(n).command({"FLUSHALL"}); break;
    case fault::scripts: ask(n).script_flush(); break;
    case fault::cut: ask(n).kill_other_clients(); break;
    case fault::oom: ask(n).config_set("maxmemory", "1"); break;
    case fault::none: break;
    }
    if (!lasts) end(n);
}

void nodes::end(node& n) {
    using data = redis_server::data;
    switch (n.current) {
    case fault::kill: n.server.restart(data::keep); break;
    case fault::empty: n.server.restart(data::empty); break;
    case fault::freeze: n.server.cont(); break;
    case fault::oom: ask(n).config_set("maxmemory", "0"); break;
    default: break;
    }
    ask(n).command({"PING"});
    if (loses_data(n.current)) {
        n.impaired_until = clock::now() + ttl_max_ + ttl_max_ / 100 + 2ms + 1s;
    }
    log_(n.name + " answers after " + name_of(n.current));
    n.current = fault::none;
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
        for (auto& key : lock_keys(n.name, ask(n))) all.push_back(std::move(key));
    }
    return all;
}

std::vector<found_key> lock_keys(const std::string& name, direct server) {
    std::vector<found_key> found;
    for (auto& key : server.keys()) {
        if (key == "redlock:node" || (key.starts_with('{') && key.ends_with("}:fence"))) continue;
        const auto value = server.command({"GET", key});
        if (value.type == testing::reply::kind::nil) continue;  // it ran out in between
        found.push_back({name, std::move(key), value.text});
    }
    return found;
}

}  // namespace redlock::chaos
