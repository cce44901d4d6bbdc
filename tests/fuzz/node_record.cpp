// Fuzzes the node record: the client that reads its text, and every rule that may replace it.
// SPDX-License-Identifier: MIT
//
// The bytes stand at the record's key of a master in memory. What is no record stays as it is; what
// is one can be read again after each rule, with all words that are not known.
#include "fuzz/require.hpp"
#include "testing/model.hpp"
#include "wire/record.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

using namespace redlock;

namespace {

const core::record_terms terms{.server = {.run_id = "0123456789abcdef", .is_durable = true},
                               .set = "3:set",
                               .names = "a,b,c",
                               .makes = true,
                               .epoch = "new-epoch-new-epoch-12",
                               .mark = "mark",
                               .quarantine = std::chrono::seconds(70),
                               .ttl_max = std::chrono::seconds(65)};

/// One master and one connection to it.
struct master {
    fakes::redis_model server{7};
    fakes::client_state connection{};

    fakes::model_reply ask(const fakes::command& c) {
        return server.execute(connection, c, time_point{} + std::chrono::hours(1));
    }
    std::string record() { return ask({"GET", "redlock:node"}).text; }

    wire::record_answer apply(const core::record_rule& rule) {
        wire::record_exchange e("redlock:node", terms, rule);
        for (bool is_more = true; is_more;) {
            std::string out;
            e.write(out, resp::script_form::whole);
            fakes::command c;
            std::string_view left = out;
            const resp::reply words = read(left);
            for (std::size_t i = 0; i < words.size(); ++i) c.emplace_back(words[i].text());
            const std::string bytes = to_resp2(ask(c));
            left = bytes;
            is_more = e.read(read(left));
        }
        return e.answer();
    }

private:
    resp::reply read(std::string_view& bytes) {
        auto& parser = parsers_.emplace_back();
        resp::reply r;
        fuzz::require(parser.feed(bytes, r) == resp::parser::outcome::complete, "no whole reply");
        return r;
    }
    std::deque<resp::parser> parsers_;  // what they read lives as long as they do
};

void check(master& one, const core::record_rule& rule) {
    const std::string before = one.record();
    const auto was = wire::read_record_text(before, 1);
    const auto answer = one.apply(rule);
    if (!was.record) {
        fuzz::require(!answer.record && one.record() == before, "what is no record was replaced");
        return;
    }
    fuzz::require(answer.record.has_value(), "a record can't be read again after a rule");
    fuzz::require(answer.record->unknown == was.record->unknown, "a word that is not known is gone");
    fuzz::require(answer.record->text == one.record(), "another record than the one that was read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    master one;
    one.ask({"SET", "redlock:node", bytes});
    check(one, core::greeted);
    check(one, core::opened);
    using kind = core::amendment::kind;
    for (const auto what : {kind::keep, kind::strike, kind::open}) {
        check(one, [what](const core::record_facts& found, const core::record_terms& t) {
            return core::amended(found, t, found, {.ahead_us = -5, .error_us = 7, .cluster_us = 9},
                                 {.what = what, .names_process = true,
                                  .quarantine = std::chrono::seconds(75)});
        });
    }
    using step = core::list_step::kind;
    for (const auto what : {step::promise, step::close, step::become}) {
        check(one, [what](const core::record_facts& found, const core::record_terms& t) {
            return core::stepped(found, t,
                                 {.what = what,
                                  .from = {.set = found.list.set, .number = found.list.number},
                                  .to = {.set = "4:t", .number = found.list.number + 1},
                                  .ballot = "77.x"});
        });
    }
    for (const bool lowers_fences : {false, true}) {
        check(one, [lowers_fences](const core::record_facts& found, const core::record_terms& t) {
            return core::declared(found, t, std::nullopt, lowers_fences);
        });
    }
    return 0;
}
