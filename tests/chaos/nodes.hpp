// Five servers and what befalls them; knows no client.
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
    kill,      ///< And start again with the data that was on disk.
    snapshot,  ///< Kill and start again with earlier data: only those without a log.
    empty,     ///< Kill and start again without data.
    freeze,    ///< SIGSTOP.
    flush,     ///< FLUSHALL.
    scripts,   ///< SCRIPT FLUSH.
    cut,       ///< CLIENT KILL of every connection.
    oom,       ///< No memory for any write.
    replica,   ///< Of nobody that answers: it keeps its data.
    copy,      ///< Replica of another of them, whose data it takes over.
};
inline constexpr std::size_t faults = 11;
const char* name_of(fault what);

/// How many may be impaired at once, and how many may lose their data within one ttl_max.
struct severity {
    std::size_t impaired = 2;
    std::size_t forgetful = 2;
};

/// A time in which a quorum lost its data, and one ttl_max more: exclusion is not promised then.
struct forgotten {
    clock::time_point from;
    clock::time_point until;
};

/// A key that is neither a fence nor the node record; or a reader that has one.
struct found_key {
    std::string node;
    std::string key;
    std::string value;
};

/// A node is impaired from a fault until it answers again and, if it may have lost data, until its
/// quarantine is over. Of the five, at most two are, unless the caller wants more.
class nodes {
public:
    nodes(std::uint64_t seed, std::chrono::milliseconds ttl_max,
          std::function<void(const std::string&)> log);

    /// Ends the faults that are due, and perhaps begins one.
    void step();
    void set_severity(severity most) { most_ = most; }
    /// Freezes a minority, until `mend()`.
    void freeze();
    /// Ends all faults: every node answers then.
    void mend();

    std::vector<std::uint16_t> ports() const;
    /// Of all nodes but those that may have got old keys back.
    std::vector<found_key> keys();
    std::uint64_t count(fault what) const { return counts_[static_cast<std::size_t>(what)]; }
    const std::vector<forgotten>& forgotten_times() const noexcept { return forgotten_; }

private:
    struct node {
        std::string name;
        bool has_log;
        testing::redis_server server;
        bool was_replica = false;  // since its process began: then it is not taken for durable
        fault current = fault::none;
        clock::time_point mend_at{};
        clock::time_point impaired_until{};
        clock::time_point lost_data_at{};
        clock::time_point old_keys_until{};
        bool was_in_volley = false;
    };

    void begin(node& n, fault what, std::chrono::milliseconds time);
    void begin_volley();
    void end_volley();
    void begin_storm();
    void end(node& n);
    void strike(node& n, fault what);
    void lost_data(node& n);
    std::chrono::milliseconds draw_time();
    fault draw(const node& n);
    fault possible(const node& n, fault what) const;
    bool loses_data(const node& n, fault what) const;
    std::uint16_t port_of_another(const node& n);
    bool is_impaired(const node& n, clock::time_point now) const;
    bool may_be_struck(const node& n, clock::time_point now) const;
    std::size_t forgetful(clock::time_point now) const;
    std::size_t impaired(clock::time_point now) const;
    int between(int from, int to);
    /// A busy machine may take its time.
    testing::direct ask(const node& n) const {
        return testing::direct(n.server.port(), {}, std::chrono::seconds(20));
    }

    std::mt19937_64 random_;
    std::chrono::milliseconds ttl_max_;
    std::function<void(const std::string&)> log_;
    std::vector<node> nodes_;
    severity most_;
    std::vector<forgotten> forgotten_;
    clock::time_point next_fault_{};
    bool is_volley_ = false;
    std::array<std::uint64_t, faults> counts_{};
};

/// Every key of a server but fences, the node record, and what is known of slots. In place of a key
/// that is shared there are its readers.
std::vector<found_key> lock_keys(const std::string& name, testing::direct server);

}  // namespace redlock::chaos
