// The test kit's masters behind functions of C.
// SPDX-License-Identifier: MIT
#include "c/kit/masters.h"

#include <redlock/testing.hpp>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>

struct redlock_masters {
    redlock::testing::masters nodes;
    std::size_t count;
};

redlock_masters* redlock_masters_new(size_t nodes) {
    return new redlock_masters{redlock::testing::masters(nodes), nodes};
}

void redlock_masters_free(redlock_masters* masters) { delete masters; }

char* redlock_masters_configuration(const redlock_masters* masters) {
    std::string out;
    for (const auto& node : masters->nodes.options().nodes) {
        out += (out.empty() ? R"({"nodes": [)" : ", ") + std::string(R"({"name": ")") + node.name +
               R"(", "host": ")" + node.host + R"("})";
    }
    return ::strdup((out + "]}").c_str());
}

void redlock_masters_advance(redlock_masters* masters, int64_t ms) {
    masters->nodes.advance(std::chrono::milliseconds(ms));
}

void redlock_masters_shut_down(redlock_masters* masters, size_t node) {
    masters->nodes.shut_down(node);
}

void redlock_masters_hang(redlock_masters* masters, size_t node) { masters->nodes.hang(node); }

void redlock_masters_resume(redlock_masters* masters, size_t node) { masters->nodes.resume(node); }

void redlock_masters_occupy(redlock_masters* masters, const char* resource, int64_t ttl_ms) {
    masters->nodes.occupy(resource, std::chrono::milliseconds(ttl_ms));
}

size_t redlock_masters_holding(const redlock_masters* masters, const char* resource) {
    return masters->nodes.holding(resource);
}

size_t redlock_masters_waiting(const redlock_masters* masters, const char* resource) {
    return masters->nodes.waiting(resource);
}
