// Claims on owners: for all resources or none, passed on, and ended once.
// SPDX-License-Identifier: MIT
#include "client/base/owner_claims.hpp"

#include "tests/support/catch.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>

using namespace redlock;
using detail::owner_claims;

namespace {

owner_id owner_of(std::uint8_t number) {
    owner_id out;
    out.bytes[0] = number;
    return out;
}

const std::array<std::string, 2> both{"a", "b"};
const std::array<std::string, 1> second{"b"};

}  // namespace

TEST_CASE("an owner is claimed for all of its resources, or for none") {
    owner_claims all;
    owner_claims::claim one = all.begin(owner_of(1), second);
    REQUIRE(one);
    CHECK_FALSE(all.begin(owner_of(1), both));
    CHECK(all.begin(owner_of(2), both));
    one.end();
    CHECK(all.begin(owner_of(1), both));  // "a" was not left claimed
}

TEST_CASE("a claim that is passed on ends with the one that has it") {
    owner_claims all;
    owner_claims::claim first = all.begin(owner_of(1), both);
    {
        const owner_claims::claim later = std::move(first);
        first.end();
        CHECK_FALSE(all.begin(owner_of(1), second));
    }
    CHECK(all.begin(owner_of(1), second));
}

TEST_CASE("a claim may outlive the client") {
    std::optional<owner_claims> all(std::in_place);
    owner_claims::claim one = all->begin(owner_of(1), both);
    all.reset();
    one.end();
    CHECK_FALSE(one);
}
