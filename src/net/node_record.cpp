// What is asked of, and told by, the record that every node keeps about itself.
// SPDX-License-Identifier: MIT
#include "net/node_record.hpp"

#include "lease_terms.hpp"
#include "net/answers.hpp"
#include "resp/command.hpp"
#include "resp/scripts.hpp"

namespace redlock::net {

using core::birth;

std::string record_key(std::string_view key_prefix) {
    return std::string(key_prefix) + "redlock:node";
}

void write_record_call(std::string& out, const record_request& r,
                       const core::server_facts& server) {
    std::string_view absent = "-";
    switch (r.what) {
        case birth::task::look: absent = "look"; break;
        case birth::task::make: absent = r.mark; break;
        case birth::task::settle: break;
        case birth::task::open:
        case birth::task::withdraw:
            resp::append_command(out, {"EVAL", resp::birth().text, "1", r.key,
                                       r.what == birth::task::open ? "open" : "withdraw", r.mark});
            return;
    }
    resp::append_command(out, {"EVAL", resp::node().text, "1", r.key, server.run_id,
                               server.is_durable ? "1" : "0", std::to_string(r.ttl_max.count()),
                               r.epoch, absent});
}

void write_declaration(std::string& out, const record_request& r) {
    resp::append_command(out, {"EVAL", resp::birth().text, "1", r.key, "declare", r.epoch});
}

namespace {

constexpr std::size_t epoch_length = 22;

// A record that none of our scripts can have written must not make a vote count.
bool is_well_formed(const resp::reply& r) {
    using resp::reply_type;
    constexpr std::int64_t latest_us = std::int64_t{1} << 53;
    const auto is_number = [&](std::size_t i, std::int64_t low, std::int64_t high) {
        return r[i].type() == reply_type::integer && r[i].integer() >= low &&
               r[i].integer() <= high;
    };
    if (!is_number(0, 1, latest_us)) return false;
    return r.size() == 1 ||
           (r[1].type() == reply_type::string && r[1].text().size() == epoch_length &&
            is_number(2, 0, r[0].integer()) && is_number(3, 1, longest_ttl.count()) &&
            r[4].type() == reply_type::string && !r[4].text().empty() && is_number(5, 0, 1));
}

}  // namespace

record_answer read_record(const resp::reply& reply) {
    if (reply.type() != resp::reply_type::array || (reply.size() != 1 && reply.size() != 6)) {
        return {std::nullopt, read_failure(reply)};
    }
    if (!is_well_formed(reply)) {
        return {std::nullopt, {vote::refused, errc::protocol_error, "no sensible record"}};
    }
    core::record_facts record;
    record.time_us = reply[0].integer();
    if (reply.size() == 6) {
        record.exists = true;
        record.epoch = reply[1].text();
        record.since_us = reply[2].integer();
        record.ttl_max = std::chrono::milliseconds(reply[3].integer());
        record.mark = reply[4].text() == "-" ? std::string_view() : reply[4].text();
        record.made = reply[5].integer() == 1;
    }
    return {std::move(record), {}};
}

}  // namespace redlock::net
