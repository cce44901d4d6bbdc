// A client that uses the nodes with another Redlock library; knows nothing of ours.
// SPDX-License-Identifier: MIT
#pragma once

#include "simulation/chance.hpp"
#include "simulation/program.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::simulation {

/// `SET key value NX PX ttl` on every node of its list, the majority within the validity, and the published
/// compare-and-delete: https://redis.io/docs/latest/develop/use/patterns/distributed-locks/
class foreigner {
public:
    foreigner(std::size_t index, const surroundings& around);

    void start();
    void rest() noexcept { is_resting_ = true; }

private:
    void think();
    void take();
    void judge();
    void give_back();
    bool has_ended() const noexcept;

    std::size_t index_;
    surroundings around_;
    const foreigner_plan* plan_;
    std::vector<std::size_t> nodes_;
    chance dice_;
    std::uint64_t number_ = 0;
    std::string value_;
    std::size_t resource_ = 0;
    time_point asked_{};
    std::size_t granted_ = 0;
    std::vector<std::uint64_t>
        memory_;  // what each node had forgotten when it granted; 0: it did not
    bool is_resting_ = false;
};

}  // namespace redlock::simulation
