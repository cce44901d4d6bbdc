// What is asked of, and told by, the record that every node keeps about itself; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/birth.hpp"
#include "core/guard.hpp"
#include "net/call.hpp"
#include "resp/reply.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::net {

/// The key of the record under a prefix.
std::string record_key(std::string_view key_prefix);

struct record_request {
    std::string key{};
    std::string epoch{};  ///< For a record that is made or reset.
    std::string mark{};  ///< For one that is made to be opened.
    std::chrono::milliseconds ttl_max{0};
    core::birth::task what = core::birth::task::settle;
};

/// EVAL of node.lua or birth.lua. The records are asked for seldom, and right after the scripts of a
/// node may have been flushed: the text goes along.
void write_record_call(std::string& out, const record_request& r, const core::server_facts& server);
/// A person says that no lease of before can be alive.
void write_declaration(std::string& out, const record_request& r);

/// The answer of node.lua; or why there is none.
struct record_answer {
    std::optional<core::record_facts> record;
    failure why;
};
record_answer read_record(const resp::reply& reply);

}  // namespace redlock::net
