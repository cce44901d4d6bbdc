// Five servers and what befalls a minority of them; knows no client.
// SPDX-License-Identifier: MIT
#pragma once

#include "integration/support/direct.hpp"
#include "integration/support/redis_server.hpp"

#include <redlock/clock.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace redlock::chaos {

enum class fault : std::uint8_t {
    none,
    kill,     ///< And start again with its data.
    empty,    ///< Kill and start again without.
    freeze,   ///< SIGSTOP.
    flush,    ///< FLUSHALL.
    scripts,  ///< SCRIPT FLUSH.
    cut,      ///< CLIENT KILL of every connection.
    oom,      ///< No memory for any write.
};
inline constexpr std::size_t faults = 8;

/// A key that is neither a fence nor the node record.
struct found_key {
    std::string node;
    std::string key;
    std::string value;
};

/// At most two of the five are impaired at once: from a fault until the node answers again and, if
/// it may have lost data, until its quarantine is over.
class nodes {
public:
    nodes(std::uint64_t seed, std::chrono::milliseconds ttl_max,
          std::function<void(const std::string&)> log);

    /// Ends the faults that are due, and perhaps begins one.
    void step();
    /// Freezes as many as may be impaired, until `mend()`.
    void freeze();
    /// Ends all faults: every node answers then.
    void mend();

    std::vector<std::uint16_t> ports() const;
    std::vector<found_key> keys();
    std::uint64_t count(fault what) const { return counts_[static_cast<std::size_t>(what)]; }

private:
    struct node {
        std::string name;
        bool is_durable;
        testing::redis_server server;
        fault current = fault::none;
        clock::time_point mend_at{};
        clock::time_point impaired_until{};
        bool was_in_volley = false;
    };

    void begin(node& n, fault what, std::chrono::milliseconds time);
    void begin_volley();
    void end_volley();
    void end(node& n);
    std::chrono::milliseconds draw_time();
    fault draw(const node& n);
    bool is_impaired(const node& n, clock::time_point now) const;
    std::size_t impaired(clock::time_point now) const;
    int between(int from, int to);
    testing::direct ask(const node& n) const { return testing::direct(n.server.port()); }

    std::mt19937_64 random_;
    std::chrono::milliseconds ttl_max_;
    std::function<void(const std::string&)> log_;
    std::vector<node> nodes_;
    clock::time_point next_fault_{};
    bool is_volley_ = false;
    std::array<std::uint64_t, faults> counts_{};
};

/// Every key of a server but fences and the node record.
std::vector<found_key> lock_keys(const std::string& name, testing::direct server);

}  // namespace redlock::chaos
