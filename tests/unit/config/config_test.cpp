// Loads options from a file or the environment, and says all that is wrong.
// SPDX-License-Identifier: MIT
#include "config/config.hpp"

#include "samples.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/has_text.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/error.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

// Configurations as texts and files, good and bad ones; knows nothing of how they are read.
namespace config_test {

using namespace redlock;
using redlock::testing::has_text;
using namespace std::chrono_literals;

namespace {

std::set<std::string> error_places(const std::vector<config_issue>& issues) {
    std::set<std::string> out;
    for (const auto& issue : issues) {
        if (issue.severity == config_issue::level::error) out.insert(issue.where);
    }
    return out;
}

std::string message_at(const std::vector<config_issue>& issues, const std::string& where) {
    for (const auto& issue : issues) {
        if (issue.where == where) return issue.message;
    }
    return "(none)";
}

std::string three_nodes_and(const std::string& more) {
    return R"({"nodes": ["redis://a", "redis://b", "redis://c"])" + more + "}";
}

// What is wrong with a text that is no configuration.
std::vector<config_issue> refused(const std::string& text) {
    const auto read = parse_options(text);
    CHECK_FALSE(read.has_value());
    return read ? std::vector<config_issue>() : read.error().issues();
}

bool accepts(const std::string& text) { return parse_options(text).has_value(); }

// The text of what is thrown, which has to be this kind of exception.
template <class F>
std::string thrown(F call) {
    try {
        call();
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "nothing";
}

// A folder of its own, gone with the test.
struct scratch {
    std::filesystem::path path;
    scratch() {
        std::string pattern = (std::filesystem::temp_directory_path() / "redlock-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
        path = pattern;
    }
    ~scratch() { std::filesystem::remove_all(path); }
    std::filesystem::path write(const std::string& name, const std::string& text) const {
        std::ofstream(path / name, std::ios::binary) << text;
        return path / name;
    }
};

struct variable {
    variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
    ~variable() { ::unsetenv(name_); }
    const char* name_;
};

}  // namespace

TEST_CASE("the shipped configurations are good") {
    std::size_t count = 0;
    for (const auto& file : samples::files_in(samples::shipped())) {
        if (file.filename().string().ends_with(".schema.json")) continue;
        INFO(file.string());
        const auto read = load_configuration(file);
        REQUIRE(read.has_value());
        CHECK(validate(read->client).empty());
        CHECK(read->source == file);
        ++count;
    }
    CHECK(count >= 2);
}

TEST_CASE("the local configuration names five masters on loopback") {
    const auto read = load_options(samples::shipped() / "local.json");
    REQUIRE(read.has_value());
    REQUIRE(read->nodes.size() == 5);
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK(read->nodes[i].host == "127.0.0.1");
        CHECK(read->nodes[i].port == 7001 + i);
    }
}

TEST_CASE("the annotated example says what it says") {
    const auto read = load_configuration(samples::shipped() / "example.json");
    REQUIRE(read.has_value());
    REQUIRE(read->client.nodes.size() == 5);
    CHECK(read->client.nodes[2].host == "2001:db8::3");
    CHECK(read->client.nodes[3].unix_socket == "/run/redis/redis.sock");
    CHECK(read->client.nodes[4].name == "lock-5");
    CHECK(read->defaults.ttl == 10s);
    CHECK(read->defaults.loss_margin == 100ms);
}

TEST_CASE("every bad sample is refused at the places it names, and at no other") {
    const auto files = samples::files_in(samples::bad());
    CHECK(files.size() > 80);
    for (const auto& file : files) {
        INFO(file.filename().string());
        const std::string text = samples::content(file);
        const auto read = parse_configuration(text);
        REQUIRE_FALSE(read.has_value());
        CHECK(read.error().code() == errc::config_invalid);
        CHECK(error_places(read.error().issues()) == samples::expected_pointers(text));
        for (const auto& issue : read.error().issues()) CHECK_FALSE(issue.message.empty());
    }
}

TEST_CASE("the marks of a list that changes arrive at their nodes") {
    const auto read = parse_configuration(R"({"nodes": [{"host": "a"}, {"host": "b"},
        {"host": "c", "change": "leaving"}, {"host": "d", "change": "joining"}],
        "cluster": "old", "cluster_after": "new"})");
    REQUIRE(read.has_value());
    const client_options& c = read->client;
    CHECK(c.nodes[0].change == list_change::none);
    CHECK(c.nodes[2].change == list_change::leaving);
    CHECK(c.nodes[3].change == list_change::joining);
    CHECK(c.cluster == "old");
    CHECK(c.cluster_after == "new");
}

namespace {

// Where one property of the schema arrives. schema_test.py reads the paths, and misses the property
// of a row that is not there.
struct property {
    const char* path;
    const char* value;
    bool (*has_arrived)(const configuration&, const node_options&);  // the node is the first one
    const char* beside = "";  // without which the document would be refused, as this node
    const char* node = R"({"tls": {}})";
};

constexpr property properties[] = {
    {"nodes[]", R"("redis://u:p@h:1/3?name=n")",
     [](const auto&, const auto& n) {
         return n.username == "u" && n.password == "p" && n.host == "h" && n.port == 1 &&
                n.database == 3 && n.name == "n";
     }},
    {"nodes[].durable", "true", [](const auto&, const auto& n) { return n.durable == true; }},
    {"nodes[].durable", "false", [](const auto&, const auto& n) { return n.durable == false; }},
    {"nodes[].change", R"("leaving")",
     [](const auto&, const auto& n) { return n.change == list_change::leaving; }},
    {"nodes[].name", R"("n")", [](const auto&, const auto& n) { return n.name == "n"; }},
    {"nodes[].host", R"("h")", [](const auto&, const auto& n) { return n.host == "h"; }},
    {"nodes[].port", "1", [](const auto&, const auto& n) { return n.port == 1; }},
    {"nodes[].unix_socket", R"("/s")",
     [](const auto&, const auto& n) { return n.unix_socket == "/s"; }},
    {"nodes[].username", R"("u")", [](const auto&, const auto& n) { return n.username == "u"; },
     R"("password": "p")"},
    {"nodes[].password", R"("p")", [](const auto&, const auto& n) { return n.password == "p"; }},
    {"nodes[].password_env", R"("REDLOCK_TEST_PASSWORD")",
     [](const auto&, const auto& n) { return n.password == "of the variable"; }},
    {"nodes[].password_file", R"("file")",
     [](const auto&, const auto& n) {
         return n.password == "of the file" && n.password_file.ends_with("/file");
     }},
    {"nodes[].password_command", R"(["get", "it"])",
     [](const auto&, const auto& n) {
         return n.password_command == std::vector<std::string>{"get", "it"};
     }},
    {"nodes[].database", "3", [](const auto&, const auto& n) { return n.database == 3; }},
    {"nodes[].tls.ca_file", R"("file")",
     [](const auto&, const auto& n) { return n.tls->ca_file.ends_with("/file"); }},
    {"nodes[].tls.cert_file", R"("file")",
     [](const auto&, const auto& n) { return n.tls->cert_file.ends_with("/file"); },
     R"("key_file": "other")"},
    {"nodes[].tls.key_file", R"("file")",
     [](const auto&, const auto& n) { return n.tls->key_file.ends_with("/file"); },
     R"("cert_file": "other")"},
    {"nodes[].tls.server_name", R"("s")",
     [](const auto&, const auto& n) { return n.tls->server_name == "s"; }},
    {"nodes[].tls.verify", "false", [](const auto&, const auto& n) { return !n.tls->verify; }},
    {"key_prefix", R"("p:")", [](const auto& c, auto&) { return c.client.key_prefix == "p:"; }},
    {"node_timeout_ms", "11", [](const auto& c, auto&) { return c.client.node_timeout == 11ms; }},
    {"connect_timeout_ms", "12",
     [](const auto& c, auto&) { return c.client.connect_timeout == 12ms; }},
    {"ttl_max_ms", "13000", [](const auto& c, auto&) { return c.client.ttl_max == 13s; }},
    {"drift_factor", "0.25", [](const auto& c, auto&) { return c.client.drift_factor == 0.25; }},
    {"drift_min_ms", "14", [](const auto& c, auto&) { return c.client.drift_min == 14ms; }},
    {"client_name", R"("me")", [](const auto& c, auto&) { return c.client.client_name == "me"; }},
    {"cluster", R"("c")", [](const auto& c, auto&) { return c.client.cluster == "c"; }},
    {"cluster_after", R"("d")", [](const auto& c, auto&) { return c.client.cluster_after == "d"; },
     R"("cluster": "c")", R"({"change": "leaving"})"},
    {"fencing", "false", [](const auto& c, auto&) { return !c.client.fencing; }},
    {"restart_guard", R"("off")",
     [](const auto& c, auto&) { return c.client.guard == restart_guard::off; }},
    {"defaults.ttl_ms", "5000", [](const auto& c, auto&) { return c.defaults.ttl == 5s; }},
    {"defaults.wait_ms", "15", [](const auto& c, auto&) { return c.defaults.wait == 15ms; }},
    {"defaults.renew", "false", [](const auto& c, auto&) { return !c.defaults.renew; }},
    {"defaults.max_hold_ms", "18",
     [](const auto& c, auto&) { return c.defaults.max_hold == 18ms; }},
    {"defaults.loss_margin_ms", "17",
     [](const auto& c, auto&) { return c.defaults.loss_margin == 17ms; }},
};

// A document with the property at its path, and what it takes beside it.
std::string document_with(const property& one) {
    const std::string path = one.path;
    const std::string name = path.substr(path.rfind('.') + 1);
    std::string part = std::string("{\"") + name + "\": " + one.value;
    if (*one.beside != '\0') part += std::string(", ") + one.beside;
    part += "}";
    if (path == "nodes[]") part = one.value;
    if (path.starts_with("nodes[].tls.")) part = "{\"tls\": " + part + "}";
    if (path.starts_with("defaults.")) part = "{\"defaults\": " + part + "}";
    const bool is_node = path.starts_with("nodes[]");
    return R"({"$schema": "x", "nodes": [)" + (is_node ? part : one.node) +
           R"(, "redis://b", "redis://c"])" + (is_node ? "}" : ", " + part.substr(1));
}

}  // namespace

TEST_CASE("every option arrives in its field") {
    const scratch folder;
    folder.write("file", "of the file");
    folder.write("other", "PEM");
    const variable set("REDLOCK_TEST_PASSWORD", "of the variable");
    const auto read = [&](const std::string& text) {
        INFO(text);
        auto out = parse_configuration(text, folder.path);
        REQUIRE(out.has_value());
        REQUIRE(out->client.nodes.size() == 3);
        return *out;
    };
    const configuration without = read(R"({"nodes": [{"tls": {}}, "redis://b", "redis://c"]})");
    for (const property& one : properties) {
        INFO(one.path);
        const configuration with = read(document_with(one));
        CHECK(one.has_arrived(with, with.client.nodes[0]));
        // Otherwise it would arrive by chance, or be looked for in another field.
        CHECK_FALSE(one.has_arrived(without, without.client.nodes[0]));
    }
}

TEST_CASE("each word of restart_guard is the guard of that name") {
    const auto guard_of = [](const std::string& word) {
        const auto read = parse_configuration(
            R"({"nodes": ["redis://a"], "restart_guard": ")" + word + "\"}");
        REQUIRE(read.has_value());
        return read->client.guard;
    };
    CHECK(guard_of("automatic") == restart_guard::automatic);
    CHECK(guard_of("strict") == restart_guard::strict);
    CHECK(guard_of("off") == restart_guard::off);
}

TEST_CASE("what is left out has the defaults of the options") {
    const auto read = parse_options(three_nodes_and(""));
    REQUIRE(read.has_value());
    CHECK(read->node_timeout == client_options{}.node_timeout);
    CHECK(read->ttl_max == client_options{}.ttl_max);
    CHECK(read->guard == restart_guard::automatic);
    CHECK(read->fencing);
    for (const char* name : {"off", "automatic", "strict"}) {
        CHECK(accepts(three_nodes_and(R"(, "restart_guard": ")" + std::string(name) + '"')));
    }
    CHECK(parse_options(three_nodes_and(R"(, "restart_guard": "off")"))->guard ==
          restart_guard::off);
}

TEST_CASE("a near miss is answered with the right name") {
    const auto issues = refused(three_nodes_and(R"(, "tll_max_ms": 1, "node_timeout": 1,
        "restart_guard": "automatik", "zebra": 1)"));
    CHECK(has_text(message_at(issues, "/tll_max_ms"), "did you mean \"ttl_max_ms\"?"));
    CHECK(has_text(message_at(issues, "/node_timeout"), "did you mean \"node_timeout_ms\"?"));
    CHECK(has_text(message_at(issues, "/restart_guard"), "did you mean \"automatic\"?"));
    CHECK(has_text(message_at(issues, "/zebra"), "known are "));
}

TEST_CASE("an even number of nodes, or a single one, is a warning") {
    for (const auto* text : {R"({"nodes": ["redis://a", "redis://b"]})", R"({"nodes": ["a"]})"}) {
        const auto read = parse_options(text);
        REQUIRE(read.has_value());
        const auto issues = validate(*read);
        REQUIRE(issues.size() == 1);
        CHECK(issues[0].severity == config_issue::level::warning);
        CHECK(issues[0].where == "/nodes");
    }
    // Beside errors it is listed, and no reason.
    const auto read = parse_options(R"({"nodes": ["redis://a", "redis://b"], "zebra": 1})");
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().issues().size() == 2);
    CHECK_FALSE(has_text(read.error().message(), "2 nodes"));
}

TEST_CASE("comments and a byte order mark are no part of the text") {
    const std::string text = "\xef\xbb\xbf// one\n/* two */ " + three_nodes_and("/* three */");
    CHECK(accepts(text));
}

TEST_CASE("a syntax error names line and column, and quotes nothing") {
    auto issues = refused("{\n  \"nodes\": [\n    redis\n");
    REQUIRE(issues.size() == 1);
    CHECK(has_text(issues[0].message, "line 3, column 5"));
    issues = refused("{\"password\": \"hunter2\x01\"}");
    REQUIRE(issues.size() == 1);
    CHECK_FALSE(has_text(issues[0].message, "hunter2"));
    issues = refused("{\"x\": 1e999}");
    REQUIRE(issues.size() == 1);
    CHECK(has_text(issues[0].message, "too large"));
    for (const char* text : {"", " ", "null", "nul", "\"", "{\"a\"", "\xff", "[1,", "/*"}) {
        CHECK_FALSE(accepts(text));
    }
}

TEST_CASE("what exceeds the bounds is refused before it costs") {
    CHECK(has_text(message_at(refused(std::string(1024 * 1024 + 1, ' ')), ""), "1 MiB"));
    CHECK_FALSE(accepts(std::string(1024 * 1024, '[')));
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
    CHECK_FALSE(accepts(deep));
    std::string wide = "[0";
    for (int i = 0; i < 100'000; ++i) wide += ",0";
    CHECK_FALSE(accepts(wide + "]"));
    std::string keys;
    for (int i = 0; i < 1000; ++i) keys += ", \"key" + std::to_string(i) + "\": 1";
    CHECK(refused(three_nodes_and(keys)).size() <= 101);
    const auto issues = refused(three_nodes_and(", \"" + std::string(100'000, 'k') + "\": 1"));
    REQUIRE(issues.size() == 1);
    CHECK(issues[0].where.size() < 100);
}

TEST_CASE("a second value of a key is reported inside lists and objects too") {
    const auto issues = refused(R"({"nodes": ["redis://a", {"host": "b", "tls": {"verify": true},
        "tls": {"verify": {"x": 1}, "verify": 2}}, "redis://c"]})");
    CHECK(error_places(issues) ==
          std::set<std::string>{"/nodes/1/tls", "/nodes/1/tls/verify"});
    CHECK(has_text(message_at(issues, "/nodes/1/tls"), "twice"));
}

TEST_CASE("passwords come from the environment and from files") {
    const scratch folder;
    const variable set("REDLOCK_TEST_PASSWORD", "from env");
    const variable empty("REDLOCK_TEST_EMPTY", "");
    folder.write("secret", "from file\n");
    folder.write("dos", "from dos\r\n");
    folder.write("blank", "\n");
    folder.write("long", std::string(5000, 'x'));
    const auto config = folder.write("redlock.json", R"({"nodes": [
        {"host": "a", "password_env": "REDLOCK_TEST_PASSWORD"},
        {"host": "b", "username": "u", "password_file": "secret"},
        {"host": "c", "password_file": "dos"}]})");
    const auto read = load_options(config);
    REQUIRE(read.has_value());
    CHECK(read->nodes[0].password == "from env");
    CHECK(read->nodes[1].password == "from file");
    CHECK(read->nodes[2].password == "from dos");
    CHECK(read->nodes[0].password_file.empty());
    CHECK(read->nodes[1].password_file == (folder.path / "secret").string());

    const auto bad = folder.write("bad.json", R"({"nodes": [
        {"host": "a", "username": "u", "password_env": "REDLOCK_TEST_EMPTY"},
        {"host": "b", "password_file": "blank"}, {"host": "c", "password_file": "absent"},
        {"host": "d", "password_file": "."}, {"host": "e", "password_file": "long"}]})");
    const auto not_read = load_options(bad);
    REQUIRE_FALSE(not_read.has_value());
    const auto issues = not_read.error().issues();
    CHECK(error_places(issues) ==
          std::set<std::string>{"/nodes/0/password_env", "/nodes/1/password_file",
                                "/nodes/2/password_file", "/nodes/3/password_file",
                                "/nodes/4/password_file"});
    CHECK(has_text(message_at(issues, "/nodes/0/password_env"), "REDLOCK_TEST_EMPTY"));
    CHECK(has_text(message_at(issues, "/nodes/2/password_file"), "absent"));
}

TEST_CASE("a command that gives the password is named by its path, or looked for in PATH") {
    const scratch folder;
    const auto config = folder.write("redlock.json", R"({"nodes": [
        {"host": "a", "username": "u", "password_command": ["bin/get", "./b", ""]},
        {"host": "b", "password_command": ["/bin/get"]},
        {"host": "c", "password_command": ["get", "c"]}]})");
    const auto read = load_options(config);
    REQUIRE(read.has_value());
    using words = std::vector<std::string>;
    CHECK(read->nodes[0].password_command ==
          words{(folder.path / "bin/get").string(), "./b", ""});
    CHECK(read->nodes[1].password_command == words{"/bin/get"});
    CHECK(read->nodes[2].password_command == words{"get", "c"});
    CHECK(read->nodes[2].password.empty());
    const auto issues = refused(R"({"nodes": [
        {"host": "a", "username": "u", "password_command": []},
        {"host": "b", "password_command": "get --hunter2"},
        {"host": "c", "password_command": ["", "get"]},
        {"host": "d", "password_command": ["get", 7]},
        {"host": "e", "password": "hunter2", "password_command": ["get"]}]})");
    CHECK(error_places(issues) ==
          std::set<std::string>{"/nodes/0/password_command", "/nodes/1/password_command",
                                "/nodes/2/password_command", "/nodes/3/password_command",
                                "/nodes/4/password_command"});
    CHECK(issues.size() == 5);
    CHECK(has_text(message_at(issues, "/nodes/1/password_command"), "[\"PROGRAM\", "));
    CHECK(has_text(message_at(issues, "/nodes/4/password_command"),
                   "and password exclude each other"));
    for (const auto& i : issues) CHECK_FALSE(has_text(i.message, "hunter2"));
}

TEST_CASE("a file stays the same where the working directory changes, and a pipe is read once") {
    const scratch folder;
    folder.write("secret", "pw");
    folder.write("ca", "PEM");
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path);
    const auto read = parse_options(
        R"({"nodes": [{"host": "a", "password_file": "secret", "tls": {"ca_file": "ca"}}]})");
    std::filesystem::current_path(before);
    REQUIRE(read.has_value());
    CHECK(read->nodes[0].password_file == (folder.path / "secret").string());
    CHECK(read->nodes[0].tls->ca_file == (folder.path / "ca").string());

    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    REQUIRE(::write(ends[1], "piped\n", 6) == 6);
    ::close(ends[1]);
    const auto piped = parse_options(R"({"nodes": [{"host": "a", "password_file": "/dev/fd/)" +
                                     std::to_string(ends[0]) + "\"}]}");
    ::close(ends[0]);
    REQUIRE(piped.has_value());
    CHECK(piped->nodes[0].password == "piped");
    CHECK(piped->nodes[0].password_file.empty());
}

TEST_CASE("a byte order mark is no part of a password") {
    const scratch folder;
    folder.write("utf8", "\xef\xbb\xbfpw\n");
    folder.write("utf16", std::string("\xff\xfep\0w\0", 6));
    folder.write("mark", "\xef\xbb\xbf");
    const auto config_with = [&](const std::string& file) {
        return folder.write("c.json",
                            R"({"nodes": [{"host": "a", "password_file": ")" + file + "\"}]}");
    };
    const auto read = load_options(config_with("utf8"));
    REQUIRE(read.has_value());
    CHECK(read->nodes[0].password == "pw");
    for (const auto& [file, why] :
         {std::pair("utf16", "UTF-16: save it in UTF-8"), std::pair("mark", "is empty")}) {
        const auto bad = load_options(config_with(file));
        REQUIRE_FALSE(bad.has_value());
        CHECK(has_text(message_at(bad.error().issues(), "/nodes/0/password_file"), why));
    }
}

TEST_CASE("the files of TLS stand beside the configuration, and can be read") {
    const scratch folder;
    for (const auto* name : {"ca", "cert", "key"}) folder.write(name, "PEM");
    const std::string key = (folder.path / "key").string();
    const auto config = folder.write("c.json", R"({"nodes": [{"host": "a", "tls": {"ca_file": "ca",
        "cert_file": "./cert", "key_file": ")" + key + "\"}}]}");
    const auto read = load_options(config);
    REQUIRE(read.has_value());
    CHECK(read->nodes[0].tls->ca_file == (folder.path / "ca").string());
    CHECK(std::filesystem::path(read->nodes[0].tls->cert_file) == folder.path / "./cert");
    CHECK(read->nodes[0].tls->key_file == key);
    std::filesystem::remove(folder.path / "cert");
    const auto bad = load_options(config);
    REQUIRE_FALSE(bad.has_value());
    CHECK(has_text(message_at(bad.error().issues(), "/nodes/0/tls/cert_file"),
                   (folder.path / "./cert").string() + ", which can't be read: No such file"));
}

TEST_CASE("a refusal says every reason, with the name of the file") {
    const scratch folder;
    const auto why = [&](const std::string& text) {
        const auto file = folder.write("nodes.json", text);
        const auto read = load_options(file);
        REQUIRE_FALSE(read.has_value());
        CHECK(read.error().source() == file);
        std::string message = read.error().message();
        INFO(message);
        REQUIRE(message.starts_with(file.string() + ": "));
        // The constructors of the clients and `value()` throw the same text.
        boost::asio::io_context context;
        CHECK(thrown([&] { load_options(file).value(); }) == message);
        CHECK(thrown([&] { blocking_client{file}; }) == message);
        CHECK(thrown([&] { client(context, file); }) == message);
        CHECK(thrown([&] { client(context.get_executor(), file); }) == message);
        return message.substr(file.string().size() + 2);
    };
    CHECK(has_text(why(three_nodes_and(R"(, "ttl_max": 1)")), "/ttl_max: "));
    CHECK(has_text(why(three_nodes_and(R"(, "ttl_max": 1)")), "did you mean \"ttl_max_ms\"?"));
    const std::string comma = why("{\n  \"nodes\": [\"a\"\n    \"b\"]}");
    CHECK(comma.starts_with("is no JSON at line 3, column 7: "));
    const std::string three = why(R"({"nodes": ["a:99999", {"hots": "b"}, "c"], "fencing": 1})");
    CHECK(has_text(three, "/nodes/0: has a port that is not 1 to 65535"));
    CHECK(has_text(three, "; /nodes/1/hots: "));
    CHECK(has_text(three, "; /fencing: must be true or false"));
}

TEST_CASE("a client reads its configuration from a file") {
    const scratch folder;
    const auto file = folder.write("nodes.json", three_nodes_and(R"(, "client_name": "me")"));
    CHECK(blocking_client(file).options().client_name == "me");
    CHECK(blocking_client(file.c_str()).options().nodes.size() == 3);
    boost::asio::io_context context;
    CHECK(client(context, file.string()).get_executor());
}

TEST_CASE("a file that can't be read is the system's error") {
    const auto read = load_configuration("/no/such/redlock.json");
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().code() == boost::system::errc::no_such_file_or_directory);
    CHECK(read.error().issues().size() == 1);
    CHECK(read.error().message() ==
          "/no/such/redlock.json: can't be read: No such file or directory");
    CHECK(thrown([] { blocking_client("/no/such/redlock.json"); }) == read.error().message());
}

TEST_CASE("a URI in place of the file's name is said without its password") {
    const auto read = load_options("redis://u:hunter2@h:7001");
    REQUIRE_FALSE(read.has_value());
    CHECK(has_text(read.error().message(), "redis://***: is a URI"));
    CHECK_FALSE(has_text(read.error().message() + read.error().source(), "hunter2"));
}

TEST_CASE("no issue contains a password") {
    const auto issues = refused(R"({"nodes": [
        "redis://u:hunter2@h:0", "redis://hunter2@h", "rediss://:hunter2@h", "u:hunter2@h",
        "redis://u:hunter2@@h", "redis://:hunter2%zz@h", "redis://h?hunter2=1",
        "redis://h/hunter2", "redis://h:hunter2", "redis://u:hun/hunter2@h", "unix://hunter2/s",
        {"host": "h", "port": 0, "password": "hunter2"}, {"host": "x", "password": ["hunter2"]},
        {"port": "hunter2"}], "fencing": "hunter2", "ttl_max_ms": "hunter2"})");
    CHECK(issues.size() >= 16);
    for (const auto& issue : issues) {
        INFO(issue.where << ": " << issue.message);
        CHECK_FALSE(has_text(issue.message, "hunter2"));
        CHECK_FALSE(has_text(issue.where, "hunter2"));
    }
}

TEST_CASE("mutated configurations never crash, and a refusal always says where") {
    std::vector<std::string> seeds;
    for (const auto& file : samples::files_in(samples::shipped())) {
        seeds.push_back(samples::content(file));
    }
    for (const auto& file : samples::files_in(samples::bad())) {
        seeds.push_back(samples::content(file));
    }
    const std::string pieces[] = {"{", "}", "[", "]", "\"", ",", ":", "//", "/*", "\\u0000", "%",
                                  "@", "1e99", "-1", "null", "\xff", "\xef\xbb\xbf", "?name="};
    std::mt19937_64 random(20240517);
    for (int round = 0; round < 4000; ++round) {
        std::string text = seeds[random() % seeds.size()];
        for (std::uint64_t edits = 1 + random() % 4; edits != 0; --edits) {
            const std::size_t at = random() % (text.size() + 1);
            switch (random() % 4) {
                case 0: text.erase(at, random() % 20); break;
                case 1: text.insert(at, pieces[random() % std::size(pieces)]); break;
                case 2: text.insert(at, text.substr(random() % (text.size() + 1), 30)); break;
                default:
                    if (at < text.size()) text[at] = static_cast<char>(random());
            }
        }
        const auto read = parse_configuration(text, "/nowhere");
        if (!read && error_places(read.error().issues()).empty()) {
            INFO(text);
            REQUIRE(false);
        }
    }
}

}  // namespace config_test

// Where a configuration is looked for, and in which order; knows nothing of how one is read.
namespace environment_test {

using namespace redlock;
using redlock::testing::has_text;

namespace {

// A home and a folder of the system, and none of the variables; as before with its end.
class surroundings {
public:
    surroundings() {
        std::string pattern = (std::filesystem::temp_directory_path() / "redlock-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
        root_ = pattern;
        for (const char* name : {"HOME", "XDG_CONFIG_HOME", "REDLOCK_CONFIG", "REDLOCK_NODES"}) {
            const char* const value = std::getenv(name);
            if (value != nullptr) before_[name] = value;
            ::unsetenv(name);
        }
        set("HOME", root_ / "home");
    }
    ~surroundings() {
        for (const char* name : {"HOME", "XDG_CONFIG_HOME", "REDLOCK_CONFIG", "REDLOCK_NODES"}) {
            ::unsetenv(name);
        }
        for (const auto& [name, value] : before_) set(name.c_str(), value);
        std::filesystem::remove_all(root_);
    }

    void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
    std::string operator/(const std::string& name) const { return (root_ / name).string(); }
    // A configuration.
    std::string write(const std::string& name) const {
        const std::filesystem::path file = root_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << R"({"nodes": ["node"]})";
        return file.string();
    }
    result<configuration, config_error> find() const { return config::look_up(root_ / "etc/c.json"); }
    // What was read, or the reasons why nothing was.
    std::string found() const {
        const auto read = find();
        return read ? read->source : "refused: " + read.error().message();
    }

private:
    std::filesystem::path root_;
    std::map<std::string, std::string> before_;
};

}  // namespace

TEST_CASE("each place is looked at before the next") {
    surroundings here;
    const std::string system = here.write("etc/c.json");
    CHECK(here.found() == system);
    const std::string home = here.write("home/.config/redlock/config.json");
    CHECK(here.found() == home);
    const std::string other = here.write("xdg/redlock/config.json");
    here.set("XDG_CONFIG_HOME", here / "xdg");
    CHECK(here.found() == other);
    here.set("REDLOCK_NODES", "a");
    CHECK(here.found() == "REDLOCK_NODES");
    here.set("REDLOCK_CONFIG", here.write("named.json"));
    CHECK(here.found() == "REDLOCK_CONFIG=" + (here / "named.json"));
}

TEST_CASE("an empty folder of the user, and a relative one, count as not set") {
    surroundings here;
    const std::string home = here.write("home/.config/redlock/config.json");
    for (const char* folder : {"", "xdg"}) {
        here.set("XDG_CONFIG_HOME", folder);
        CHECK(here.found() == home);
    }
}

TEST_CASE("a variable that is set and empty names no other nodes by that") {
    surroundings here;
    here.write("home/.config/redlock/config.json");
    here.set("REDLOCK_NODES", " \t\n");
    CHECK(here.found() ==
          "refused: REDLOCK_NODES: is empty: have it name the nodes by URIs, or unset it");
    here.set("REDLOCK_NODES", "a");
    here.set("REDLOCK_CONFIG", "");
    CHECK(here.found() == "refused: REDLOCK_CONFIG: is empty: have it name a file, or unset it");
}

TEST_CASE("commas, semicolons and quotes around the variable's nodes are no part of them") {
    surroundings here;
    const auto names = [&](const char* text) {
        here.set("REDLOCK_NODES", text);
        const auto read = here.find();
        std::string out = read ? "" : read.error().message();
        for (std::size_t i = 0; read && i < read->client.nodes.size(); ++i) {
            const auto& node = read->client.nodes[i];
            out += (i == 0 ? "" : " ") + node.host + ":" + std::to_string(node.port);
        }
        return out;
    };
    CHECK(names("a:1,b:2,c:3") == "a:1 b:2 c:3");
    CHECK(names("a:1, b:2 ; c:3;") == "a:1 b:2 c:3");
    CHECK(names("\"a:1 b:2\"") == "a:1 b:2");
    CHECK(names("'a:1','b:2'") == "a:1 b:2");
    CHECK(names("redis://:x@a:1,redis://:y@b:2") == "a:1 b:2");
    CHECK(names("REDIS://a:1 Rediss://b:2") == "a:1 b:2");
    // A comma of a password.
    CHECK(names("redis://u:p,w@a:1 b:2") == "a:1 b:2");
    here.set("REDLOCK_NODES", "redis://u:p,w@a:1");
    CHECK(here.find()->client.nodes[0].password == "p,w");
}

TEST_CASE("an option of \"defaults\" that stands beside it is refused with its place") {
    for (const char* name : {"ttl", "ttl_ms"}) {
        const auto read = parse_configuration("{\"nodes\": [\"a\"], \"" + std::string(name) +
                                              "\": 1}");
        REQUIRE(!read);
        CHECK(read.error().message() == "/" + std::string(name) +
                                            ": is not known here: write \"defaults\": "
                                            "{\"ttl_ms\": ...}");
    }
}

TEST_CASE("the variable's nodes have blanks between them") {
    surroundings here;
    here.set("REDLOCK_NODES", "  a:7001\tredis://:pw@b:7002\n[::1]:7003 ");
    const auto read = here.find();
    REQUIRE(read.has_value());
    REQUIRE(read->client.nodes.size() == 3);
    CHECK(read->client.nodes[0].host == "a");
    CHECK(read->client.nodes[1].password == "pw");
    CHECK(read->client.nodes[2].port == 7003);
    const auto options = options_from_environment();
    REQUIRE(options.has_value());
    CHECK(options->nodes.size() == 3);
}

TEST_CASE("each bad node of the variable is named by its number, and by no pointer") {
    surroundings here;
    here.set("REDLOCK_NODES", "a x:99999 redis://u:hunter2@");
    CHECK(here.found() == "refused: REDLOCK_NODES: node 2: has a port that is not 1 to 65535; "
                          "node 3: names no host");
    here.set("REDLOCK_NODES", "a redis://b?name=%0a a");
    CHECK(here.found() ==
          "refused: REDLOCK_NODES: node 2: name: must be at most 255 bytes without control "
          "characters; node 3: is the same server as the earlier node a:6379; one server has one "
          "vote, so name each once");
}

TEST_CASE("where nothing is found the message names every place") {
    surroundings here;
    const std::string why = here.found();
    CHECK(has_text(why, "refused: no nodes are known"));
    for (const std::string& place : {std::string("REDLOCK_CONFIG"), std::string("REDLOCK_NODES"),
                                     here / "home/.config/redlock/config.json",
                                     here / "etc/c.json"}) {
        CHECK(has_text(why, place));
    }
    ::unsetenv("HOME");
    CHECK(has_text(here.found(), "$HOME/.config/redlock/config.json"));
    CHECK(here.find().error().code() == errc::config_invalid);
}

TEST_CASE("a place that is there and can't be read is named, and not passed over") {
    surroundings here;
    here.write("etc/c.json");
    here.set("REDLOCK_CONFIG", here / "absent");
    CHECK(here.found() == "refused: REDLOCK_CONFIG=" + (here / "absent") +
                              ": can't be read: No such file or directory");
    ::unsetenv("REDLOCK_CONFIG");
    const std::string home = here / "home/.config/redlock/config.json";
    std::filesystem::create_directories(home);
    CHECK(here.found() == "refused: " + home + ": can't be read: Is a directory");
    std::filesystem::remove(home);
    std::filesystem::remove(here / "etc/c.json");
    std::filesystem::create_symlink("c.json", here / "etc/c.json");
    CHECK(has_text(here.found(), "/etc/c.json: can't be read: Too many levels of symbolic links"));
}

TEST_CASE("a file that this user may not read is named; another user's home is passed over") {
    if (::geteuid() != 0) return;  // only root can become somebody else
    surroundings here;
    const std::string system = here.write("etc/c.json");
    here.write("home/.config/redlock/config.json");
    ::chmod((here / "").c_str(), 0755);
    ::chmod((here / "home").c_str(), 0700);
    const auto found_by_nobody = [&] {
        REQUIRE(::seteuid(65534) == 0);
        const std::string found = here.found();
        REQUIRE(::seteuid(0) == 0);
        return found;
    };
    CHECK(found_by_nobody() == system);
    ::chmod((here / "home/.config").c_str(), 0700);
    REQUIRE(::chown((here / "home").c_str(), 65534, 65534) == 0);
    CHECK(found_by_nobody() == "refused: " + (here / "home/.config/redlock/config.json") +
                                   ": can't be read: Permission denied");
    REQUIRE(::chown((here / "home").c_str(), 0, 0) == 0);
    ::chmod(system.c_str(), 0600);
    CHECK(found_by_nobody() == "refused: " + system + ": can't be read: Permission denied");
    ::chmod((here / "etc").c_str(), 0700);
    CHECK(found_by_nobody() == "refused: " + system + ": can't be read: Permission denied");
}

}  // namespace environment_test
