// Requests for the names of keys, page by page, and for what they take; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "wire/resp/reply.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace redlock::wire {

/// SCAN for strings whose key begins with `prefix`, from `cursor` on ("0": from the start).
void write_scan(std::string& out, std::string_view cursor, std::string_view prefix);
/// The same for all keys of all types, whatever they begin with.
void write_scan_of_all(std::string& out, std::string_view cursor);

/// Valid as long as the answer is.
struct scanned {
    std::string_view cursor;  ///< For the next page; "0": there is none.
    resp::reply keys;         ///< An array of texts.
};
/// Nothing where it is no answer to SCAN.
std::optional<scanned> read_scan(const resp::reply& reply);

/// What a key takes of the server's memory, of which the server looks at a few elements: an integer.
void write_memory_usage(std::string& out, std::string_view key);

}  // namespace redlock::wire
