// Fuzzes tokens behind their checksum; knows no node.
// SPDX-License-Identifier: MIT
//
// Whatever the bytes: no token, or one that is the same when it is written and read again.
#include "fuzz/require.hpp"

#include "wire/owner_value.hpp"

#include <boost/algorithm/hex.hpp>
#include <boost/crc.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>

using namespace redlock;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    boost::crc_32_type sum;
    sum.process_bytes(data, size);
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(sum.checksum()));
    std::string text = "redlock1.";
    boost::algorithm::hex_lower(data, data + size, std::back_inserter(text));
    const auto token = wire::read_token(text + digits);
    if (!token) return 0;
    fuzz::require(!token->resources.empty(), "a token of nothing");
    const auto again =
        wire::read_token(wire::write_token(token->resources, token->fence, token->proof));
    fuzz::require(again && again->resources == token->resources && again->fence == token->fence &&
                      again->proof.value == token->proof.value &&
                      std::ranges::equal(again->proof.all_slots(), token->proof.all_slots()),
                  "a token changes when it is written again");
    return 0;
}
