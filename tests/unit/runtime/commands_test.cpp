// Tests the commands of the protocol as they stand on the wire; knows no answers.
// SPDX-License-Identifier: MIT
#include "runtime/commands.hpp"
#include "resp/scripts.hpp"
#include "support/catch.hpp"
#include "unit/runtime/support/fake_node.hpp"

#include <string>

using namespace redlock;
using namespace std::chrono_literals;
using detail::script_form;
using fakes::command;

namespace {

command only(const std::string& wire) {
    resp::parser p;
    const auto all = fakes::decode(p, wire);
    REQUIRE(all.size() == 1);
    return all.front();
}

}  // namespace

TEST_CASE("a lock is taken by the plain command that every Redlock uses") {
    std::string out;
    detail::write_set(out, "k", "v", 1500ms);
    CHECK(only(out) == command{"SET", "k", "v", "NX", "PX", "1500"});
}

TEST_CASE("scripts go by hash, or with their text") {
    std::string out;
    SECTION("delete") {
        detail::write_compare_delete(out, script_form::by_hash, "k", "v");
        CHECK(only(out) ==
              command{"EVALSHA", std::string(resp::compare_delete().sha1), "1", "k", "v"});
    }
    SECTION("delete, whole") {
        detail::write_compare_delete(out, script_form::whole, "k", "v");
        CHECK(only(out) ==
              command{"EVAL", std::string(resp::compare_delete().text), "1", "k", "v"});
    }
    SECTION("expire") {
        detail::write_compare_expire(out, script_form::by_hash, "k", "v", 24h);
        CHECK(only(out) == command{"EVALSHA", std::string(resp::compare_expire().sha1), "1", "k",
                                   "v", "86400000"});
    }
    SECTION("expire, whole") {
        detail::write_compare_expire(out, script_form::whole, "k", "v", 1ms);
        CHECK(only(out) ==
              command{"EVAL", std::string(resp::compare_expire().text), "1", "k", "v", "1"});
    }
}

TEST_CASE("names may hold any bytes") {
    std::string out;
    const std::string odd("a\r\n\0$1 ", 7);
    detail::write_get(out, odd);
    CHECK(only(out) == command{"GET", odd});
    out.clear();
    detail::write_pttl(out, odd);
    CHECK(only(out) == command{"PTTL", odd});
}
