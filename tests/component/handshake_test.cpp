// Tests what is said to a node first, and every way in which it may refuse; knows no connection.
// SPDX-License-Identifier: MIT
#include "client/connection.hpp"
#include "component/support/fake_node.hpp"
#include "support/catch.hpp"
#include "wire/resp/command.hpp"
#include "wire/resp/reply.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using fakes::guarded_node;
using fakes::plain_node;
using fakes::secret;
using outcome = detail::handshake::outcome;

namespace {

client_options client(bool fencing) {
    client_options o;
    o.client_name = "a name";
    o.fencing = fencing;
    return o;
}
const client_options plain = client(false);
const client_options fenced = client(true);

std::vector<fakes::command> said_to(const node_options& node, const client_options& by = plain) {
    detail::handshake h(node, by);
    std::string out;
    h.begin(out);
    resp::parser p;
    return fakes::decode(p, out);
}

/// Feeds replies until the handshake says something else than `more`.
outcome after(detail::handshake& h, std::string_view bytes) {
    std::string out;
    h.begin(out);
    resp::parser p;
    resp::reply r;
    outcome o = outcome::more;
    while (o == outcome::more && p.feed(bytes, r) == resp::parser::outcome::complete) {
        o = h.on_reply(r);
    }
    return o;
}

std::string info(std::string_view role = "master", std::string_view more = "") {
    return fakes::bulk("# Server\r\nredis_version:7.0.15\r\nrun_id:r1\r\nrole:" +
                       std::string(role) + "\r\nmaster_replid:d1\r\n" + std::string(more));
}
const std::string logged = "aof_enabled:1\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0\r\n"
                           "aof_last_bgrewrite_status:ok\r\naof_last_write_status:ok\r\n";
std::string config(std::string_view fsync, std::string_view skip = "no") {
    return "*4\r\n" + fakes::bulk("no-appendfsync-on-rewrite") + fakes::bulk(skip) +
           fakes::bulk("appendfsync") + fakes::bulk(fsync);
}
const std::string epoch(22, 'E');
const std::string time_told = "*2\r\n$10\r\n1700000000\r\n$6\r\n000007\r\n";

/// Which of the scripts, by their names, the node has: all but `missing`.
std::string scripts_but(const std::vector<std::string_view>& missing) {
    std::string all = "*" + std::to_string(resp::all_scripts().size()) + "\r\n";
    for (const auto& s : resp::all_scripts()) {
        const bool lacks = std::find(missing.begin(), missing.end(), s.name) != missing.end();
        all += lacks ? ":0\r\n" : ":1\r\n";
    }
    return all;
}
const std::string scripts_there = scripts_but({});
/// The node lost its scripts before it was to read the record.
const std::string flushed = "-NOSCRIPT No matching script.\r\n";

/// A record that stands, of the server that `info` and `logged` show.
const std::string same = epoch + " run_id=r1 replid=d1 durable=1 since=1600000000000000" +
                         " created=1600000000000000 quarantine=95000 ttl_max=90000" +
                         " set=3:abc names=a,b,c";
std::string found(const std::string& text) {
    return "*2\r\n:1700000000000009\r\n" + fakes::bulk(text);
}

fakes::command load(const resp::script& s) { return {"SCRIPT", "LOAD", std::string(s.text)}; }

std::vector<fakes::command> said_next(detail::handshake& h, const core::record_terms& r = {}) {
    std::string out;
    h.ask_more(out, r);
    resp::parser p;
    return fakes::decode(p, out);
}

outcome answered(detail::handshake& h, std::string_view bytes) {
    resp::parser p;
    resp::reply r;
    REQUIRE(p.feed(bytes, r) == resp::parser::outcome::complete);
    return h.on_reply(r);
}

}  // namespace

TEST_CASE("everything is said at once and in order") {
    const auto all = said_to(guarded_node());
    REQUIRE(all.size() == 6);
    CHECK(all[0] == fakes::command{"AUTH", "ann", secret});
    CHECK(all[1] == fakes::command{"SELECT", "3"});
    CHECK(all[2].at(1) == "SETNAME");
    CHECK(all[2].at(2).starts_with("a_name~none#"));
    CHECK(all[3] == fakes::command{"INFO"});
    CHECK(all[4] == fakes::command{"TIME"});
    fakes::command search{"SCRIPT", "EXISTS"};
    for (const auto& s : resp::all_scripts()) search.emplace_back(s.sha1);
    CHECK(all[5] == search);
}

TEST_CASE("nothing is said that was not configured") {
    CHECK(said_to(plain_node()).front().at(2).starts_with("a_name~none#"));
    node_options n;
    n.password = secret;
    CHECK(said_to(n).front() == fakes::command{"AUTH", secret});
}

TEST_CASE("it is done after the last reply, not before") {
    const auto node = GENERATE(plain_node(), guarded_node());
    detail::handshake h(node, plain);
    const std::string all = (node.password.empty() ? "+OK\r\n" : "+OK\r\n+OK\r\n+OK\r\n") + info() +
                            time_told;
    CHECK(after(h, all) == outcome::more);
    CHECK(after(h, all + scripts_there) == outcome::done);  // `begin` starts again
}

TEST_CASE("each step can fail, with its cause") {
    struct failing {
        const char* step;
        std::string replies;
        errc cause;
    };
    const std::string ok = "+OK\r\n";
    const std::string told = ok + ok + ok + info() + time_told;
    const std::string loading = "-LOADING Redis is loading the dataset in memory\r\n";
    const auto f = GENERATE_COPY(
        failing{"wrong password", "-WRONGPASS invalid username-password pair\r\n",
                errc::auth_failed},
        failing{"no password set", "-ERR AUTH called without any password\r\n", errc::auth_failed},
        failing{"loading at AUTH", loading, errc::server_error},
        failing{"too many clients", "-ERR max number of clients reached\r\n",
                errc::server_error},
        failing{"too many clients, without a password",
                ok + ok + "-ERR max number of clients reached\r\n", errc::server_error},
        failing{"protected mode", ok + ok + "-DENIED Redis is running in protected mode\r\n",
                errc::server_error},
        failing{"database out of range", ok + "-ERR DB index is out of range\r\n",
                errc::server_error},
        failing{"not authenticated after all", ok + "-NOAUTH Authentication required.\r\n",
                errc::auth_failed},
        failing{"not authenticated at SETNAME", ok + ok + "-NOAUTH Authentication required.\r\n",
                errc::auth_failed},
        failing{"loading, by INFO alone", ok + ok + ok + info("master", "loading:1\r\n"),
                errc::server_error},
        failing{"no list of scripts", told + "+OK\r\n", errc::protocol_error},
        failing{"a list of other scripts", told + "*1\r\n:1\r\n", errc::protocol_error});
    INFO(f.step);
    const auto node = guarded_node();
    detail::handshake h(node, plain);
    CHECK(after(h, f.replies) == outcome::failed);
    CHECK(h.why().answer == vote::refused);
    CHECK(h.why().error == f.cause);
    CHECK(h.why().detail.find(secret) == std::string::npos);
    CHECK_FALSE(h.why().detail.empty());
}

TEST_CASE("what the node lacks is loaded in one write with the look at the record") {
    const auto node = plain_node();
    const bool has_record = GENERATE(false, true);
    detail::handshake h(node, has_record ? fenced : plain);
    const std::string told = "+OK\r\n" + info() + (has_record ? config("always") : "") + time_told;
    const auto look = [](resp::script_form form) {
        return fakes::command{std::string(resp::verb(form)),
                              std::string(resp::body(form, resp::record()))};
    };
    const auto says = [&](std::vector<fakes::command> loads) {
        auto said = said_next(h);
        if (has_record) {
            REQUIRE_FALSE(said.empty());
            said.back().resize(2);
            loads.push_back(look(resp::script_form::by_hash));
        }
        return said == loads;
    };
    SECTION("nothing, where it has all") {
        CHECK(after(h, told + scripts_there + flushed) ==
              (has_record ? outcome::ask_more : outcome::done));
        CHECK(says({}));
    }
    SECTION("some") {
        CHECK(after(h, told + scripts_but({"plain", "wait"}) + flushed) == outcome::ask_more);
        CHECK(says({load(resp::plain()), load(resp::wait())}));
        CHECK(answered(h, fakes::bulk(resp::plain().sha1)) == outcome::more);
        SECTION("well") {
            CHECK(answered(h, fakes::bulk(resp::wait().sha1)) ==
                  (has_record ? outcome::more : outcome::done));
        }
        SECTION("which the node takes for another one") {
            CHECK(answered(h, fakes::bulk(resp::plain().sha1)) == outcome::failed);
            CHECK(h.why().error == errc::script_rejected);
        }
    }
    SECTION("all, where this user may not look for them") {
        const std::string refusal = GENERATE(
            "-NOPERM no permissions to run 'script|exists'\r\n", "-ERR unknown subcommand\r\n");
        CHECK(after(h, told + refusal + flushed) == outcome::ask_more);
        std::vector<fakes::command> loads;
        for (const auto& s : resp::all_scripts()) loads.push_back(load(s));
        CHECK(says(loads));
    }
}

TEST_CASE("a script that the node does not load ends the handshake, with the cause") {
    const auto node = plain_node();
    detail::handshake h(node, plain);
    REQUIRE(after(h, "+OK\r\n" + info() + time_told + scripts_but({"plain"})) == outcome::ask_more);
    said_next(h);
    const auto [refusal, cause] = GENERATE(table<std::string, errc>(
        {{"-NOPERM no permissions\r\n", errc::script_rejected},
         {"-LOADING Redis is loading the dataset in memory\r\n", errc::server_error},
         {fakes::bulk(std::string(40, 'a')), errc::script_rejected},
         {":40\r\n", errc::script_rejected},
         {"$-1\r\n", errc::script_rejected}}));
    INFO(refusal);
    CHECK(answered(h, refusal) == outcome::failed);
    CHECK(h.why().answer == vote::refused);
    CHECK(h.why().error == cause);
    CHECK_FALSE(h.why().detail.empty());
}

TEST_CASE("scripts that are flushed meanwhile cost another question") {
    const auto node = plain_node();
    detail::handshake h(node, fenced);
    REQUIRE(after(h, "+OK\r\n" + info() + config("always") + time_told + scripts_but({"wait"}) +
                         flushed) == outcome::ask_more);
    said_next(h);
    CHECK(answered(h, fakes::bulk(resp::wait().sha1)) == outcome::more);
    CHECK(answered(h, flushed) == outcome::ask_more);
    const auto again = said_next(h);
    REQUIRE(again.size() == 1);
    CHECK(again[0][0] == "EVAL");
    CHECK(again[0][1] == resp::record().text);
    SECTION("which is answered") {
        CHECK(answered(h, "*2\r\n:1700000000000009\r\n$-1\r\n") == outcome::done);
    }
    SECTION("once") {
        CHECK(answered(h, flushed) == outcome::failed);
        CHECK(h.why().error == errc::script_rejected);
    }
}

TEST_CASE("a name that is refused is no failure") {
    const auto node = plain_node();
    detail::handshake h(node, plain);
    CHECK(after(h, "-NOPERM no permissions to run 'client|setname'\r\n" + info() + time_told +
                       scripts_there) == outcome::done);
}

TEST_CASE("plain locks need neither INFO nor TIME") {
    const auto node = plain_node();
    detail::handshake h(node, plain);
    CHECK(after(h, "+OK\r\n-NOPERM no info\r\n-NOPERM no time\r\n" + scripts_there) ==
          outcome::done);
    CHECK(h.result().server.run_id.empty());
    CHECK_FALSE(h.result().time_us);
}

TEST_CASE("the restart guard needs them, and says so") {
    const auto node = plain_node();
    detail::handshake h(node, fenced);
    const std::string durability = config("always");
    CHECK(after(h, "+OK\r\n-NOPERM no info\r\n") == outcome::failed);
    CHECK(h.why().detail.find("INFO") != std::string::npos);
    CHECK(after(h, "+OK\r\n" + fakes::bulk("role:master\r\n")) == outcome::failed);
    CHECK(h.why().error == errc::protocol_error);
    CHECK(after(h, "+OK\r\n" + info() + durability + "-NOPERM no time\r\n") == outcome::failed);
    CHECK(h.why().detail.find("TIME") != std::string::npos);
    CHECK(after(h, "+OK\r\n" + info() + durability + "+OK\r\n") == outcome::failed);
    CHECK(after(h, "+OK\r\n" + info() + durability + time_told + scripts_there + flushed) ==
          outcome::ask_more);
    CHECK(h.result().time_us == 1'700'000'000'000'007);
    CHECK(h.result().server.run_id == "r1");
}

TEST_CASE("a replica is greeted, but keeps no record") {
    const auto node = plain_node();
    detail::handshake h(node, fenced);
    CHECK(after(h, "+OK\r\n" + info("slave") + config("always") + time_told +
                       scripts_there + flushed) == outcome::done);
    CHECK_FALSE(h.result().server.is_master);
}

TEST_CASE("a node is durable where every write is on disk before it is answered") {
    const auto node = plain_node();
    detail::handshake h(node, fenced);
    const auto is_durable = [&](const std::string& log, const std::string& policy) {
        const auto o = after(h, "+OK\r\n" + info("master", log) + policy + time_told +
                                    scripts_there + flushed);
        REQUIRE(o == outcome::ask_more);
        return h.result().server.is_durable;
    };
    CHECK(is_durable(logged, config("always")));
    CHECK_FALSE(is_durable(logged, config("everysec")));
    CHECK_FALSE(is_durable(logged, config("always", "yes")));
    CHECK_FALSE(is_durable(logged, "-NOPERM no config\r\n"));
    CHECK_FALSE(is_durable(logged, "*0\r\n"));
    CHECK_FALSE(is_durable("", config("always")));
    const std::string zeros(40, '0');
    CHECK(is_durable(logged + "master_replid2:" + zeros + "\r\n", config("always")));
    CHECK_FALSE(is_durable(logged + "master_replid2:" + std::string(40, 'a') + "\r\n",
                           config("always")));
    for (const auto* what : {"aof_enabled:1", "aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0",
                             "aof_last_bgrewrite_status:ok", "aof_last_write_status:ok"}) {
        std::string log = logged;
        log.replace(log.find(what), std::string_view(what).size(), "x:y");
        INFO(what);
        CHECK_FALSE(is_durable(log, config("always")));
    }
}

TEST_CASE("a node may be said to be durable where it does not show it, and never over replicas") {
    auto node = plain_node();
    node.durable = true;
    const auto is_durable = [&](const std::string& lines, const std::string& policy) {
        detail::handshake h(node, fenced);
        REQUIRE(after(h, "+OK\r\n" + info("master", lines) + policy + time_told + scripts_there +
                             flushed) == outcome::ask_more);
        return h.result().server.is_durable;
    };
    CHECK(is_durable("", "-NOPERM no config\r\n"));
    CHECK(is_durable(logged, "-ERR unknown command\r\n"));
    CHECK(is_durable("", "*0\r\n"));
    CHECK_FALSE(is_durable(logged, config("everysec")));  // it shows that it is not
    CHECK_FALSE(is_durable("", config("always")));
    CHECK_FALSE(is_durable("connected_slaves:1\r\n", "-NOPERM no config\r\n"));
    CHECK_FALSE(is_durable("master_replid2:" + std::string(40, 'a') + "\r\n", "*0\r\n"));
    node.durable = false;
    CHECK_FALSE(is_durable(logged, config("always")));
    CHECK_FALSE(is_durable(logged, "-NOPERM no config\r\n"));
}

TEST_CASE("the record is read in the first write, and mostly that is all") {
    const auto node = plain_node();
    detail::handshake h(node, fenced);
    const std::string told = "+OK\r\n" + info("master", logged) + config("always") + time_told;
    const core::record_terms known{.set = "3:abc", .names = "a,b,c"};
    std::string out;
    const auto asks = [&](outcome what) {
        out.clear();
        CHECK(h.ask_more(out, known) == what);
        resp::parser p;
        return fakes::decode(p, out);
    };
    SECTION("as it is") {
        CHECK(after(h, told + scripts_there + found(same)) == outcome::ask_more);
        CHECK(asks(outcome::done).empty());
        CHECK(h.result().record.epoch == epoch);
        CHECK(h.result().record.time_us == 1'700'000'000'000'009);
    }
    SECTION("or that there is none") {
        CHECK(after(h, told + scripts_there + "*2\r\n:1700000000000009\r\n$-1\r\n") ==
              outcome::ask_more);
        CHECK(asks(outcome::done).empty());
        CHECK_FALSE(h.result().record.exists);
    }
    SECTION("but for scripts that the node lacks") {
        CHECK(after(h, told + scripts_but({"wait"}) + found(same)) == outcome::ask_more);
        CHECK(asks(outcome::more) == std::vector<fakes::command>{load(resp::wait())});
        CHECK(answered(h, fakes::bulk(resp::wait().sha1)) == outcome::done);
        CHECK(h.result().record.epoch == epoch);
    }
    SECTION("but for another one, where the server was started again") {
        auto earlier = same;
        earlier.replace(earlier.find("run_id=r1"), 9, "run_id=r0");
        earlier.replace(earlier.find("durable=1"), 9, "durable=0");
        CHECK(after(h, told + scripts_there + found(earlier)) == outcome::ask_more);
        const auto said = asks(outcome::more);
        REQUIRE(said.size() == 1);
        REQUIRE(said[0].size() == 7);
        CHECK(said[0][4] == earlier);
    }
    SECTION("and again where it could not be read, which says why") {
        CHECK(after(h, told + scripts_there + found("foreign")) == outcome::ask_more);
        CHECK(asks(outcome::more).size() == 1);
        CHECK(answered(h, found("foreign")) == outcome::failed);
        CHECK(h.why().error == errc::foreign_data);
    }
    SECTION("of a replica for nothing") {
        CHECK(after(h, "+OK\r\n" + info("slave") + config("always") + time_told + scripts_there +
                           found(same)) == outcome::done);
        CHECK_FALSE(h.result().record.exists);
    }
}

TEST_CASE("the record is requested once the node has reported its role, settings and time") {
    const auto node = plain_node();
    auto by = fenced;
    by.key_prefix = "p:";
    detail::handshake h(node, by);
    REQUIRE(after(h, "+OK\r\n" + info("master", logged) + config("always") + time_told +
                         scripts_there + flushed) == outcome::ask_more);
    const core::record_terms known{.set = "3:abc",
                                   .names = "a,b,c",
                                   .epoch = std::string(22, 'F'),
                                   .mark = "M",
                                   .quarantine = std::chrono::seconds(60),
                                   .ttl_max = std::chrono::seconds(50)};
    const auto said = [&] {
        std::string out;
        h.ask_more(out, known);
        resp::parser p;
        return fakes::decode(p, out).at(0);
    };
    const std::string sha1(resp::record().sha1);
    CHECK(said() == fakes::command{"EVALSHA", sha1, "1", "p:redlock:node"});
    const auto answered = [&](std::string_view bytes) { return ::answered(h, bytes); };
    SECTION("and read") {
        const bool is_old = GENERATE(true, false);
        const std::string clock = is_old ? ""
                                         : " mark=M cluster_since=1600000000000004 offset=-7 error=3"
                                           " seen=1699999999999999 init=1650000000000000";
        CHECK(answered(found(same + clock)) == outcome::done);
        const auto& record = h.result().record;
        CHECK(record.exists);
        CHECK_FALSE(record.made);
        CHECK(record.epoch == epoch);
        CHECK(record.mark == (is_old ? "" : "M"));
        CHECK(record.time_us == 1'700'000'000'000'009);
        CHECK(record.since_us == 1'600'000'000'000'000);
        CHECK(record.ttl_max == std::chrono::seconds(90));
        CHECK(record.quarantine == std::chrono::seconds(95));
        CHECK(record.init_us.has_value() != is_old);
        CHECK(record.cluster_since_us.has_value() != is_old);
        REQUIRE(record.offset.has_value() != is_old);
        if (is_old) return;
        CHECK(record.cluster_since_us == 1'600'000'000'000'004);
        CHECK(record.init_us == 1'650'000'000'000'000);
        CHECK(record.offset->ahead_us == -7);
        CHECK(record.offset->error_us == 3);
        CHECK(record.offset->seen_us == 1'699'999'999'999'999);
    }
    SECTION("or is not there") {
        CHECK(answered("*2\r\n:1700000000000009\r\n$-1\r\n") == outcome::done);
        CHECK_FALSE(h.result().record.exists);
    }
    SECTION("and replaced in a third write where the server was started again") {
        auto earlier = same;
        earlier.replace(earlier.find("run_id=r1"), 9, "run_id=r0");
        earlier.replace(earlier.find("durable=1"), 9, "durable=0");
        CHECK(answered(found(earlier)) == outcome::ask_more);
        const auto replaces = said();
        REQUIRE(replaces.size() == 7);
        CHECK(replaces[4] == earlier);
        CHECK(replaces[5].starts_with(known.epoch + " run_id=r1 "));
        CHECK(replaces[5].find(" since=@now+0 ") != std::string::npos);
        SECTION("which the node takes") {
            auto next = replaces[5];
            next.replace(next.find("@now+0"), 6, "1700000000000009");
            CHECK(answered(found(next)) == outcome::done);
            CHECK(h.result().record.since_us == 1'700'000'000'000'009);
        }
        SECTION("where another client was faster") {
            CHECK(answered(found(same)) == outcome::done);
            CHECK(h.result().record.epoch == epoch);
        }
        SECTION("by its text where the scripts were flushed") {
            CHECK(answered(flushed) == outcome::ask_more);
            const auto again = said();
            CHECK(again[0] == "EVAL");
            CHECK(again[5] == replaces[5]);
        }
    }
    SECTION("or is that of another set") {
        CHECK(answered(found(std::string(22, 'e') + " run_id=r0 durable=1 since=0 created=0" +
                             " quarantine=1000 ttl_max=1000 set=5:def names=a,b number=7" +
                             " change=5:abc promised=2.x accepted=1.y history=6=4:a,5=4:b")) ==
              outcome::done);
        const auto& list = h.result().record.list;
        CHECK(list.set == "5:def");
        CHECK(list.names == "a,b");
        CHECK(list.number == 7);
        CHECK(list.is == core::list_facts::change::closed);
        CHECK(list.closed_for == "5:abc");
        CHECK(list.announced.empty());
        CHECK(list.promised == "2.x");
        CHECK(list.accepted == "1.y");
        CHECK(list.history.size() == 2);
        CHECK(list.history.back() == std::pair<std::uint64_t, std::string>(5, "4:b"));
    }
    SECTION("or is something else") {
        CHECK(answered(found(GENERATE("", "text", "a list of words"))) == outcome::failed);
        CHECK(h.why().error == errc::foreign_data);
    }
    SECTION("or has a word that needs a later version") {
        CHECK(answered(found(same + " !later=5")) == outcome::failed);
        CHECK(h.why().error == errc::foreign_data);
        CHECK(h.why().detail.find("!later") != std::string::npos);
    }
    SECTION("or the answer is none") {
        const auto odd = GENERATE_COPY(
            std::string("+OK\r\n"), std::string("*1\r\n:1700000000000009\r\n"),
            std::string("*2\r\n:1700000000000009\r\n:3\r\n"),
            "*2\r\n:0\r\n" + fakes::bulk(same), "*2\r\n$1\r\n3\r\n" + fakes::bulk(same),
            std::string("*3\r\n:1700000000000009\r\n$-1\r\n:3\r\n"));
        INFO(odd);
        CHECK(answered(odd) == outcome::failed);
        CHECK(h.why().error == errc::protocol_error);
    }
}

// A server that does not know AUTH says what it was sent.
TEST_CASE("the password does not come back in the failure") {
    const auto node = guarded_node();
    detail::handshake h(node, plain);
    CHECK(after(h, "-ERR unknown command `AUTH`, with args beginning with: `ann`, `" + secret +
                       "`, \r\n") == outcome::failed);
    CHECK(h.why().error == errc::auth_failed);
    CHECK(h.why().detail.find(secret) == std::string::npos);
    CHECK(h.why().detail.find(secret.substr(0, 7)) == std::string::npos);
}
