// Checks of all options, and the times that follow from them: validity, drift, what a node keeps.
// SPDX-License-Identifier: MIT
#include "value/options.hpp"

#include "tests/support/catch.hpp"

#include <redlock/options.hpp>

#include <cstdint>
#include <limits>
#include <random>
#include <set>

// The checks of client options and resource names, field by field.
namespace options_test {

using namespace redlock;
using namespace std::chrono_literals;

namespace {

client_options good() {
    client_options o;
    for (std::uint16_t port = 7001; port <= 7003; ++port) o.nodes.push_back({.port = port});
    return o;
}

std::set<std::string> places(const client_options& o, config_issue::level level) {
    std::set<std::string> out;
    for (const auto& issue : validate(o)) {
        CHECK_FALSE(issue.message.empty());
        if (issue.severity == level) out.insert(issue.where);
    }
    return out;
}

std::set<std::string> errors(const client_options& o) {
    return places(o, config_issue::level::error);
}

using set = std::set<std::string>;

}  // namespace

TEST_CASE("good options have no issue") {
    CHECK(validate(good()).empty());
}

TEST_CASE("the number of nodes") {
    client_options o;
    CHECK(errors(o) == set{"/nodes"});
    for (std::size_t n = 1; n <= 33; ++n) {
        INFO(n);
        o.nodes.push_back({.port = static_cast<std::uint16_t>(7000 + n)});
        CHECK(errors(o) == (n > 32 ? set{"/nodes"} : set{}));
        const bool doubtful = n == 1 || (n % 2 == 0);
        CHECK(places(o, config_issue::level::warning) == (doubtful ? set{"/nodes"} : set{}));
    }
}

TEST_CASE("of a list that changes each list is looked at alone") {
    client_options o = good();
    const std::size_t size = o.nodes.size();
    o.nodes.push_back({.port = 9'001, .change = list_change::joining});
    o.nodes.front().change = list_change::leaving;
    CHECK(validate(o).empty());
    SECTION("either may be even") {
        o.nodes.front().change = list_change::none;
        CHECK(errors(o).empty());
        const auto found = validate(o);
        REQUIRE(found.size() == 1);
        CHECK(found.front().message.starts_with("in the new list " + std::to_string(size + 1)));
    }
    SECTION("without a node in common it waits") {
        for (std::size_t i = 0; i < size; ++i) o.nodes[i].change = list_change::leaving;
        for (std::uint16_t p = 9'002; p < 9'004; ++p) {
            o.nodes.push_back({.port = p, .change = list_change::joining});
        }
        CHECK(errors(o).empty());
        CHECK(places(o, config_issue::level::warning) == set{"/nodes"});
    }
    SECTION("of one list alone there is no change") {
        for (node_options& n : o.nodes) n.change = list_change::joining;
        CHECK(errors(o) == set{"/nodes"});
    }
    SECTION("both have a name, or none") {
        o.cluster = "a";
        CHECK(errors(o) == set{"/cluster_after"});
        o.cluster_after = "a";
        CHECK(errors(o) == set{"/cluster_after"});
        o.cluster_after = "b";
        CHECK(validate(o).empty());
        o.cluster.clear();
        CHECK(errors(o) == set{"/cluster"});
    }
}

TEST_CASE("a guard that can't see anything is doubtful") {
    client_options o = good();
    o.guard = restart_guard::strict;
    CHECK(validate(o).empty());
    o.fencing = false;
    CHECK(errors(o).empty());
    CHECK(places(o, config_issue::level::warning) == set{"/restart_guard"});
    o.guard = restart_guard::automatic;  // the default
    CHECK(validate(o).empty());
}

TEST_CASE("the address of a node") {
    client_options o = good();
    o.nodes[1].port = 0;
    CHECK(errors(o) == set{"/nodes/1/port"});
    o.nodes[1] = {.host = "", .port = 1};
    CHECK(errors(o) == set{"/nodes/1/host"});
    o.nodes[1] = {.host = std::string(253, 'h')};
    CHECK(errors(o) == set{});
    for (const char* host : {"a b", "redis://a", "u@h", "a\nb"}) {
        o.nodes[1] = {.host = host};
        CHECK(errors(o) == set{"/nodes/1/host"});
    }
    o.nodes[1] = {.host = std::string(254, 'h')};
    CHECK(errors(o) == set{"/nodes/1/host"});
    o.nodes[1] = {.host = "", .port = 0, .unix_socket = std::string(107, 's')};
    CHECK(errors(o) == set{});
    o.nodes[1].unix_socket += 's';
    CHECK(errors(o) == set{"/nodes/1/unix_socket"});
    o.nodes[1].unix_socket = std::string("a\0b", 3);
    CHECK(errors(o) == set{"/nodes/1/unix_socket"});
}

TEST_CASE("one server is one node") {
    client_options o = good();
    o.nodes[2] = o.nodes[0];
    CHECK(errors(o) == set{"/nodes/2"});
    o.nodes[2].database = 1;
    CHECK(errors(o) == set{"/nodes/2"});
    o = good();
    o.nodes[0].host = "Lock-1.example";
    o.nodes[1] = {.host = "lock-1.EXAMPLE", .port = 7001};
    CHECK(errors(o) == set{"/nodes/1"});
    o.nodes[0] = {.unix_socket = "/S"};
    o.nodes[1] = {.unix_socket = "/s"};  // paths are case-sensitive
    CHECK(errors(o) == set{});
    o.nodes[1].unix_socket = "/S";
    CHECK(errors(o) == set{"/nodes/1"});
}

TEST_CASE("credentials, TLS and names") {
    client_options o = good();
    o.nodes[0].username = "me";
    CHECK(errors(o) == set{"/nodes/0/username"});
    o.nodes[0].password = "secret";
    CHECK(errors(o) == set{});
    o.nodes[0].password_command = {"get", ""};
    CHECK(errors(o) == set{"/nodes/0/password_command"});
    o.nodes[0].password.clear();
    CHECK(errors(o) == set{});
    o.nodes[0].password_command[1] = std::string("a\0", 2);
    CHECK(errors(o) == set{"/nodes/0/password_command"});
    o.nodes[0].password_command = {"", "get"};
    CHECK(errors(o) == set{"/nodes/0/password_command"});
    o.nodes[0].password_command = {"get"};
    o.nodes[0].credentials = [](const credentials_request&) {};
    CHECK(errors(o) == set{"/nodes/0/credentials"});
    o.nodes[0].password_command.clear();
    CHECK(errors(o) == set{});
    o.nodes[0].password_file = "f";
    CHECK(errors(o) == set{"/nodes/0/credentials"});
    o.nodes[0] = {.username = "me", .password = "secret"};
    o.nodes[0].tls.emplace();
    CHECK(errors(o) == set{});
    CHECK(places(o, config_issue::level::warning) == set{});
    o.nodes[0].tls->verify = false;
    CHECK(errors(o) == set{});
    CHECK(places(o, config_issue::level::warning) == set{"/nodes/0/tls/verify"});
    o.nodes[0].tls->key_file = "k";
    CHECK(errors(o) == set{"/nodes/0/tls/cert_file"});
    o.nodes[0].tls.emplace();
    o.nodes[0].tls->server_name = std::string("a\0b", 3);
    CHECK(errors(o) == set{"/nodes/0/tls/server_name"});
    o.nodes[0].tls.emplace();
    o.nodes[0].unix_socket = "/s";
    CHECK(errors(o) == set{"/nodes/0/tls"});
    o = good();
    o.nodes[0].name = "a\nb";
    CHECK(errors(o) == set{"/nodes/0/name"});
    o.nodes[0].name = std::string(256, 'n');
    CHECK(errors(o) == set{"/nodes/0/name"});
    o = good();
    o.client_name = std::string(64, 'c');
    CHECK(errors(o) == set{});
    o.client_name += 'c';
    CHECK(errors(o) == set{"/client_name"});
    o.client_name = "Zürich";
    CHECK(errors(o) == set{"/client_name"});
    o.client_name = "till#7";
    CHECK(errors(o) == set{"/client_name"});
    o = good();
    o.key_prefix = std::string(256, 'p');
    CHECK(errors(o) == set{});
    o.key_prefix += 'p';
    CHECK(errors(o) == set{"/key_prefix"});
    o.key_prefix = std::string("a\0", 2);
    CHECK(errors(o) == set{"/key_prefix"});
}

TEST_CASE("times are bounded on both sides") {
    struct limit {
        const char* where;
        std::chrono::milliseconds client_options::*field;
        std::chrono::milliseconds low;
        std::chrono::milliseconds high;
    };
    const limit limits[] = {{"/node_timeout_ms", &client_options::node_timeout, 0ms, 60s},
                            {"/connect_timeout_ms", &client_options::connect_timeout, 1ms, 10min},
                            {"/ttl_max_ms", &client_options::ttl_max, 4ms, 24h},
                            {"/drift_min_ms", &client_options::drift_min, 0ms, 24h}};
    for (const auto& l : limits) {
        INFO(l.where);
        client_options o = good();
        o.*l.field = l.low;
        CHECK(errors(o) == set{});
        o.*l.field = l.low - 1ms;
        if (l.field == &client_options::ttl_max) {
            // 3 ms leave 0.97 ms after the drift; zero is no time.
            CHECK(errors(o) == set{});
            o.*l.field = 0ms;
        }
        CHECK(errors(o) == set{l.where});
        o.*l.field = l.high + 1ms;
        CHECK(errors(o) == set{l.where});
        o.*l.field = std::chrono::milliseconds::max();
        CHECK(errors(o) == set{l.where});
        o.*l.field = std::chrono::milliseconds::min();
        CHECK(errors(o) == set{l.where});
        if (l.field == &client_options::drift_min) continue;  // the ttl would be too short for it
        o.*l.field = l.high;
        CHECK(errors(o) == set{});
    }
}

TEST_CASE("the drift") {
    client_options o = good();
    for (const double factor : {0.0, 0.5}) {
        o.drift_factor = factor;
        CHECK(errors(o) == set{});
    }
    for (const double factor : {1.0, -0.01, std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity()}) {
        o.drift_factor = factor;
        CHECK(errors(o) == set{"/drift_factor"});
    }
    o.drift_factor = 0;
    CHECK(errors(o) == set{});
    o.drift_min = 0ms;
    CHECK(errors(o) == set{"/drift_factor"});  // clocks that never drift apart
    o.drift_factor = 0.01;
    CHECK(errors(o) == set{});
    o.drift_factor = 0.5;
    o.drift_min = good().drift_min;
    o.ttl_max = 4ms;  // exactly what the drift takes
    CHECK(errors(o) == set{"/ttl_max_ms"});
    o.ttl_max = 5ms;
    CHECK(errors(o) == set{});
    o.drift_min = 24h;
    CHECK(errors(o) == set{"/ttl_max_ms"});
}

TEST_CASE("a lease may be held for longer than the margin by which its loss is reported") {
    const auto places = [](const acquire_options& o) {
        set found;
        for (const auto& issue : validate(o, good())) found.insert(issue.where);
        return found;
    };
    // At least the smaller of 5 ms and a twentieth of the ttl.
    CHECK(places({.ttl = 10s, .max_hold = 5ms}) == set{"/max_hold_ms"});
    CHECK(places({.ttl = 10s, .max_hold = 6ms}) == set{});
    CHECK(places({.ttl = 20ms, .max_hold = 1ms}) == set{"/max_hold_ms"});
    CHECK(places({.ttl = 20ms, .max_hold = 2ms}) == set{});
    CHECK(places({.ttl = 10s, .max_hold = 3s, .loss_margin = 3s}) == set{"/max_hold_ms"});
    CHECK(places({.ttl = 10s, .max_hold = 3'001ms, .loss_margin = 3s}) == set{});
    CHECK(places({.ttl = 10s, .max_hold = 0ms, .loss_margin = 3s}) == set{});
}

TEST_CASE("a watchdog is for leases that are renewed, and has an upper bound") {
    const auto places = [](const acquire_options& o) {
        set found;
        for (const auto& issue : validate(o, good())) found.insert(issue.where);
        return found;
    };
    const std::chrono::milliseconds longest = 24h * 366;
    CHECK(places({.watchdog = 1ms}) == set{});
    CHECK(places({.watchdog = longest}) == set{});
    CHECK(places({.watchdog = longest + 1ms}) == set{"/watchdog_ms"});
    CHECK(places({.watchdog = -1ms}) == set{"/watchdog_ms"});
    CHECK(places({.renew = false, .watchdog = 0ms}) == set{});
    CHECK(places({.renew = false, .watchdog = 1s}) == set{"/watchdog_ms"});
    const auto issues = validate({.renew = false, .watchdog = 1s}, good());
    REQUIRE(issues.size() == 1);
    CHECK(issues[0].message.find("renew") != std::string::npos);
}

TEST_CASE("a resource is kept for less than ttl_max, and not by readers") {
    const auto places = [](const acquire_options& o, const client_options& of) {
        set found;
        for (const auto& issue : validate(o, of)) found.insert(issue.where);
        return found;
    };
    client_options o = good();
    o.ttl_max = 30s;
    CHECK(places({.min_hold = 0ms}, o) == set{});
    CHECK(places({.min_hold = 1ms}, o) == set{});
    const auto longest = longest_min_hold(o);
    CHECK(longest == 29'098ms);  // without a hundredth and 2 ms, and a fiftieth
    CHECK(places({.min_hold = longest}, o) == set{});
    CHECK(places({.ttl = 1s, .max_hold = 2s, .min_hold = longest}, o) == set{});
    CHECK(places({.min_hold = -1ms}, o) == set{"/min_hold_ms"});
    CHECK(places({.min_hold = longest + 1ms}, o) == set{"/min_hold_ms"});
    CHECK(places({.min_hold = 1ms, .mode = lock_mode::shared}, o) == set{"/min_hold_ms"});
    CHECK(places({.mode = lock_mode::shared}, o) == set{});
    o.fencing = false;
    CHECK(places({.min_hold = 1s}, o) == set{});
    const auto issues = validate({.min_hold = 1min}, o);
    REQUIRE(issues.size() == 1);
    CHECK(issues[0].message.find("30000") != std::string::npos);
}

TEST_CASE("durations at their extremes are refused, and overflow nothing") {
    using std::chrono::milliseconds;
    const auto extreme = GENERATE(milliseconds::min(), milliseconds::max(),
                                  milliseconds(-9'223'372'036'855),
                                  milliseconds(9'223'372'036'855));
    const auto places = [](const acquire_options& o) {
        set found;
        for (const auto& issue : validate(o, good())) found.insert(issue.where);
        return found;
    };
    CHECK(places({.ttl = extreme}) == set{"/ttl_ms"});
    CHECK(places({.wait = extreme}) == (extreme < 0ms ? set{"/wait_ms"} : set{}));
    CHECK(places({.max_hold = extreme}) == set{"/max_hold_ms"});
    CHECK(places({.min_hold = extreme}) == set{"/min_hold_ms"});
    CHECK(places({.loss_margin = extreme}) == set{"/loss_margin_ms"});
    CHECK(places({.watchdog = extreme}) == set{"/watchdog_ms"});
    CHECK(places({.ttl = extreme, .max_hold = 1s, .loss_margin = extreme}).contains("/ttl_ms"));
    CHECK(places({.max_hold = 1s, .loss_margin = extreme}).contains("/loss_margin_ms"));
    client_options o = good();
    o.node_timeout = o.connect_timeout = o.ttl_max = o.drift_min = extreme;
    CHECK(errors(o) ==
          set{"/node_timeout_ms", "/connect_timeout_ms", "/ttl_max_ms", "/drift_min_ms"});
}

TEST_CASE("all problems are reported at once, and no secret with them") {
    client_options o = good();
    o.nodes[0].port = 0;
    o.nodes[1].username = "hunter1";
    o.nodes[2].password = "hunter2";
    o.nodes[2].host = "hunter3@h";
    o.node_timeout = -1ms;
    o.client_name = "\x01";
    CHECK(errors(o) == set{"/nodes/0/port", "/nodes/1/username", "/nodes/2/host",
                           "/node_timeout_ms", "/client_name"});
    for (const auto& issue : validate(o)) {
        CHECK(issue.message.find("hunter") == std::string::npos);
    }
}

TEST_CASE("a resource has 1 to 512 bytes of any kind") {
    const client_options o = good();
    CHECK_FALSE(validate_resource(o, "").empty());
    CHECK(validate_resource(o, "r").empty());
    CHECK(validate_resource(o, std::string_view("\0\n", 2)).empty());
    CHECK(validate_resource(o, std::string(512, 'r')).empty());
    CHECK_FALSE(validate_resource(o, std::string(513, 'r')).empty());
}

TEST_CASE("a resource that could be a key of the library's own is refused") {
    client_options o = good();
    for (const char* name : {"{stock}:fence", "{stock}:queue", "{stock}:readers", "{}:fence",
                             "a{b{c}:fence", "redlock:node", "app:redlock:node",
                             "redlock:probe", "redlock:wake:1"}) {
        INFO(name);
        CHECK_FALSE(validate_resource(o, name).empty());
    }
    for (const char* name : {"stock", "{stock}", "{stock}:fences", "stock:fence", "stock}:fence",
                             "redlock:nodes", "redlock", "redlock:shared", "{a}:wake"}) {
        INFO(name);
        CHECK(validate_resource(o, name).empty());
    }
    // Prefix and resource together form the key.
    o.key_prefix = "redlock:";
    CHECK_FALSE(validate_resource(o, "node").empty());
    CHECK(validate_resource(o, "nodes").empty());
    o.key_prefix = "{a}:";
    CHECK_FALSE(validate_resource(o, "fence").empty());
    CHECK(validate_resource(o, "offence").empty());
    o.key_prefix = "{a";
    CHECK_FALSE(validate_resource(o, "b}:queue").empty());
}

TEST_CASE("a node goes by its name, its address or its socket") {
    CHECK(display_name({}) == "127.0.0.1:6379");
    CHECK(display_name({.host = "::1", .port = 1}) == "[::1]:1");
    CHECK(display_name({.host = "h", .port = 1, .unix_socket = "/s"}) == "/s");
    CHECK(display_name({.name = "n", .host = "h", .unix_socket = "/s"}) == "n");
}

TEST_CASE("several resources are one to sixty-four, and all different") {
    const client_options o;
    CHECK(validate_resources(o, resource_list("a", std::string("b"))).empty());
    CHECK(validate_resources(o, resource_list("a")).empty());
    CHECK(validate_resources(o, std::vector<std::string>()) == "no resource is named");
    CHECK(validate_resources(o, resource_list("a", "b", "a")) ==
          "the resource \"a\" is named twice");
    CHECK(validate_resources(o, resource_list("a", "redlock:node")) ==
          validate_resource(o, "redlock:node"));
    std::vector<std::string> many;
    for (int i = 0; i < 65; ++i) many.push_back(std::to_string(i));
    CHECK(validate_resources(o, many) == "65 resources are named; 64 can be acquired at once");
    many.pop_back();
    CHECK(validate_resources(o, many).empty());
}

TEST_CASE("a host is a name or an address, without port and brackets") {
    const auto complaint_of = [](const std::string& host) {
        client_options o = good();
        o.nodes[0].host = host;
        const auto issues = validate(o);
        return issues.empty() ? "" : issues[0].where + ": " + issues[0].message;
    };
    for (const auto* host : {"h", "lock-1.example", "127.0.0.1", "::1", "2001:db8::3",
                             "fe80::1%eth0", "::ffff:127.0.0.1", "under_score"}) {
        CHECK(complaint_of(host).empty());
    }
    const std::pair<std::string, std::string> refused[] = {
        {"h:7001", "has a port in it: write \"host\": \"h\", \"port\": 7001"},
        {"h:", "has a port in it: write \"host\": \"h\""},
        {"[::1]", "has the brackets of a URI: write \"host\": \"::1\""},
        {"[::1]:7001", "has the brackets of a URI: write \"host\": \"::1\", \"port\": 7001"},
        {"[h]", "has a bracket: write the address alone"},
        {"[::1", "has a bracket: write the address alone"},
        {"fe80:1:2", "is no IPv6 address, and only these have several \":\""},
        {"redis://h", "must be a host name or an address, and nothing else; a URI stands in place "
                      "of the whole node"}};
    for (const auto& [host, message] : refused) {
        CHECK(complaint_of(host) == "/nodes/0/host: " + message);
    }
}

TEST_CASE("a note is copied into the options, of which nothing dangles") {
    const acquire_options o = [] {
        std::string text(max_note_bytes, 'n');
        acquire_options made{.ttl = 1s, .note = text + ""};  // of a temporary
        text = "the caller's own again";
        return made;
    }();
    CHECK(o.note.view() == std::string(max_note_bytes, 'n'));
    CHECK(validate(o, client_options{}).empty());
    static_assert(std::is_trivially_destructible_v<acquire_options>);
    static_assert(acquire_options{.note = "literal"}.note.view() == "literal");
    acquire_options later;
    CHECK(later.note.empty());
    later.note = std::string("assigned");
    CHECK(later.note == "assigned");
    CHECK(std::string_view(later.note) == "assigned");
    later.note = std::string(max_note_bytes + 100, 'n');
    CHECK(validate(later, client_options{}).front().where == "/note");
}

TEST_CASE("a note is a line of UTF-8 that misleads nobody") {
    const auto wrong = [](std::string_view note) {
        const acquire_options o{.note = note};
        const auto issues = validate(o, good());
        CHECK(issues.empty() == validate_note(note).empty());
        if (!issues.empty()) CHECK(issues.front().where == "/note");
        return issues.empty() ? std::string() : issues.front().message;
    };
    using namespace std::string_literals;
    CHECK(wrong("").empty());
    CHECK(wrong("nightly import, ask ops@example.org \"first\" \\o/").empty());
    CHECK(wrong("Gr\xc3\xb6\xc3\x9f" "e \xe6\x97\xa5 \xf0\x9f\x9a\x80").empty());
    CHECK(wrong(std::string(256, 'n')).empty());
    CHECK(wrong(std::string(257, 'n')) == "is longer than 256 bytes");
    CHECK(wrong("a\xc3") == "is no UTF-8 at byte 2");
    CHECK(wrong("\xed\xa0\x80") == "is no UTF-8 at byte 1");
    for (const std::string& bad : {"two\nlines"s, "a\tb"s, "\x1b[2J"s, "a\0b"s, "\x7f"s,
                                   "\xc2\x85"s, "\xe2\x80\xae" "abc"s, "\xe2\x80\xa8"s}) {
        CHECK(wrong(bad).find("control character") != std::string::npos);
    }
}

}  // namespace options_test

// What a ttl comes to under a client's options.
namespace lease_terms_test {

using namespace redlock;
using namespace std::chrono_literals;

TEST_CASE("without a ttl it is ten seconds, or ttl_max where that is less") {
    client_options o;
    CHECK((effective_ttl(o, 0ms) == 10s));
    CHECK((effective_ttl(o, 3s) == 3s));
    o.ttl_max = 4s;
    CHECK((effective_ttl(o, 0ms) == 4s));
}

TEST_CASE("the drift allowance is taken off the ttl") {
    client_options o;
    CHECK((longest_validity(o, 10s) == 9898ms));
    CHECK((longest_validity(o, 2ms) < 0ms));
}

TEST_CASE("a node keeps a key for as long as its clock may be behind, but not beyond ttl_max") {
    client_options o;
    CHECK((longest_stay(o, 0ms) == 0ms));
    CHECK((longest_stay(o, 50s) == 50'502ms));
    CHECK((longest_stay(o, 1ms) == 4ms));  // 3.01 ms: nodes count whole ones
    CHECK((longest_stay(o, 59'402ms) == 59'999ms));
    CHECK((longest_stay(o, 59'404ms) == 60s));
    CHECK((longest_stay(o, 60s) == 60s));
    CHECK((longest_stay(o, 50s, 100ms) == 50'603ms));
    CHECK((longest_stay(o, 59'402ms, 100ms) == 60s));
    CHECK((longest_stay(o, 0ms, 100ms) == 0ms));
}

}  // namespace lease_terms_test

// The arithmetic of validity: that nothing is rounded down.
namespace validity_test {

using namespace redlock;
using namespace std::chrono_literals;

namespace {

constexpr time_point sent = time_point(72h);

}  // namespace

TEST_CASE("the drift allowance is the share of the ttl and the minimum together") {
    CHECK(drift_policy{}.allowance(10s) == 102ms);
    CHECK(drift_policy{}.allowance(100ms) == 3ms);
    CHECK(drift_policy{}.allowance(0ns) == 2ms);
    CHECK(drift_policy{0.0, 0ns}.allowance(24h) == 0ns);
    CHECK(drift_policy{0.0, 7ns}.allowance(24h) == 7ns);
    CHECK(drift_policy{0.5, 0ns}.allowance(24h) == 12h);
}

TEST_CASE("a part of a nanosecond of drift is a whole one") {
    CHECK(drift_policy{0.01, 0ns}.allowance(1ns) == 1ns);
    CHECK(drift_policy{0.01, 0ns}.allowance(101ns) == 2ns);
    CHECK(drift_policy{0.25, 0ns}.allowance(4ns) == 1ns);
    CHECK(drift_policy{0.25, 0ns}.allowance(5ns) == 2ns);
    CHECK(drift_policy{std::numeric_limits<double>::denorm_min(), 0ns}.allowance(1ns) == 1ns);
}

TEST_CASE("the drift allowance is never rounded down, and up by one nanosecond at most") {
    std::mt19937_64 random(3);
    const auto check = [](std::int64_t ttl, std::int64_t thousandths) {
        const drift_policy policy{static_cast<double>(thousandths) / 1000, 2ms};
        const std::int64_t exact = (ttl * thousandths + 999) / 1000;
        const std::int64_t share = (policy.allowance(duration(ttl)) - 2ms).count();
        if (share < exact || share > exact + 1) {
            INFO("ttl " << ttl << " ns, factor " << policy.factor);
            REQUIRE(share == exact);
        }
    };
    for (std::int64_t thousandths = 0; thousandths < 1000; ++thousandths) {
        for (int i = 0; i < 40; ++i) {
            check(static_cast<std::int64_t>(random() % 60'000'000'000), thousandths);
            check(static_cast<std::int64_t>(1 + random() % 86'400'000) * 1'000'000, thousandths);
        }
    }
    for (std::int64_t ttl = 0; ttl <= 5000; ++ttl) check(ttl, 10);
    SUCCEED();
}

TEST_CASE("the validity counts from the sending, less the drift allowance") {
    CHECK(redlock::valid_until(sent, 10s, {}) == sent + 9898ms);
    CHECK(redlock::valid_until(sent, 100ms, {0.0, 0ns}) == sent + 100ms);
    CHECK(redlock::valid_until(sent, 101ns, {0.01, 0ns}) == sent + 99ns);
}

TEST_CASE("a ttl within its own drift allowance ends before it begins") {
    CHECK(redlock::valid_until(sent, 1ms, {}) == sent - 1010us);
    CHECK(redlock::valid_until(sent, 2ms, {0.0, 2ms}) == sent);
}

}  // namespace validity_test
