// The simulation as a program: one seed with its story, or many seeds and what they add up to.
// SPDX-License-Identifier: MIT
#include "simulation/plan.hpp"
#include "simulation/shrink.hpp"
#include "simulation/story.hpp"
#include "simulation/world.hpp"

#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace redlock::simulation;
using seconds = std::chrono::duration<double>;

double hours(redlock::core::duration d) { return seconds(d).count() / 3600; }

void print(const std::string& line) { std::cout << line << '\n'; }

int tell_one(std::uint64_t seed, bool may_shrink) {
    plan what = draw(seed);
    if (may_shrink) {
        const auto first = run_quietly(what);
        if (first.broken) {
            std::cerr << "seed " << seed << " breaks a promise; shrinking it\n";
            what = shrink(std::move(what), *first.broken);
        }
    }
    std::cout << what.describe();
    story told(print);
    const auto result = world(what, told).run();
    if (result.broken) {
        told.tell(result.broken->at, [&] {
            return "!!! " + result.broken->checker + ": " + result.broken->text;
        });
    }
    std::cout << (result.broken ? "violation" : "no violation") << " in "
              << seconds(result.lasted).count() << " s, digest " << told.digest() << '\n';
    return result.broken ? 1 : 0;
}

/// Many seeds on all processors, one after the other.
class campaign {
public:
    campaign(std::uint64_t first, std::uint64_t last, seconds limit, std::size_t most_failures)
        : next_(first), last_(last), most_failures_(most_failures), limit_(limit) {}
    campaign(std::vector<std::uint64_t> these, std::size_t most_failures)
        : campaign(0, these.size() - 1, seconds(1e9), most_failures) {
        these_ = std::move(these);
    }

    int run(unsigned jobs) {
        std::vector<std::thread> crew;
        for (unsigned i = 0; i < jobs; ++i) crew.emplace_back([this] { work(); });
        for (auto& t : crew) t.join();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began_;
        print_sum(took.count());
        return failed_.empty() ? 0 : 1;
    }

private:
    void work() {
        while (true) {
            const std::uint64_t number = next_++;
            if (number > last_ || failures_ >= most_failures_ ||
                std::chrono::steady_clock::now() - began_ > limit_) {
                return;
            }
            const std::uint64_t seed = these_.empty() ? number : these_[number];
            const auto result = run_quietly(draw(seed));
            const std::lock_guard lock(mutex_);
            ++seeds_;
            total_ += result.counts;
            simulated_ += result.lasted;
            if (result.broken) report(seed, *result.broken);
        }
    }
    void report(std::uint64_t seed, const violation& how) {
        ++failures_;
        failed_[seed] = how.checker;
        std::cerr << "seed " << seed << ": " << how.checker << ": " << how.text << '\n';
    }
    void print_sum(double took_s) const {
        const counters& c = total_;
        auto field = [first = true](const char* name, auto value) mutable {
            std::cout << (std::exchange(first, false) ? "{\"" : ", \"") << name << "\": " << value;
        };
        field("seeds", seeds_);
        field("simulated_hours", hours(simulated_));
        field("violations", failed_.size());
        field("granted", c.granted);
        field("lost", c.lost);
        field("crashes", c.crashes);
        field("empty_restarts", c.empty_restarts);
        field("partitions", c.partitions);
        field("client_pauses", c.client_pauses);
        field("client_deaths", c.client_deaths);
        field("clock_jumps", c.clock_jumps);
        field("late_deliveries", c.late_deliveries);
        field("quarantines", c.quarantines);
        field("second_rounds", c.second_rounds);
        field("owed_releases", c.owed_releases);
        field("refused", c.refused);
        field("cancelled", c.cancelled);
        field("extended", c.extended);
        field("released", c.released);
        field("foreign_grants", c.foreign_grants);
        field("timeouts", c.timeouts);
        field("late_replies", c.late_replies);
        field("noscripts", c.noscripts);
        field("commands", c.commands);
        field("faults", c.faults);
        field("hours_per_minute", hours(simulated_) / took_s * 60);
        std::cout << ", \"failed_seeds\": [";
        bool is_first = true;
        for (const auto& [seed, checker] : failed_) {
            std::cout << (std::exchange(is_first, false) ? "" : ", ") << seed;
        }
        std::cout << "]}\n";
    }

    std::vector<std::uint64_t> these_;  // empty: the numbers themselves
    std::atomic<std::uint64_t> next_;
    std::uint64_t last_;
    std::size_t most_failures_;
    seconds limit_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::mutex mutex_;
    std::atomic<std::size_t> failures_{0};
    std::map<std::uint64_t, std::string> failed_;
    counters total_;
    std::uint64_t seeds_ = 0;
    redlock::core::duration simulated_{};
};

/// The numbers at the beginnings of lines.
std::vector<std::uint64_t> read_list(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::uint64_t> out;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        if (std::uint64_t seed = 0; words >> seed) out.push_back(seed);
    }
    return out;
}

bool read_range(const std::string& text, std::uint64_t& first, std::uint64_t& last) {
    const auto dash = text.find('-');
    try {
        first = std::stoull(text.substr(0, dash));
        last = dash == text.npos ? first : std::stoull(text.substr(dash + 1));
    } catch (const std::exception&) {
        return false;
    }
    return first <= last;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Runs the lock in a hostile virtual world, from a seed.", "simulate");
    std::uint64_t seed = 0;
    std::string seeds;
    double minutes = 0;
    unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
    std::size_t most_failures = 10;
    bool is_whole = false;
    auto* one = app.add_option("--seed", seed, "Tell the story of this seed");
    auto* many = app.add_option("--seeds", seeds, "Run the seeds A-B");
    std::uint64_t fresh = 0;
    auto* some = app.add_option("--fresh", fresh, "Run so many seeds that nobody has run");
    auto* soak = app.add_option("--minutes", minutes, "Run fresh seeds for so long");
    std::string list;
    auto* listed = app.add_option("--list", list, "Run the seeds in this file, one a line");
    app.add_option("--jobs", jobs, "So many at once")->check(CLI::Range(1, 256));
    app.add_option("--failures", most_failures, "End after so many failed seeds");
    app.add_flag("--whole", is_whole, "Do not shrink a seed that fails");
    CLI11_PARSE(app, argc, argv);
    if (one->count() != 0) return tell_one(seed, !is_whole);
    if (listed->count() != 0) {
        const auto known = read_list(list);
        if (known.empty()) {
            std::cerr << "simulate: there is no seed in " << list << '\n';
            return 2;
        }
        return campaign(known, most_failures).run(jobs);
    }
    std::uint64_t first = 0;
    std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
    if (many->count() != 0) {
        if (!read_range(seeds, first, last)) {
            std::cerr << "simulate: write --seeds A-B, two numbers and the first not the larger\n";
            return 2;
        }
    } else if (soak->count() != 0 || some->count() != 0) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        first = static_cast<std::uint64_t>(now.count()) / 1'000 % 1'000'000'000'000;
        if (some->count() != 0) last = first + std::max<std::uint64_t>(fresh, 1) - 1;
        std::cerr << "simulate: fresh seeds from " << first << " on\n";
    } else {
        std::cerr << "simulate: say --seed N, --seeds A-B, --fresh N or --minutes M; see --help\n";
        return 2;
    }
    const auto limit = soak->count() != 0 ? seconds(minutes * 60) : seconds(1e9);
    return campaign(first, last, limit, most_failures).run(jobs);
}
