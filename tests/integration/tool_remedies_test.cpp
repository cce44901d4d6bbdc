// What the command says is to be done, done: each remedy is followed, and the trouble ends.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/founded.hpp"
#include "support/hostile_server.hpp"
#include "support/skipped.hpp"
#include "support/tls_ports.hpp"
#include "tool_call.hpp"

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

using call = std::vector<std::string>;

// With `prefix` before its words.
tool_outcome end_of_call(call prefix, const call& words) {
    prefix.insert(prefix.end(), words.begin(), words.end());
    return outcome_of(prefix);
}

call config_of(const cluster& nodes) { return {"--config", nodes.config()}; }

call uris_of_all(const std::vector<std::string>& uris) {
    call out;
    for (const auto& uri : uris) out.insert(out.end(), {"--node", uri});
    return out;
}

call locks(const std::string& resource) { return {"run", resource, "--", "true"}; }

bool mentions_all(const std::string& text, const std::vector<std::string>& parts) {
    INFO(text);
    bool all = true;
    for (const auto& part : parts) {
        INFO(part);
        all = all && text.find(part) != text.npos;
        CHECK(text.find(part) != text.npos);
    }
    return all;
}

// What stands between two parts of a text.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
    const auto begin = text.find(before) + before.size();
    return text.substr(begin, text.find(after, begin) - begin);
}

std::string file_with(const scratch& folder, const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
    return folder / name;
}

// A configuration of one node in JSON, with what is inside of its object.
std::string config_of_node(const scratch& folder, const std::string& inside) {
    return file_with(folder, "nodes.json",
                     R"({"connect_timeout_ms": 3000, "nodes": [{)" + inside + "}]}");
}

std::string port_of(cluster& nodes, std::size_t i = 0) { return std::to_string(nodes[i].port()); }

}  // namespace

TEST_CASE("a name that other data uses: another name, or another prefix", "[remedies]") {
    founded_cluster nodes(3);
    const call words = GENERATE(call{"RPUSH", "cart", "a"}, call{"HSET", "cart", "thread:1", "2"},
                                call{"SADD", "cart", "x"}, call{"XADD", "cart", "*", "f", "v"});
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).command(words);
    for (const auto* command : {"run", "acquire"}) {
        call ask = locks("cart");
        if (command == std::string("acquire")) ask = {"acquire", "cart"};
        const auto got = end_of_call(config_of(nodes), ask);
        CHECK(got.status == 125);
        mentions_all(got.err,
                     {"used for something else", "choose another RESOURCE", "\"key_prefix\""});
        CHECK(got.err.find("fix these nodes") == std::string::npos);
    }
    const auto looked = end_of_call(config_of(nodes), {"inspect", "cart"});
    CHECK(looked.status == 121);
    mentions_all(looked.err, {"used for something else", "choose another RESOURCE"});
    CHECK(looked.err.find("fix these nodes") == std::string::npos);
    CHECK(end_of_call(config_of(nodes), locks("cart-lock")).status == 0);
    std::string text = read_file(nodes.config());
    text.insert(1, R"("key_prefix": "lock:", )");
    const scratch folder;
    const call other{"--config", file_with(folder, "nodes.json", text)};
    CHECK(eventually([&] { return end_of_call(other, locks("cart")).status == 0; }));
    // Only some of the nodes: a lock is possible.
    nodes.ask(0).del("cart");
    nodes.ask(1).del("cart");
    CHECK(end_of_call(config_of(nodes), locks("cart")).status == 0);
}

TEST_CASE("a key without expiry: list --all shows it, and release --force removes it", "[remedies]") {
    founded_cluster nodes(3);
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set("cart", "someone");
    const auto got = end_of_call(config_of(nodes), locks("cart"));
    CHECK(got.status == 120);
    mentions_all(got.err,
                 {"without expiry", "waiting can't help", "redlock release --force 'cart'"});
    CHECK(end_of_call(config_of(nodes), {"list", "--all"}).out ==
          "'cart' held by someone, without expiry\n");
    CHECK(end_of_call(config_of(nodes), {"release", "--force", "--yes", "cart"}).status == 0);
    CHECK(end_of_call(config_of(nodes), locks("cart")).status == 0);
    // One that ends by itself is worth a wait.
    for (std::size_t i = 0; i < 3; ++i) nodes.ask(i).set_nx_px("cart", "someone", 2s);
    const call told{"run", "--verbose", "cart", "--", "true"};
    mentions_all(end_of_call(config_of(nodes), told).err, {"wait longer (--wait)"});
    const call wait{"run", "--wait", "30s", "cart", "--", "true"};
    CHECK(end_of_call(config_of(nodes), wait).status == 0);
}

TEST_CASE("release --force removes whatever string holds the key, and says what it was",
          "[remedies]") {
    founded_cluster nodes(3);
    struct sample {
        std::string value;
        std::string shown;
    };
    const auto [value, shown] = GENERATE(values<sample>({
        {"", "an empty value"},
        {std::string("\0\x01\xff\n", 4), "\\x00\\x01\\xff\\x0a"},
        {std::string("\0", 1), "\\x00"},
        {"redlock:shared", "readers"},
        {"{\"a\": 1}", "{\"a\": 1}"},
        {std::string(1'000'000, 'v'), "vvvvvvvvvvvv..."},
        {"0123456789012345678901@web:1#kept", "012345...@web:1"},
    }));
    const bool expires = GENERATE(false, true);
    const bool everywhere = GENERATE(true, false);
    for (std::size_t i = 0; i < (everywhere ? 3 : 1); ++i) {
        nodes.ask(i).set("b4", value);
        if (expires) nodes.ask(i).command({"PEXPIRE", "b4", "60000"});
    }
    const auto got = end_of_call(config_of(nodes), {"release", "--force", "--yes", "b4"});
    INFO(got.out + got.err);
    CHECK(got.status == 0);
    mentions_all(got.out, {"'b4' was ", shown});
    CHECK(nodes.holding("b4") == 0);
    CHECK(end_of_call(config_of(nodes), locks("b4")).status == 0);
    CHECK(end_of_call(config_of(nodes), {"release", "--force", "--yes", "b4"}).out ==
          "'b4': nothing was revoked\n");
}

TEST_CASE("release --force of a huge value does not move it", "[remedies]") {
    founded_cluster nodes(3);
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(nodes.ask(i).command({"SETRANGE", "b4", "100000000", "x"}).number == 100000001);
    }
    CHECK(end_of_call(config_of(nodes), {"release", "--force", "--yes", "b4"}).status == 0);
    CHECK(nodes.holding("b4") == 0);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(std::stoull(nodes.ask(i).info("used_memory_peak")) < 150'000'000);
    }
}

TEST_CASE("release --force leaves alone what is no string, and says how it is removed",
          "[remedies]") {
    founded_cluster nodes(3);
    const std::size_t many = GENERATE(3, 2, 1);
    for (std::size_t i = 0; i < many; ++i) nodes.ask(i).command({"RPUSH", "b4", "a"});
    const auto got = end_of_call(config_of(nodes), {"release", "--force", "--yes", "b4"});
    INFO(got.out + got.err);
    CHECK(got.status == 125);
    mentions_all(got.err, {"'b4' is no lock", "WRONGTYPE", "redis-cli DEL"});
    CHECK(nodes.holding("b4") == many);
    for (std::size_t i = 0; i < many; ++i) nodes.ask(i).del("b4");
    CHECK(end_of_call(config_of(nodes), {"release", "--force", "--yes", "b4"}).status == 0);
    CHECK(end_of_call(config_of(nodes), locks("b4")).status == 0);
}

TEST_CASE("a raw character of a password in a URI: percent-encode it as the text says",
          "[remedies]") {
    const std::string password = GENERATE("a/b", "a?b", "a#b", "a@b", "/?#@:%", "p/w?name=x");
    cluster nodes(1, {{}, password, false});
    const auto uri_with = [&](const std::string& text) {
        return uris_of_all({"redis://:" + text + "@127.0.0.1:" + port_of(nodes)});
    };
    const auto got = end_of_call(uri_with(password), locks("r"));
    CHECK(got.status == 125);
    CHECK(mentions_all(got.err, {"percent-encode"}));
    CHECK(got.err.find(password) == std::string::npos);
    std::string encoded;
    for (const char c : password) {
        const auto at = got.err.find(std::string(" for \"") + c + '"');
        encoded += at == std::string::npos ? std::string(1, c) : got.err.substr(at - 3, 3);
    }
    CHECK(end_of_call(uri_with(encoded), locks("r")).status == 0);
}

TEST_CASE("a host with a port or brackets is refused where it is read, with what to write",
          "[remedies]") {
    const scratch folder;
    for (const bool with_brackets : {false, true}) {
        cluster nodes(1);
        const std::string host = with_brackets ? "[::ffff:127.0.0.1]" : "127.0.0.1";
        const std::string wrong = R"("host": ")" + host + ":" + port_of(nodes) + '"';
        const auto got = end_of_call({"--config", config_of_node(folder, wrong)}, locks("r"));
        CHECK(got.status == 125);
        mentions_all(got.err, {"/nodes/0/host: has ", "write "});
        const std::string inside = between(got.err, "write ", "\n");
        CHECK(inside.find("\"port\": " + port_of(nodes)) != std::string::npos);
        const auto again = end_of_call({"--config", config_of_node(folder, inside)}, locks("r"));
        INFO(again.err);
        CHECK(again.status == 0);
    }
    for (const auto* host : {"[::1]", "a:", "::1]", "[", "fe80:1", "redis://h", "a b"}) {
        const std::string wrong = std::string(R"("host": ")") + host + '"';
        const auto got = end_of_call({"--config", config_of_node(folder, wrong)}, locks("r"));
        CHECK(got.status == 125);
        mentions_all(got.err, {"/nodes/0/host: "});
    }
}

TEST_CASE("a password file with a byte order mark is read, and one in UTF-16 says what to do",
          "[remedies]") {
    cluster nodes(1, {{}, "secret", false});
    const scratch folder;
    const std::string node = R"("host": "127.0.0.1", "password_file": "pw", "port": )" +
                             port_of(nodes);
    const call config{"--config", config_of_node(folder, node)};
    file_with(folder, "pw", "\xef\xbb\xbfsecret\r\n");
    CHECK(end_of_call(config, locks("r")).status == 0);
    file_with(folder, "pw", std::string("\xff\xfes\0e\0c\0r\0e\0t\0", 14));
    const auto got = end_of_call(config, locks("r"));
    CHECK(got.status == 125);
    mentions_all(got.err, {"/nodes/0/password_file", "UTF-16: save it in UTF-8"});
    file_with(folder, "pw", "secret");
    CHECK(end_of_call(config, locks("r")).status == 0);
}

TEST_CASE("a password to a server that has none: leave it out", "[remedies]") {
    cluster nodes(1);
    std::string said;
    const call with_password = uris_of_all({"redis://:secret@127.0.0.1:" + port_of(nodes)});
    REQUIRE(eventually([&] {
        const auto got = end_of_call(with_password, locks("r"));
        CHECK(got.status == 121);
        said = got.err;
        return said.find("has no password set: leave the password out") != said.npos;
    }));
    CHECK(said.find("secret") == std::string::npos);
    const call without = uris_of_all({"redis://127.0.0.1:" + port_of(nodes)});
    CHECK(end_of_call(without, locks("r")).status == 0);
}

TEST_CASE("what is doubtful is said by doctor and with --verbose, not at each start",
          "[remedies]") {
    const std::size_t size = GENERATE(1, 2);
    cluster nodes(size);
    const scratch folder;
    const call take{"acquire", "--token-file", folder / "t", "r"};
    const call prolong{"extend", "--token-file", folder / "t"};
    const call give_back{"release", "--token-file", folder / "t"};
    const call watch_once{"inspect", "r"};
    for (const call& words : {locks("r"), take, prolong, give_back, watch_once, call{"list"},
                              call{"release", "--force", "--yes", "r"}}) {
        const auto got = end_of_call(config_of(nodes), words);
        INFO(words.front());
        CHECK(got.status == 0);
        CHECK(got.err.empty());
    }
    mentions_all(end_of_call(config_of(nodes), {"run", "--verbose", "r", "--", "true"}).err,
                 {"warning: ", "/nodes: "});
    mentions_all(end_of_call(config_of(nodes), {"--verbose", "inspect", "r"}).err, {"warning: "});
    for (const auto* format : {"", "--json"}) {
        call words{"doctor"};
        if (*format != '\0') words.emplace_back(format);
        const auto got = end_of_call(config_of(nodes), words);
        mentions_all(got.out, {"configuration", "/nodes: "});
        CHECK(got.err.empty());
        CHECK(got.status == 1);
    }
}

TEST_CASE("a line of the shell is no program: give it to sh -c", "[remedies]") {
    founded_cluster nodes(3);
    const std::string line = "echo a | wc -c";
    const auto got = end_of_call(config_of(nodes), {"run", "x", "--", line});
    CHECK(got.status == 127);
    mentions_all(got.err, {line + ": No such file", "redlock run RESOURCE -- sh -c 'LINE'"});
    const auto again = end_of_call(config_of(nodes), {"run", "x", "--", "sh", "-c", line});
    CHECK(again.status == 0);
    CHECK(std::stoi(again.out) == 2);
    const auto missing = end_of_call(config_of(nodes), {"run", "x", "--", "no-such-program"});
    CHECK(missing.status == 127);
    CHECK(missing.err.find("sh -c") == std::string::npos);
}

TEST_CASE("a node that is an IPv6 address is shown as it was given", "[remedies]") {
    const auto got = end_of_call(uris_of_all({"redis://[::1]", "redis://[2001:db8::1]"}),
                                 {"run", "r", "--", "true"});
    CHECK(got.status == 121);
    mentions_all(got.err, {"[::1]:6379"});
    CHECK(got.err.find("***") == std::string::npos);
}

TEST_CASE("durations are written as people write them", "[remedies]") {
    founded_cluster nodes(3);
    for (const auto* ttl : {"0.5s", "0m30s", "10 s", "1.5s"}) {
        INFO(ttl);
        CHECK(end_of_call(config_of(nodes), {"run", "--ttl", ttl, "r", "--", "true"}).status == 0);
    }
    mentions_all(outcome_of({"help", "run"}).out, {"500ms, 1.5s, 1m30s"});
}

TEST_CASE("a bound that is named is kept where it is followed", "[remedies]") {
    founded_cluster nodes(3);
    for (const auto* option : {"--ttl", "--max-hold"}) {
        auto got = end_of_call(config_of(nodes), {"run", option, "1ms", "r", "--", "true"});
        CHECK(got.status == 125);
        mentions_all(got.err, {option + std::string(" 1ms is too short: at least ")});
        const std::string least = between(got.err, "at least ", " ");
        got = end_of_call(config_of(nodes), {"run", option, least, "r", "--", "true"});
        INFO(got.err);
        CHECK(got.status != 125);  // it may be lost, or come too late, at once
    }
}

TEST_CASE("files of TLS stand beside the configuration, and a missing one is named", "[remedies]") {
    if (!certificates::can_be_made()) return say_not_installed("openssl");
    cluster nodes(1);
    if (!is_built_with_tls(nodes.ask(0))) return say_not_installed("a redis-server with TLS");
    const certificates papers;
    const scratch folder;
    const std::string port = std::to_string(open_tls_port(nodes.ask(0), papers, "good", "yes"));
    const auto config = [&](const std::string& ca) {
        const std::string tls = R"({"cert_file": "me.pem", "key_file": "me.key", "ca_file": ")" + ca;
        const std::string node = R"("host": "localhost", "port": )" + port;
        return call{"--config", config_of_node(folder, node + ", \"tls\": " + tls + "\"}")};
    };
    for (const auto* file : {"ca.pem", "me.pem", "me.key"}) {
        const auto got = end_of_call(config("ca.pem"), locks("r"));
        CHECK(got.status == 125);
        const std::string option = file == std::string("ca.pem")   ? "ca_file"
                                   : file == std::string("me.pem") ? "cert_file"
                                                                   : "key_file";
        mentions_all(got.err, {"/nodes/0/tls/" + option + ": ", folder / file,
                               "No such file or directory"});
        CHECK(got.err.find("std::") == std::string::npos);
        CHECK(got.err.find("error:") == std::string::npos);
        const std::string from = option == "ca_file"     ? papers.file("ca")
                                 : option == "cert_file" ? papers.file("client")
                                                         : papers.key("client");
        std::filesystem::copy_file(from, folder / file);
    }
    const auto got = end_of_call(config("ca.pem"), locks("r"));
    INFO(got.err);
    CHECK(got.status == 0);
    CHECK(end_of_call(config(papers.file("ca")), locks("r")).status == 0);
}

TEST_CASE("for --node rediss:// the files are options", "[remedies]") {
    if (!certificates::can_be_made()) return say_not_installed("openssl");
    cluster nodes(1);
    if (!is_built_with_tls(nodes.ask(0))) return say_not_installed("a redis-server with TLS");
    const certificates papers;
    const std::string port = std::to_string(open_tls_port(nodes.ask(0), papers, "good", "yes"));
    const call node = uris_of_all({"rediss://localhost:" + port});
    const auto with = [&](call words) {
        words.insert(words.begin(), node.begin(), node.end());
        return words;
    };
    REQUIRE(eventually([&] {
        const auto got = end_of_call(node, locks("r"));
        CHECK(got.status == 121);
        return got.err.find("ca_file, cert_file and key_file are --tls-ca, --tls-cert and "
                            "--tls-key") != std::string::npos;
    }));
    const call all{"--tls-ca", papers.file("ca"), "--tls-cert", papers.file("client"), "--tls-key",
                   papers.key("client")};
    CHECK(eventually([&] { return end_of_call(with(all), locks("r")).status == 0; }));
    const std::vector<std::pair<call, std::string>> wrong{
        {with({"--tls-ca", papers.key("ca")}),
         "redlock: /nodes/0/tls/ca_file: " + papers.key("ca") +
             " can't be used: no certificate or crl found: name a readable PEM file"},
        {with({"--tls-ca", "none.pem"}), "--tls-ca none.pem: No such file or directory"},
        {with({"--tls-cert", papers.file("client")}), "--tls-cert and --tls-key go together"},
        {{"--node", "redis://localhost:1", "--tls-ca", papers.file("ca")}, "--node rediss://"},
        {{"--config", nodes.config(), "--tls-ca", papers.file("ca")}, "has \"tls\" for its nodes"},
    };
    for (const auto& [words, text] : wrong) {
        const auto got = end_of_call(words, locks("r"));
        CHECK(got.status == 125);
        mentions_all(got.err, {text});
    }
}

namespace {

// It answers nothing but these bytes, to the first command, and hangs up.
misbehaviour says_once(std::string bytes) {
    return [bytes = std::move(bytes)](const request&) {
        return answer{.bytes = bytes, .after = answer::then::close};
    };
}

// A cluster proxy knows what has a key, and little else.
misbehaviour passes_on_keys(const std::string& refusal) {
    return [refusal](const request& r) {
        const bool is_about_keys = r.name == "AUTH" || r.name == "PING" || r.name == "SET";
        return answer{.bytes = is_about_keys ? r.proper : "-" + refusal + "\r\n"};
    };
}

const std::string port_of_redis = "name the port of a Redis server";

}  // namespace

TEST_CASE("a server of another kind on the port is said to be that", "[remedies]") {
    struct sample {
        std::string bytes;
        std::string kind;
        std::string remedy;
    };
    const auto [bytes, kind, remedy] = GENERATE(values<sample>({
        {"HTTP/1.1 400 Bad Request\r\nServer: nginx\r\n\r\n", "an HTTP server", port_of_redis},
        {"<!DOCTYPE HTML>\n<html><body>400</body></html>", "an HTTP server", port_of_redis},
        {"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "an SSH server", port_of_redis},
        {"220 mail.example.net ESMTP\r\n", "a server of another kind", port_of_redis},
        {"ERROR\r\nERROR\r\n", "a server of another kind", port_of_redis},  // memcached
        {std::string("\x4a\0\0\0\x0a", 5) + "8.0.35", "a server of another kind", port_of_redis},
        {std::string("\x15\x03\x01\0\x02\x02\x46", 7), "expects TLS", "use rediss://"},
        {"", "hung up before it answered", "name the servers behind it"},
    }));
    const hostile_server other(says_once(bytes));
    const call uri = uris_of_all({"redis://127.0.0.1:" + std::to_string(other.port())});
    for (const call& words : {locks("r"), call{"doctor"}}) {
        const auto got = end_of_call(uri, words);
        CHECK(got.status == (words.front() == "run" ? 121 : 2));
        mentions_all(got.out + got.err, {kind, remedy});
        CHECK(got.out.find(remedy + ":") == std::string::npos);  // no other remedy after it
    }
}

TEST_CASE("a proxy that refuses commands is no node: name the servers behind it", "[remedies]") {
    const std::string refusal = GENERATE("ERR unknown command 'x', with args beginning with: ",
                                         "ERR unsupported command 'x'", "invalid request");
    const hostile_server proxy(passes_on_keys(refusal));
    const std::string address = "127.0.0.1:" + std::to_string(proxy.port());
    for (const auto* database : {"", "/3"}) {
        const std::string uri = "redis://" + address + database;
        for (const call& words : {locks("r"), call{"doctor"}}) {
            const auto got = end_of_call(uris_of_all({uri}), words);
            CHECK(got.status == (words.front() == "run" ? 121 : 2));
            mentions_all(got.out + got.err, {"a proxy", "rename-command", "name the Redis servers"});
            CHECK(got.out.find("correct what the server says") == std::string::npos);
        }
    }
}

TEST_CASE("a command that was renamed: given its name again, the node votes", "[remedies]") {
    server_options renamed;
    renamed.args = {"--rename-command", "TIME", "clock"};
    cluster nodes(1, renamed);
    const auto got = end_of_call(config_of(nodes), locks("r"));
    CHECK(got.status == 121);
    mentions_all(got.err, {"'TIME'", "rename-command"});
    nodes[0].options().args.clear();
    nodes.restart(0);
    CHECK(end_of_call(config_of(nodes), locks("r")).status == 0);
}

TEST_CASE("a Sentinel is no node: name the master that it watches", "[remedies]") {
    founded_cluster nodes(1);
    const scratch folder;
    const std::string port = std::to_string(free_tls_port());
    const std::string file = file_with(folder, "sentinel.conf",
                                       "bind 127.0.0.1\nport " + port + "\ndir " + (folder / "") +
                                           "\nsentinel monitor m 127.0.0.1 " + port_of(nodes) +
                                           " 1\n");
    const char* const program = std::getenv("REDIS_SERVER");
    const tool_process sentinel(
        tool_process::program{"/usr/bin/env"},
        {program == nullptr || *program == '\0' ? "redis-server" : program, file, "--sentinel"});
    const call uri = uris_of_all({"redis://127.0.0.1:" + port});
    tool_outcome got{};
    REQUIRE(eventually([&] {
        got = end_of_call(uri, locks("r"));
        return got.err.find("Connection refused") == std::string::npos;
    }));
    CHECK(got.status == 121);
    mentions_all(got.err, {"it is a Sentinel", "name the master itself"});
    got = end_of_call(uri, {"doctor"});
    CHECK(got.status == 2);
    mentions_all(got.out, {"it is a Sentinel", "name the master itself"});
    CHECK(got.out.find("correct its address") == std::string::npos);
    CHECK(end_of_call(config_of(nodes), locks("r")).status == 0);
}

TEST_CASE("a node record that is none: its key is named, and deleting it helps", "[remedies]") {
    founded_cluster nodes(3);
    std::string text = read_file(nodes.config());
    text.insert(1, R"("key_prefix": "lock:", "ttl_max_ms": 1000, )");
    const scratch folder;
    const call config{"--config", file_with(folder, "nodes.json", text)};
    CHECK(end_of_call(config, {"init", "--yes"}).status == 0);
    const call words = GENERATE(call{"SET", "lock:redlock:node", "garbled"},
                                call{"SET", "lock:redlock:node", ""},
                                call{"HSET", "lock:redlock:node", "a", "b"});
    for (const std::size_t i : {0U, 1U}) {
        nodes.ask(i).del("lock:redlock:node");
        nodes.ask(i).command(words);
    }
    const std::string remedy = "delete its key lock:redlock:node";
    auto got = end_of_call(config, {"run", "--ttl", "500ms", "r", "--", "true"});
    CHECK(got.status == 121);
    mentions_all(got.err, {remedy});
    got = end_of_call(config, {"init", "--yes"});
    mentions_all(got.out + got.err, {remedy});
    got = end_of_call(config, {"doctor"});
    CHECK(got.status == 2);
    mentions_all(got.out, {remedy});
    CHECK(got.out.find("start the server") == std::string::npos);
    for (const std::size_t i : {0U, 1U}) nodes.ask(i).del("lock:redlock:node");
    CHECK(eventually([&] {
        return end_of_call(config, {"run", "--ttl", "500ms", "r", "--", "true"}).status == 0;
    }));
}

TEST_CASE("rediss:// to a port without TLS is said to be perhaps that", "[remedies]") {
    cluster nodes(1);
    const std::string address = "127.0.0.1:" + port_of(nodes);
    const auto hint = [](const tool_outcome& got) {
        return got.err.find("use redis://") != std::string::npos;
    };
    const auto got = end_of_call(uris_of_all({"rediss://" + address}), locks("r"));
    CHECK(got.status == 121);
    CHECK(hint(got));
    mentions_all(end_of_call(uris_of_all({"rediss://" + address}), {"doctor"}).out,
                 {"use redis://", "look whether the server hangs"});
    CHECK(end_of_call(uris_of_all({"redis://" + address}), locks("r")).status == 0);
    // One that hangs on a port without TLS.
    nodes.stop(0);
    CHECK_FALSE(hint(end_of_call(uris_of_all({"redis://" + address}), locks("r"))));
    nodes.cont(0);
}

TEST_CASE("descriptors that are exhausted are the program's own matter: raise ulimit -n",
          "[remedies][few_descriptors]") {
    founded_cluster nodes(3);
    // The fewest with which the command says more than that it can't begin, and some more.
    const auto with_limit = [&](int limit, const std::string& words) {
        const std::string line = "ulimit -n " + std::to_string(limit) + "; exec \"$REDLOCK_TOOL\" " +
                                 "--config '" + nodes.config() + "' " + words;
        tool_process running(tool_process::program{"/bin/sh"}, {"-c", line});
        const int status = running.wait();
        return tool_outcome{status, running.out(), running.err()};
    };
    for (const auto* words : {"run r -- true", "inspect r", "doctor", "acquire a"}) {
        for (int limit = 5; limit < 24; ++limit) {
            const auto got = with_limit(limit, words);
            const std::string all = got.out + got.err;
            INFO(words << " with " << limit << ": " << all);
            const bool is_told = all.find("raise ulimit -n") != all.npos;
            CHECK((all.find("Too many open files") == all.npos || is_told));
            CHECK(all.find("fix these nodes") == all.npos);
            CHECK(all.find("start the server") == all.npos);
        }
    }
    CHECK(with_limit(64, "run r -- true").status == 0);
}
