// A tracer for the client's spans: prints them as a tree with their durations; exports nothing.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/clock.hpp>
#include <redlock/span.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using redlock::span_edge;
using redlock::span_kind;
using redlock::span_report;

/// Keeps the spans of the program and of one client. With OpenTelemetry in its place `start` is
///
///     trace::StartSpanOptions options;
///     if (parent != 0) options.parent = spans[parent]->GetContext();
///     spans[number] = tracer->StartSpan(name, {{"redlock.resource", resource}}, options);
///
/// and `stop` is
///
///     if (error) spans[number]->SetStatus(trace::StatusCode::kError, error.message());
///     spans[number]->End();
///     spans.erase(number);
class tracer {
public:
    /// Its number, for `acquire_options::span`.
    std::uint64_t start(std::string name, std::uint64_t parent, redlock::clock::time_point when) {
        const std::lock_guard lock(mutex_);
        spans_.push_back({std::move(name), parent, when, {}});
        return spans_.size();
    }
    void stop(std::uint64_t number, redlock::clock::time_point when,
              redlock::error_code error = {}) {
        const std::lock_guard lock(mutex_);
        span& ended = spans_[number - 1];
        ended.took = when - ended.from;
        if (error) ended.name += ": " + error.message();
    }

    /// For `client_options::on_span`, on the client's strand: the client's ids are turned into
    /// numbers here. A span that has ended is nobody's parent any more.
    void take(const span_report& s) {
        if (s.edge == span_edge::end) {
            stop(number_of_.at(s.id), s.when, s.error);
            number_of_.erase(s.id);
            return;
        }
        const bool is_of_a_call = s.kind == span_kind::acquire || s.kind == span_kind::adopt;
        const std::uint64_t parent = is_of_a_call ? s.parent : number_of_.at(s.parent);
        const std::string name(to_string(s.kind));
        number_of_[s.id] = start(name + " " + std::string(s.resource), parent, s.when);
    }
    std::size_t open() const { return number_of_.size(); }

    /// The spans whose parent that is, each with its own below it. How many there are.
    std::size_t print(std::uint64_t parent = 0, std::size_t indent = 0) {
        std::size_t printed = 0;
        for (std::uint64_t number = 1; number <= spans_.size(); ++number) {
            const span& s = spans_[number - 1];
            if (s.parent != parent) continue;
            const auto us = std::chrono::duration_cast<std::chrono::microseconds>(s.took).count();
            std::cout << std::setw(10) << us << " us  " << std::string(indent, ' ') << s.name
                      << '\n';
            printed += 1 + print(number, indent + 2);
        }
        return printed;
    }

private:
    struct span {
        std::string name;
        std::uint64_t parent;
        redlock::clock::time_point from;
        redlock::clock::duration took;
    };

    std::mutex mutex_;
    std::vector<span> spans_;                           // a number is a place here, counted from 1
    std::map<std::uint64_t, std::uint64_t> number_of_;  // of the client's spans that are open
};

}  // namespace

int main(int argc, char** argv) {
    redlock::client_options options = example::options(argc, argv);
    tracer spans;  // outlives the client, which calls it
    options.on_span = [&spans](const span_report& s) { spans.take(s); };
    std::size_t least = 5;  // the job, an acquire of each, an attempt and the hold
    {
        redlock::blocking_client client(options);
        const std::uint64_t job = spans.start("job", 0, redlock::clock::now());
        auto held = client.acquire("example:spans", {.ttl = 600ms, .wait = 10s, .span = job});
        if (!held) {
            std::cerr << "not acquired: " << held.error().message() << '\n';
            return 1;
        }
        // Somebody who would not wait is refused meanwhile; in another trace.
        const auto refused = client.acquire("example:spans");
        std::this_thread::sleep_for(500ms);  // the work, during which the lease is renewed
        const auto released = client.release(*std::move(held));
        if (released) ++least;  // one that was lost meanwhile has no span of a release
        spans.stop(job, redlock::clock::now(), released ? redlock::error_code() : released.error());
    }
    const std::size_t printed = spans.print();
    return example::check(printed >= least && spans.open() == 0,
                          "every span lies in another, and each has ended");
}
