// Events as JSON lines, read back by a parser of another project.
// SPDX-License-Identifier: MIT
#include <redlock/event.hpp>

#include "tests/support/catch.hpp"
#include "tools/json_text.hpp"

#include <array>
#include <string>

using namespace redlock;
using namespace std::chrono_literals;

namespace {

using std::chrono::system_clock;

tool::json_value parsed(const event& e) {
    const std::string line = to_json(e);
    INFO(line);
    CHECK(line.find('\n') == line.npos);
    return tool::json_value::parse(line);
}

}  // namespace

TEST_CASE("an event is one JSON object, without the members that say nothing") {
    event e;
    e.kind = event_kind::granted;
    e.resource = "stock/7";
    e.duration = 800us;
    CHECK(to_json(e, system_clock::time_point(1'767'225'599'123ms)) ==
          R"({"time":"2025-12-31T23:59:59.123Z","kind":"granted","severity":"info",)"
          R"("resource":"stock/7","duration_us":800})");
    CHECK(to_json(e, system_clock::time_point(-1ms)).find("\"1969-12-31T23:59:59.999Z\"") !=
          std::string::npos);
    CHECK(parsed(e).size() == 5);
}

TEST_CASE("a JSON event has the error, and each vote with its cause") {
    std::array<node_vote, 3> votes;
    votes[0].node = node_name("a");
    votes[0].answer = vote::granted;
    votes[0].fence = 9'007'199'254'740'991;
    votes[1].node = node_name("b");
    votes[1].answer = vote::held;
    votes[1].detail = "AAECAwQFBgcICQoLDA0ODw@web-1:4242";
    votes[1].elapsed = 1200us;
    votes[1].retry_in = 4200ms;
    votes[1].resource = "r2";
    votes[2].node = node_name("c");
    votes[2].answer = vote::timed_out;
    votes[2].error = errc::timed_out;
    event e;
    e.kind = event_kind::refused;
    e.error = errc::contended;
    e.detail = "after 3 tries";
    e.votes = votes;
    const auto read = parsed(e);
    CHECK(read["error"]["category"] == "redlock");
    CHECK(read["error"]["value"] == static_cast<int>(errc::contended));
    CHECK(read["error"]["message"] == error_code(errc::contended).message());
    CHECK(read["detail"] == "after 3 tries");
    REQUIRE(read["votes"].size() == 3);
    CHECK(read["votes"][0]["answer"] == "granted");
    CHECK(read["votes"][0]["fence"] == 9'007'199'254'740'991);
    CHECK(read["votes"][1]["node"] == "b");
    CHECK(read["votes"][1]["cause"] == "r2 is held by web-1:4242 for 4.2 s more");
    CHECK(read["votes"][1]["elapsed_us"] == 1200);
    CHECK(read["votes"][1]["retry_in_ms"] == 4200);
    CHECK(read["votes"][1]["resource"] == "r2");
    CHECK(read["votes"][2]["error"]["value"] == static_cast<int>(errc::timed_out));
    CHECK_FALSE(read["votes"][2].contains("fence"));
    CHECK(to_json(e).find("AAECAwQFBgcICQoLDA0ODw") == std::string::npos);
}

TEST_CASE("whatever bytes an event has, its JSON is valid and safe for a terminal") {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    event e;
    e.resource = all;
    e.node = "a\"b\\c\x1b[31m\xe2\x80\xae";
    e.detail = "gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\x92 \xf3\xa0\x80\x81 \xed\xa0\x80 \xc3";
    const auto read = parsed(e);
    CHECK(read["node"] == e.node);
    // A surrogate and a cut character are replaced, byte by byte.
    CHECK(read["detail"] == "gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\x92 \xf3\xa0\x80\x81 "
                            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd");
    const auto resource = read["resource"].get<std::string>();
    CHECK(resource.substr(0, 128) == all.substr(0, 128));
    CHECK(resource.size() == 128 + 3 * 128);
    for (const char c : to_json(e)) CHECK(static_cast<unsigned char>(c) >= 0x20);
    CHECK(to_json(e).find("\xe2\x80\xae") == std::string::npos);
    CHECK(to_json(e).find("gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\x92 \\udb40\\udc01") != std::string::npos);
}
