// A report once per minute: all machines have the job, the first of each minute does it.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int machines = 5;
constexpr int minutes = 6;
constexpr auto minute = 500ms;  // so that the example does not last for six
constexpr auto min_hold = minute * 5 / 6;
constexpr auto apart = minute / 50;  // so far apart do the clocks of two machines ring

struct report {
    redlock::clock::time_point asked, sent;
};

class outbox {
public:
    void send(const report& what) {
        const std::lock_guard lock(mutex_);
        std::cout << "report " << sent_.size() + 1 << '\n';
        sent_.push_back(what);
    }
    std::vector<report> sent() const { return sent_; }

private:
    std::mutex mutex_;
    std::vector<report> sent_;
};

// What cron does on one machine.
void work(const redlock::client_options& options, int machine, redlock::clock::time_point begin,
          outbox& out) {
    redlock::blocking_client client(options);
    for (int i = 0; i < minutes; ++i) {
        std::this_thread::sleep_until(begin + i * minute + machine * apart);
        const auto asked = redlock::clock::now();
        // It is given back as soon as the report is sent. The nodes keep it all the same, so the
        // machines that come a little later find it taken.
        const auto turn = client.acquire("example:report", {.min_hold = min_hold});
        if (turn) out.send({asked, redlock::clock::now()});
    }
}

}  // namespace

int main(int argc, char** argv) {
    const redlock::client_options options = example::options(argc, argv);
    outbox out;
    {
        const auto begin = redlock::clock::now() + minute;
        std::vector<std::jthread> all;
        for (int i = 0; i < machines; ++i) {
            all.emplace_back([&options, &out, begin, i] { work(options, i, begin, out); });
        }
    }
    auto reports = out.sent();
    std::cout << machines << " machines sent " << reports.size() << " reports in " << minutes
              << " minutes\n";
    std::sort(reports.begin(), reports.end(),
              [](const report& a, const report& b) { return a.sent < b.sent; });
    bool are_apart = true;
    for (std::size_t i = 1; i < reports.size(); ++i) {
        are_apart = are_apart && reports[i].sent >= reports[i - 1].asked + min_hold;
    }
    return example::check(!reports.empty() && are_apart, "no minute has two reports");
}
