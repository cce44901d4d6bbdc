// Fuzzes the node record: the script that reads it, and the client that reads the script's answer.
// SPDX-License-Identifier: MIT
//
// The bytes stand at the record's key of a master in memory. The script must answer with a record
// or with an error of its own, and never fail; a record it answers with can be read a second time.
#include "fuzz/require.hpp"
#include "testing/model.hpp"
#include "wire/record.hpp"
#include "wire/resp/command.hpp"
#include "wire/resp/reply.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace redlock;

namespace {

constexpr auto run_id = "0123456789abcdef0123456789abcdef01234567";
constexpr auto epoch = "new-epoch-new-epoch-12";

/// One master and one connection to it.
struct master {
    fakes::redis_model server{7};
    fakes::client_state connection{};

    std::string ask(const fakes::command& c) {
        return to_resp2(server.execute(connection, c, time_point{} + std::chrono::hours(1)));
    }
    std::string settle() {
        return ask({"EVAL", std::string(resp::node().text), "1", "redlock:node", run_id, "1",
                    "60000", epoch, "-", std::string(40, 'd'), "3:set", "0", "a,b,c"});
    }
    std::string note_clock(const char* what) {
        return ask({"EVAL", std::string(resp::clock().text), "1", "redlock:node", what, epoch, "",
                    "-5", "7", epoch, "9", run_id, "1", std::string(40, 'd'), "70000", "65000"});
    }
};

void check_answer(const std::string& bytes, bool& is_record) {
    resp::parser p;
    resp::reply r;
    std::string_view left = bytes;
    fuzz::require(p.feed(left, r) == resp::parser::outcome::complete, "no whole reply");
    if (r.type() == resp::reply_type::error) {
        fuzz::require(r.is_error("FOREIGN"), "the script failed");
        return;
    }
    const auto answer = wire::read_record(r);
    is_record = answer.record.has_value();
    if (!is_record) return;
    fuzz::require(answer.record->exists, "no record");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    master one;
    one.ask({"SET", "redlock:node", std::string(bytes)});
    bool first = false;
    bool second = false;
    const std::string answer = one.settle();
    check_answer(answer, first);
    // Nothing changed in between: asked again it says the same, but for what it just corrected.
    check_answer(one.settle(), second);
    fuzz::require(first == second, "a record that the script left can't be read again");
    check_answer(one.note_clock("keep"), second);
    check_answer(one.note_clock("strike"), second);
    check_answer(one.note_clock("open"), second);
    return 0;
}
