// Tests what other threads leave for the strand; knows nothing of clients.
// SPDX-License-Identifier: MIT
#include "client/base/mailbox.hpp"
#include "support/catch.hpp"

#include <atomic>
#include <functional>
#include <new>
#include <thread>
#include <vector>

using redlock::detail::mail;
using redlock::detail::mailbox;

namespace {

struct letter final : mail {
    explicit letter(std::vector<int>* l = nullptr, int n = 0) : log(l), number(n) {}
    void deliver() override {
        if (log != nullptr) log->push_back(number);
        ++delivered;
        if (then) then();
    }
    void discard() noexcept override { ++discarded; }

    std::vector<int>* log;
    int number;
    int delivered = 0;
    int discarded = 0;
    std::function<void()> then{};
};

}  // namespace

TEST_CASE("messages come in order, for one collector") {
    mailbox box;
    std::vector<int> log;
    letter a(&log, 1), b(&log, 2), c(&log, 3);
    int collectors = 0;
    for (letter* l : {&a, &b, &c}) CHECK(box.put(*l, [&] { ++collectors; }));
    CHECK(collectors == 1);
    box.collect();
    CHECK(log == std::vector<int>{1, 2, 3});
    box.collect();
    CHECK(log.size() == 3);
}

TEST_CASE("what is left during a delivery comes with the next collector") {
    mailbox box;
    letter a, b;
    int collectors = 0;
    a.then = [&] { box.put(b, [&] { ++collectors; }); };
    box.put(a, [&] { ++collectors; });
    box.collect();
    CHECK(collectors == 2);
    CHECK(b.delivered == 0);
    box.collect();
    CHECK(b.delivered == 1);
}

TEST_CASE("a collector that can't be sent loses no message") {
    mailbox box;
    letter a, b;
    CHECK(box.put(a, [] { throw std::bad_alloc(); }));
    int collectors = 0;
    CHECK(box.put(b, [&] { ++collectors; }));
    CHECK(collectors == 1);
    box.collect();
    CHECK(a.delivered == 1);
    CHECK(b.delivered == 1);
}

TEST_CASE("a closed box takes nothing, and discards what it has") {
    mailbox box;
    letter a, b;
    box.put(a, [] {});
    box.close();
    CHECK(a.discarded == 1);
    bool sent = false;
    CHECK_FALSE(box.put(b, [&] { sent = true; }));
    CHECK_FALSE(sent);
    CHECK(b.delivered + b.discarded == 0);
    box.collect();
    CHECK(a.delivered == 0);
}

TEST_CASE("many threads put, every message comes once") {
    mailbox box;
    constexpr int threads = 4, each = 500;
    std::vector<letter> letters(static_cast<std::size_t>(threads * each));
    std::atomic<int> collectors{0};
    std::atomic<int> running{threads};
    std::vector<std::thread> senders;
    for (int t = 0; t < threads; ++t) {
        senders.emplace_back([&, t] {
            for (int i = 0; i < each; ++i) {
                box.put(letters[static_cast<std::size_t>(t * each + i)], [&] { ++collectors; });
            }
            --running;
        });
    }
    while (running > 0) {
        if (collectors.exchange(0) > 0) box.collect();
    }
    for (auto& s : senders) s.join();
    if (collectors > 0) box.collect();
    for (const auto& l : letters) REQUIRE(l.delivered == 1);
}
