// What is owed to a node: nothing is dropped, the oldest goes first, and one asks for all.
// SPDX-License-Identifier: MIT
#include "core/node/debts.hpp"

#include "tests/support/catch.hpp"

#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using numbers = core::debts<int>;

namespace {

constexpr time_point start = time_point(72h);
constexpr time_point never = time_point::max();

std::vector<int> pay_all(numbers& d, time_point now) {
    std::vector<int> paid;
    d.pay(now, [] { return true; }, [&](int n) { paid.push_back(n); });
    return paid;
}

}  // namespace

TEST_CASE("what is owed is paid once, the oldest first") {
    numbers d;
    for (int n : {1, 2, 3}) d.owe(n);
    CHECK(d.size() == 3);
    CHECK(d.due() == never);  // there is no connection yet
    CHECK(pay_all(d, start) == std::vector{1, 2, 3});
    CHECK(d.empty());
    CHECK(pay_all(d, start).empty());
    CHECK(d.due() == never);
}

TEST_CASE("however much is owed none of it is dropped") {
    numbers d;
    constexpr int many = 200'000;
    for (int n = 0; n < many; ++n) d.owe(n);
    CHECK(d.size() == many);
    CHECK(pay_all(d, start).size() == many);
}

TEST_CASE("what finds no room is due at once, and the first of it asks for the rest") {
    numbers d;
    for (int n : {1, 2, 3, 4}) d.owe(n);
    std::vector<int> paid;
    d.pay(start, [&] { return paid.size() < 2; }, [&](int n) { paid.push_back(n); });
    CHECK(paid == std::vector{1, 2});
    CHECK(d.due() == start);
    CHECK(d.take_first() == 3);
    CHECK(d.due() == never);
    CHECK(pay_all(d, start) == std::vector{4});
}

TEST_CASE("a node that refuses is tried again after a rest, by one debt") {
    numbers d;
    for (int n : {1, 2}) d.owe(n);
    CHECK(pay_all(d, start) == std::vector{1, 2});
    d.refused(1, start);
    d.refused(2, start + 10ms);
    CHECK(d.due() == start + numbers::rest);  // the first refusal counts
    CHECK(d.take_first() == 1);
    d.refused(1, start + 2s);
    CHECK(d.due() == start + 2s + numbers::rest);
    CHECK(d.take_first() == 2);
    CHECK(pay_all(d, start + 3s) == std::vector{1});
}

TEST_CASE("without a connection nothing is due") {
    numbers d;
    d.refused(1, start);
    d.disconnected();
    CHECK(d.due() == never);
    CHECK(d.size() == 1);
}

TEST_CASE("where nothing is owed nobody asks") {
    numbers d;
    CHECK(d.take_first() == std::nullopt);
    CHECK(pay_all(d, start).empty());
}
