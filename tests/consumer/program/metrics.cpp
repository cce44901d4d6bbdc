// A user's program that exports a client's counters by prometheus-cpp; needs no nodes.
// SPDX-License-Identifier: MIT
#include <redlock/blocking_client.hpp>
#include <redlock/prometheus.hpp>

#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <iostream>
#include <string>

int main() {
    redlock::client_options options;
    options.nodes.emplace_back().port = 1;
    redlock::blocking_client client(options);
    const auto metrics = redlock::collectable([&client] { return client.stats(); });
    const std::string text = prometheus::TextSerializer().Serialize(metrics->Collect());
    if (text.find("\nredlock_leases 0\n") == std::string::npos) {
        std::cerr << "no counters:\n" << text;
        return 1;
    }
    return 0;
}
