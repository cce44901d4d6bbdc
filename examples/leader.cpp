// A leader and those who take over: one dies, one steps down, and no two lead at once.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int candidates = 3;
constexpr int decisions_of_each = 5;

struct decision {
    int leader;
    std::uint64_t fence;
};

// Keeps what the leaders decide, and refuses what an earlier one sends too late.
class journal {
public:
    bool write(const decision& what) {
        const std::lock_guard lock(mutex_);
        if (!all_.empty() && what.fence < all_.back().fence) return false;
        all_.push_back(what);
        return true;
    }
    std::vector<decision> all() const {
        const std::lock_guard lock(mutex_);
        return all_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<decision> all_;
};

// Leads until it has nothing to decide any more, or until it is leader no more.
void lead(int me, const redlock::lease& office, journal& out) {
    const auto lost = office.lost_token();  // the lease is renewed until then
    for (int i = 0; i < decisions_of_each && !lost.stop_requested(); ++i) {
        if (!out.write({me, office.fence()})) return;
        std::this_thread::sleep_for(10ms);
    }
}

void stand(const redlock::client_options& options, int me, journal& out) {
    redlock::blocking_client client(options);
    auto office = client.acquire("example:leader", {.ttl = 2s, .wait = 60s});
    if (!office) {
        std::cerr << office.error().message() << '\n';
        return;
    }
    std::cout << "candidate " << me << " leads under fence " << office->fence() << '\n';
    const bool is_first = out.all().empty();
    lead(me, *office, out);
    if (is_first) {
        // The first one dies, and gives nothing back: the next leads when its ttl is over.
        office->detach();
        return;
    }
    // The others step down: the next one is woken at once.
    if (!client.release(std::move(*office))) std::cerr << "lost before the release\n";
}

}  // namespace

int main(int argc, char** argv) {
    const redlock::client_options options = example::options(argc, argv);
    journal decisions;
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < candidates; ++i) {
            all.emplace_back([&options, &decisions, i] { stand(options, i, decisions); });
        }
    }
    const auto all = decisions.all();
    std::size_t changes = 0;
    bool is_orderly = true;
    for (std::size_t i = 1; i < all.size(); ++i) {
        const bool is_next = all[i].leader != all[i - 1].leader;
        changes += is_next ? 1 : 0;
        is_orderly = is_orderly && is_next == (all[i].fence > all[i - 1].fence);
    }
    std::cout << all.size() << " decisions, " << changes << " takeovers\n";
    // On a machine that stands still for seconds one of them may have lost its office early.
    return example::check(is_orderly && changes > 0,
                          "each leader took over from one before it, and no two led at once");
}
