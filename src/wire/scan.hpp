// Requests for the names of keys, page by page, and their answers; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/reply.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::wire {

/// SCAN for strings whose key begins with `prefix`, from `cursor` on ("0": from the start).
void write_scan(std::string& out, std::string_view cursor, std::string_view prefix);

struct scanned {
    std::string cursor;  ///< For the next page; "0": there is none.
    std::vector<std::string> keys;
};
/// Nothing where it is no answer to SCAN.
std::optional<scanned> read_scan(const resp::reply& reply);

}  // namespace redlock::wire
