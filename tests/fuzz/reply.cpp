// Fuzzes the reply parser and all that reads replies; knows no socket.
// SPDX-License-Identifier: MIT
//
// The first byte says how the rest is cut into pieces. Whole or cut, the parser must give what the
// plain decoder of the tests gives, and no reader of an answer may trust what a node says.
#include "fuzz/require.hpp"
#include "support/resp_oracle.hpp"
#include "wire/record.hpp"
#include "wire/resp/reply.hpp"

#include "wire/failure.hpp"
#include "wire/lock.hpp"
#include "wire/owner_value.hpp"
#include "wire/questions.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using outcome = resp::parser::outcome;
using texts = std::vector<std::string>;

namespace {

void read_as_request(const resp::reply& r) {
    for (const auto* kind : {&wire::fenced_lock, &wire::set_lock}) wire::read_acquire(*kind, r);
    wire::read_extension(r);
    wire::read_release(r);
    wire::read_signs(r);
}

void read_as_everything(const resp::reply& r) {
    wire::read_acquire(wire::plain_lock, r);
    read_as_request(r);
    for (const std::size_t i : {0U, 1U, 64U}) {
        read_as_request(r[i]);
        wire::read_wait(r, i);
    }
    wire::read_pttl(r.integer());
    wire::read_queue(r, "client", 1'700'000'000'000);
    wire::read_view(r);
    wire::read_time(r);
    wire::read_record(r);
    wire::abbreviate_owner(r.text());
}

outcome drain(resp::parser& p, std::string_view bytes, texts& out) {
    for (;;) {
        resp::reply r;
        const outcome now = p.feed(bytes, r);
        if (now != outcome::complete) {
            fuzz::require(now == outcome::broken || bytes.empty(), "bytes were left behind");
            fuzz::require(p.error().empty() == (now != outcome::broken), "an error and its text");
            return now;
        }
        out.push_back(resp::testing::show(r));
        read_as_everything(r);
    }
}

outcome parse(std::string_view bytes, std::size_t piece, texts& out) {
    resp::parser p;
    for (;;) {
        const auto next = bytes.substr(0, piece);
        bytes.remove_prefix(next.size());
        const outcome now = drain(p, next, out);
        if (now == outcome::broken || bytes.empty()) return now;
    }
}

outcome decode(std::string_view bytes, texts& out) {
    const resp::parser_limits limits;
    for (;;) {
        resp::testing::reference_decoder decoder(bytes, limits.max_elements);
        const auto now = decoder.run();
        if (now == resp::testing::decoded::broken) return outcome::broken;
        if (now == resp::testing::decoded::need_more) return outcome::need_more;
        out.push_back(decoder.text());
        bytes.remove_prefix(decoder.consumed());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    texts whole;
    texts cut;
    const outcome at_once = parse(bytes, std::max<std::size_t>(bytes.size(), 1), whole);
    const outcome in_pieces = parse(bytes, 1 + data[0] % 16U, cut);
    fuzz::require(at_once == in_pieces && whole == cut, "it matters how the bytes are cut");
    // The decoder judges what is there; of what is not complete the parser may know more by then.
    texts expected;
    const outcome judged = decode(bytes, expected);
    fuzz::require(whole == expected, "the decoder reads other replies");
    fuzz::require(judged != outcome::broken || at_once == outcome::broken,
                  "the decoder finds them broken");
    return 0;
}
