// Servers that a first client has declared a new cluster; knows no lock of a test.
// SPDX-License-Identifier: MIT
#pragma once

#include "cluster.hpp"
#include "run.hpp"

#include <cstddef>

namespace redlock::testing {

/// One that is `found` from the beginning, as most tests want it.
class founded_cluster : public cluster {
public:
    explicit founded_cluster(std::size_t size, const server_options& each = {})
        : cluster(size, each) {
        found(*this);
    }
};

}  // namespace redlock::testing
