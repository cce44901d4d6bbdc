// The simulation as a program: one seed with its story, many seeds and what they add up to, or
// every order of small worlds.
// SPDX-License-Identifier: MIT
#include "simulation/families.hpp"
#include "simulation/orders.hpp"
#include "simulation/plan.hpp"
#include "simulation/plan_text.hpp"
#include "simulation/shrink.hpp"
#include "simulation/story.hpp"
#include "simulation/world.hpp"
#include "tests/support/trace.hpp"

#include <CLI/CLI.hpp>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace redlock;
using namespace redlock::simulation;
using seconds = std::chrono::duration<double>;

double hours(redlock::duration d) { return seconds(d).count() / 3600; }

/// What not every world has.
const std::map<std::string, std::function<bool(const plan&)>> features{
    {"readers", &plan::has_readers},
    {"downgrades", &plan::has_downgrades},
    {"slots", &plan::has_slots},
    {"permits", &plan::has_permits},
    {"limits", [](const plan& in) { return in.limit != 0; }},
    {"min_hold", &plan::has_least_holds},
    {"tokens", &plan::has_tokens},
    {"init", [](const plan& in) { return in.has_errand(errand::init); }},
    {"revoke", [](const plan& in) { return in.has_errand(errand::revoke); }},
    {"lookers",
     [](const plan& in) { return in.has_errand(errand::look) || in.has_errand(errand::watch); }},
    {"files", &plan::has_other_files},
    {"alone", [](const plan& in) { return in.open_from.has_value(); }},
    {"ttl_max", &plan::has_ttl_maxes},
    {"detours", [](const plan& in) { return in.has_detours; }},
    {"notes", [](const plan& in) { return in.has_notes; }},
    {"turns", [](const plan& in) { return in.most_turns != 0; }},
};

template <plan (*Draw)(std::uint64_t)>
plan with_guests(std::uint64_t seed) {
    plan out = Draw(seed);
    draw_guests(out);
    return out;
}

/// Families of worlds. Those that are a feature's, too, have some without it, which are left out.
constexpr std::array<std::pair<const char*, plan (*)(std::uint64_t)>, 8> families{{
    {"common", simulation::draw},
    {"elections", with_guests<draw_elections>},
    {"bursts", with_guests<draw_bursts>},
    {"changes", with_guests<draw_changes>},
    {"set_back", with_guests<draw_set_back>},
    {"deletions", with_guests<draw_deletions>},
    {"permits", draw_permits},
    {"limits", draw_limits},
}};

/// Every world as it is drawn, or with less.
struct variation {
    std::vector<std::string> missing{};  ///< Safeguards: "guard", "fencing".
    std::string promise{};               ///< Nothing else is judged; empty: everything is.
    std::vector<std::string> with{};     ///< What a world needs, or is left out: "readers", ...

    plan draw(std::uint64_t seed) const {
        const auto family = std::find_if(families.begin(), families.end(),
                                         [this](const auto& f) { return needs(f.first); });
        plan out = (family == families.end() ? families.front() : *family).second(seed);
        out.has_notes = out.has_notes || needs("notes");
        return vary(std::move(out));
    }
    plan vary(plan out) const {
        if (!promise.empty()) out.promise = promise;
        for (program_plan& p : out.programs) {
            p.is_guarded = p.is_guarded && !lacks("guard");
            p.is_fenced = p.is_fenced && !lacks("fencing");
        }
        return out;
    }
    bool fits(const plan& in) const {
        return std::all_of(with.begin(), with.end(), [&](const std::string& what) {
            const auto found = features.find(what);
            return found == features.end() || found->second(in);
        });
    }
    bool needs(const char* what) const {
        return std::find(with.begin(), with.end(), what) != with.end();
    }
    bool lacks(const char* what) const {
        return std::find(missing.begin(), missing.end(), what) != missing.end();
    }
};

template <class... Tables>
std::vector<std::string> names_of(const Tables&... in) {
    std::vector<std::string> out;
    const auto add = [&](const auto& table) {
        for (const auto& [name, what] : table) out.push_back(name);
    };
    (add(in), ...);
    return out;
}

void print(const std::string& line) { std::cout << line << '\n'; }

int tell_one(plan what, bool may_shrink) {
    if (may_shrink) {
        const auto first = run_quietly(what);
        if (first.broken) {
            std::cerr << "seed " << what.seed << " breaks a promise; shrinking it\n";
            what = shrink(std::move(what), *first.broken);
        }
    }
    std::cout << text_of(what);
    story log(print);
    const auto result = world(what, log).run();
    if (result.broken) {
        log.tell(result.broken->at,
                  [&] { return "!!! " + result.broken->checker + ": " + result.broken->text; });
    }
    std::cout << (result.broken ? "violation" : "no violation") << " in "
              << seconds(result.lasted).count() << " s, digest " << log.digest() << '\n';
    return result.broken ? 1 : 0;
}

/// A file, or each of a folder, by its name.
std::vector<std::pair<std::string, plan>> read_plans(const std::filesystem::path& from) {
    std::vector<std::pair<std::string, plan>> out;
    if (!std::filesystem::is_directory(from)) {
        out.emplace_back(from.filename().string(), read_plan(from));
        return out;
    }
    for (const auto& one : testing::traces_of(from)) {
        out.emplace_back(one.filename().string(), read_plan(one));
    }
    return out;
}

/// Many seeds on all processors, one after the other.
class campaign {
public:
    struct terms {
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        std::uint64_t most_seeds = std::numeric_limits<std::uint64_t>::max();
        seconds limit{1e9};
        std::size_t most_failures = 10;
        bool prints_digests = false;
        variation how{};
        std::vector<std::pair<std::string, plan>> worlds{};  ///< In place of seeds.
    };
    explicit campaign(terms of) : terms_(std::move(of)), next_(terms_.first) {}

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
            if (number > terms_.last || failures_ >= terms_.most_failures ||
                std::chrono::steady_clock::now() - began_ > terms_.limit) {
                return;
            }
            const bool is_drawn = terms_.worlds.empty();
            const plan what = is_drawn ? terms_.how.draw(number)
                                       : terms_.how.vary(terms_.worlds[number].second);
            const std::string called = is_drawn ? "seed " + std::to_string(number)
                                                : "world " + terms_.worlds[number].first;
            if (!terms_.how.fits(what)) continue;
            if (begun_++ >= terms_.most_seeds) return;
            // Lines are made only for a reader, and the digest is of the lines.
            story log(terms_.prints_digests ? [](const std::string&) {} : story::reader());
            const auto result = world(what, log).run();
            const std::lock_guard lock(mutex_);
            if (terms_.prints_digests) std::cout << called << ' ' << log.digest() << '\n';
            ++seeds_;
            for (const auto& [name, field] : counter_fields) total_.*field += result.counts.*field;
            simulated_ += result.lasted;
            if (result.broken) report(called, what.seed, *result.broken);
            tell_progress();
        }
    }
    // Hours of seeds print one line a minute.
    void tell_progress() {
        const auto now = std::chrono::steady_clock::now();
        if (now - reported_at_ < std::chrono::minutes(1)) return;
        reported_at_ = now;
        std::cerr << seeds_ << " seeds, " << failed_.size() << " broke a promise\n";
    }
    void report(const std::string& name, std::uint64_t seed, const violation& how) {
        ++failures_;
        ++broken_[how.checker];
        failed_.push_back(seed);
        std::cerr << name << ": " << how.checker << ": " << how.text << '\n';
    }
    void print_sum(double took_s) const {
        auto field = [first = true](const char* name, auto value) mutable {
            std::cout << (std::exchange(first, false) ? "{\"" : ", \"") << name << "\": " << value;
        };
        field("seeds", seeds_);
        field("simulated_hours", hours(simulated_));
        field("violations", failed_.size());
        for (const auto& [name, count] : counter_fields) field(name, total_.*count);
        field("hours_per_minute", hours(simulated_) / took_s * 60);
        std::cout << ", \"broken\": {";
        const char* comma = "";
        for (const auto& [checker, times] : broken_) {
            std::cout << std::exchange(comma, ", ") << '"' << checker << "\": " << times;
        }
        std::cout << "}, \"failed_seeds\": [";
        comma = "";
        for (const auto seed : failed_) std::cout << std::exchange(comma, ", ") << seed;
        std::cout << "]}\n";
    }

    const terms terms_;
    std::atomic<std::uint64_t> next_;
    std::atomic<std::uint64_t> begun_{0};
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::mutex mutex_;
    std::chrono::steady_clock::time_point reported_at_ = began_;
    std::atomic<std::size_t> failures_{0};
    std::vector<std::uint64_t> failed_;
    std::map<std::string, std::size_t> broken_;  // how often each promise was
    counters total_;
    std::uint64_t seeds_ = 0;
    redlock::duration simulated_{};
};

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
    bool is_whole = false;
    campaign::terms terms;
    auto* one = app.add_option("--seed", seed, "Tell the story of this seed");
    auto* many = app.add_option("--seeds", seeds, "Run the seeds A-B");
    std::uint64_t fresh = 0;
    auto* some = app.add_option("--fresh", fresh, "Run so many seeds that nobody has run");
    auto* soak = app.add_option("--minutes", minutes, "Run fresh seeds for so long");
    std::string file;
    auto* written = app.add_option("--world", file,
                                   "Tell the story of the world in this file, or run those of this "
                                   "folder")->check(CLI::ExistingPath);
    app.add_option("--without", terms.how.missing, "Leave this out: guard or fencing")
        ->check(CLI::IsMember({"guard", "fencing"}));
    app.add_option("--with", terms.how.with,
                   "Leave out worlds without this: readers, slots, ...")
        ->check(CLI::IsMember(names_of(families, features)));
    app.add_option("--promise", terms.how.promise, "Judge this promise only, as exclusion");
    std::string which;
    auto* every = app.add_option("--orders", which,
                                 "Search every order of these small worlds: \"quick\", \"long\", "
                                 "\"small\" (both), \"all\", or one by its name; with --minutes, each "
                                 "for so long at most");
    search_bounds bounds;
    app.add_option("--most-steps", bounds.most_steps,
                   "Search each world with so many events at most")->needs(every);
    app.add_option("--jobs", jobs, "So many at once")->check(CLI::Range(1, 256));
    app.add_option("--failures", terms.most_failures, "End after so many failed seeds");
    app.add_flag("--digests", terms.prints_digests, "Also print the digest of each seed's story");
    app.add_flag("--whole", is_whole, "Do not shrink a seed that fails");
    CLI11_PARSE(app, argc, argv);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);  // what one world leaves is for the next
    if (one->count() != 0) return tell_one(terms.how.draw(seed), !is_whole);
    if (every->count() != 0) {
        if (soak->count() != 0) bounds.time = seconds(minutes * 60);
        return search_orders(which, bounds, jobs);
    }
    if (written->count() != 0) {
        try {
            terms.worlds = read_plans(file);
        } catch (const std::invalid_argument& why) {
            std::cerr << "simulate: " << why.what() << '\n';
            return 2;
        }
        if (terms.worlds.empty()) {
            std::cerr << "simulate: there is no world in " << file << '\n';
            return 2;
        }
        if (!std::filesystem::is_directory(file)) {
            return tell_one(terms.how.vary(terms.worlds.front().second), !is_whole);
        }
        terms.last = terms.worlds.size() - 1;
    } else if (many->count() != 0) {
        if (!read_range(seeds, terms.first, terms.last)) {
            std::cerr << "simulate: write --seeds A-B, two numbers and the first not the larger\n";
            return 2;
        }
    } else if (soak->count() != 0 || some->count() != 0) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        terms.first = static_cast<std::uint64_t>(now.count()) / 1'000 % 1'000'000'000'000;
        terms.last = std::numeric_limits<std::uint64_t>::max();
        if (some->count() != 0) terms.most_seeds = std::max<std::uint64_t>(fresh, 1);
        std::cerr << "simulate: fresh seeds from " << terms.first << " on\n";
    } else {
        std::cerr << "simulate: say --seed, --seeds, --world, --fresh, --minutes or --orders; "
                     "see --help\n";
        return 2;
    }
    if (soak->count() != 0) terms.limit = seconds(minutes * 60);
    return campaign(std::move(terms)).run(jobs);
}
