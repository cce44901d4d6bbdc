// Tests the memory that is kept for the next locks. That it serves them the benchmark counts.
// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <redlock/detail/recycling.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <malloc.h>
#include <random>
#include <thread>
#include <vector>

using redlock::detail::give_memory;
using redlock::detail::take_memory;

namespace {

struct piece {
    unsigned char* at;
    std::size_t size;
    unsigned char mark;
};

piece take(std::size_t size, unsigned char mark) {
    auto* const at = static_cast<unsigned char*>(take_memory(size));
    std::memset(at, mark, size);
    return {at, size, mark};
}

bool is_whole(const piece& p) {
    return std::all_of(p.at, p.at + p.size, [&](unsigned char c) { return c == p.mark; });
}

std::size_t in_use() { return ::mallinfo2().uordblks; }

void take_and_give(std::size_t n) {
    std::vector<void*> all(n);
    for (auto& p : all) p = take_memory(1'000);
    for (auto* p : all) give_memory(p, 1'000);
}

// Made before the thread keeps anything, so destroyed after that.
struct latecomer {
    void* memory = nullptr;
    ~latecomer() { give_memory(memory, 100); }
};

}  // namespace

TEST_CASE("no two blocks overlap, whatever their sizes and whichever thread gives them back") {
    std::mt19937 random(7);
    std::vector<piece> held;
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 200; ++i) {
            held.push_back(take(1 + random() % 1'500, static_cast<unsigned char>(random())));
        }
        std::shuffle(held.begin(), held.end(), random);
        CHECK(std::all_of(held.begin(), held.end(), is_whole));
        const auto give = [&](std::size_t n) {
            for (; n > 0; --n, held.pop_back()) give_memory(held.back().at, held.back().size);
        };
        give(90);
        std::jthread([&] { give(90); });
    }
    for (const auto& p : held) give_memory(p.at, p.size);
}

TEST_CASE("a thread keeps half a mebibyte of each size at most, and nothing once it has ended") {
    const auto before = in_use();
    std::size_t kept = 0;
    std::jthread([&] {
        take_and_give(10'000);
        kept = in_use();
    }).join();
    CHECK(kept < before + (1U << 20));
    CHECK(in_use() < before + (100U << 10));
}

TEST_CASE("what other threads took does not displace what this one takes again") {
    std::jthread([] {
        std::vector<void*> foreign(20'000);
        std::jthread([&] {
            for (auto& p : foreign) p = take_memory(300);
        }).join();
        for (auto* p : foreign) give_memory(p, 300);
        take_and_give(100);
        std::vector<void*> again(100);
        const auto before = in_use();
        for (auto& p : again) p = take_memory(1'000);
        CHECK(in_use() == before);
        for (auto* p : again) give_memory(p, 1'000);
    });
}

TEST_CASE("what is given back after a thread's store has gone is freed") {
    const auto before = in_use();
    for (int i = 0; i < 1'000; ++i) {
        std::jthread([] {
            static thread_local latecomer last;
            last.memory = take_memory(100);
            take_and_give(1);
        });
    }
    CHECK(in_use() < before + (100U << 10));
}
