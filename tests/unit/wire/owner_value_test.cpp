// The text of a token: what was written is read, and nothing else is.
// SPDX-License-Identifier: MIT
#include "wire/owner_value.hpp"

#include "support/catch.hpp"

#include <boost/algorithm/hex.hpp>
#include <boost/crc.hpp>

#include <cstdio>
#include <iterator>

using namespace redlock;
using namespace std::chrono_literals;

namespace {

const std::string its_value = "AAAAAAAAAAAAAAAAAAAAAA@host:1";

wire::lease_proof some_proof() { return {its_value.c_str(), {}, false, 0ms}; }

// With its checksum, which anybody can compute.
std::string token_of(const std::string& bytes) {
    boost::crc_32_type sum;
    sum.process_bytes(bytes.data(), bytes.size());
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(sum.checksum()));
    std::string text = "redlock1.";
    boost::algorithm::hex_lower(bytes, std::back_inserter(text));
    return text + digits;
}

std::string some_token() {
    return wire::write_token(std::vector<std::string>{"stock"}, 7, some_proof());
}

}  // namespace

TEST_CASE("what was written into a token is read from it", "[token]") {
    std::vector<std::string> resources{"stock"};
    wire::lease_proof proof = some_proof();
    std::uint64_t fence = 1'700'000'000'000'000;
    SECTION("one resource") {}
    SECTION("several, with names of any bytes") {
        resources = {"a:b", std::string("\0\n:9:", 5), "ü", std::string(512, '"')};
    }
    SECTION("a slot, held for a while") {
        proof.slot = {3, 8};
        proof.min_hold = 50s;
    }
    SECTION("without a fence") { fence = 0; }
    SECTION("several slots") {
        proof.slot = {3, 8};
        proof.slots = {3, 4, 7};
    }
    SECTION("a reader, with an owner that the caller gave") {
        proof.is_shared = true;
        proof.value += "#18446744073709551615";
    }
    const auto text = wire::write_token(resources, fence, proof);
    CHECK(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.") == text.npos);
    const auto read = wire::read_token(text);
    REQUIRE(read);
    CHECK(read->resources == resources);
    CHECK(read->fence == fence);
    CHECK(read->proof.value == proof.value);
    CHECK(read->proof.slot.number == proof.slot.number);
    CHECK(read->proof.slot.of == proof.slot.of);
    CHECK(read->proof.slots == proof.slots);
    CHECK(read->proof.is_shared == proof.is_shared);
    CHECK(read->proof.min_hold == proof.min_hold);
}

TEST_CASE("a token that was changed anywhere, or cut, is none", "[token]") {
    const std::string whole = some_token();
    REQUIRE(wire::read_token(whole));
    for (std::size_t i = 0; i < whole.size(); ++i) {
        INFO("position " << i);
        CHECK_FALSE(wire::read_token(whole.substr(0, i)));
        std::string changed = whole;
        changed[i] = changed[i] == '1' ? '2' : '1';
        CHECK_FALSE(wire::read_token(changed));
    }
    // Its bytes, cut, with a checksum that fits.
    std::string bytes;
    boost::algorithm::unhex(whole.substr(9, whole.size() - 17), std::back_inserter(bytes));
    REQUIRE(token_of(bytes) == whole);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        INFO(i << " bytes");
        CHECK_FALSE(wire::read_token(token_of(bytes.substr(0, i))));
    }
    CHECK_FALSE(wire::read_token(whole + "00"));
    CHECK_FALSE(wire::read_token(whole + "\n"));
    CHECK_FALSE(wire::read_token(std::string(wire::longest_token + 1, 'a')));
}

TEST_CASE("a token whose parts make no sense is none, whatever its checksum", "[token]") {
    wire::lease_proof proof = some_proof();
    std::vector<std::string> resources{"stock"};
    SECTION("no resource") { resources.clear(); }
    SECTION("too many resources") { resources.assign(65, "r"); }
    SECTION("a value that this library never writes") { proof.value = "redlock:shared"; }
    SECTION("a slot that does not exist") { proof.slot = {8, 8}; }
    SECTION("a slot of none") { proof.slot = {1, 0}; }
    SECTION("more slots than there can be") { proof.slot = {0, 1'001}; }
    SECTION("slots of which one does not exist") {
        proof.slot = {3, 8};
        proof.slots = {3, 8};
    }
    SECTION("one slot twice") {
        proof.slot = {3, 8};
        proof.slots = {3, 3};
    }
    SECTION("slots of none") { proof.slots = {0, 1}; }
    SECTION("more slots than one lease may have") {
        proof.slot = {0, 100};
        for (std::uint16_t i = 0; i <= max_permits; ++i) proof.slots.push_back(i);
    }
    SECTION("a slot of several resources") {
        resources.emplace_back("other");
        proof.slot = {3, 8};
    }
    SECTION("kept for longer than any ttl") { proof.min_hold = 25h; }
    std::uint64_t fence = 7;
    SECTION("a fence that no node can count") { fence = (std::uint64_t{1} << 53) + 1; }
    SECTION("a slot without a fence") {
        proof.slot = {3, 8};
        fence = 0;
    }
    SECTION("a reader without a fence") {
        proof.is_shared = true;
        fence = 0;
    }
    CHECK_FALSE(wire::read_token(wire::write_token(resources, fence, proof)));
}
