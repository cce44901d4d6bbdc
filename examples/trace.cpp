// A trace of what a client does, made of its events: printed as a tree with durations.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/clock.hpp>
#include <redlock/event.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using redlock::event;
using redlock::event_kind;

/// One part of a trace. With OpenTelemetry it is
///
///     trace::StartSpanOptions options;
///     options.start_steady_time = common::SteadyTimestamp(s.begin.time_since_epoch());
///     options.parent = ...;  // the caller's span `s.parent`, or that of the hold
///     auto one = tracer->StartSpan(s.name, options);
///     if (s.error) one->SetStatus(trace::StatusCode::kError, s.error.message());
///     one->End({.end_steady_time = ...});
struct span {
    std::string name;
    int depth;  // 1: below the caller's, 2: below the hold
    std::uint64_t id, parent;
    redlock::clock::time_point begin;
    std::chrono::microseconds took;
    redlock::error_code error;
};

/// For `client_options::on_event`, on the client's strand. An event comes at the end of what it is
/// about, so a hold comes after its renewals: an exporter keeps those of an id until then.
class tracer {
public:
    void take(const event& e) {
        const auto add = [&](std::string what, int depth) {
            spans_.push_back({std::move(what) + " " + std::string(e.resource), depth, e.id,
                              e.parent, e.begin, e.duration, e.error});
        };
        switch (e.kind) {
            case event_kind::granted:
            case event_kind::refused: return add("acquire", 1);
            case event_kind::released:
            case event_kind::lost: return add("hold", 1);
            case event_kind::renewed:
            case event_kind::renewal_failed: return add("renewal", 2);
            default: return;  // about a node, or the client
        }
    }

    /// What belongs to the caller's `parent`, in the order in which it began. How many there are.
    int print(std::uint64_t parent) const {
        auto all = spans_;
        std::erase_if(all, [&](const span& s) { return s.parent != parent; });
        // A hold and its acquire may begin in one microsecond.
        std::stable_sort(all.begin(), all.end(), [](const span& a, const span& b) {
            return std::pair(a.begin, a.depth) < std::pair(b.begin, b.depth);
        });
        for (const span& s : all) {
            std::cout << std::setw(10) << s.took.count() << " us  "
                      << std::string(static_cast<std::size_t>(2 * s.depth), ' ') << s.name << " #"
                      << s.id << (s.error ? ": " + s.error.message() : "") << '\n';
        }
        return static_cast<int>(all.size());
    }

private:
    std::vector<span> spans_;
};

}  // namespace

int main(int argc, char** argv) {
    redlock::client_options options = example::options(argc, argv);
    tracer spans;  // outlives the client, which calls it
    options.on_event = [&spans](const event& e) { spans.take(e); };
    constexpr std::uint64_t job = 17, other_job = 18;  // the caller's numbers
    {
        redlock::blocking_client client(options);
        auto held = client.acquire("example:trace", {.ttl = 600ms, .wait = 10s, .parent = job});
        if (!held) {
            std::cerr << "not acquired: " << held.error().message() << '\n';
            return 1;
        }
        // An acquire that does not wait is refused meanwhile; in another trace.
        const auto refused = client.acquire("example:trace", {.parent = other_job});
        std::this_thread::sleep_for(500ms);  // the work, during which the lease is renewed
    }  // the lease is destroyed, and so released
    std::cout << "job\n";
    const int of_job = spans.print(job);
    std::cout << "other job\n";
    const int of_other = spans.print(other_job);
    return example::check(of_job >= 3 && of_other == 1,
                          "a job has an acquire, a hold and its renewals; the other a refusal");
}
