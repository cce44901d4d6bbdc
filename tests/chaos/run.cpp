// Faults and contenders side by side, rests in between in which nothing may be left, the verdict.
// SPDX-License-Identifier: MIT
#include "run.hpp"

#include "crew.hpp"
#include "nodes.hpp"
#include "second_checker.hpp"

#include "judge/checker.hpp"

#include <csignal>
#include <cstdlib>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace redlock::chaos {
namespace {

using namespace std::chrono_literals;

constexpr auto ttl_max = 4'000ms;
constexpr auto connect_timeout = 500ms;
constexpr unsigned workers = 4;
constexpr unsigned contenders = 6;
// Faults that hit a majority: by turns at most a minority forgets, so that all promises but those
// of progress hold, and any number does.
constexpr severity many_hang{5, 2};
constexpr severity many_forget{5, 5};

volatile std::sig_atomic_t was_interrupted = 0;

struct fault_line {
    clock::time_point at;
    std::string text;
};

class chaos_run {
public:
    explicit chaos_run(const run_options& options);
    ~chaos_run();
    int run();

private:
    void work_until(clock::time_point end);
    void rest();
    bool wait_until_quiet();
    std::vector<found_key> litter();
    void finish();
    void ask_the_second_checker();
    bool assumptions_held(clock::time_point at) const;
    void check_interrupt() const;
    void log(const std::string& text);
    void tell(const judge::violation& found);
    void tell_progress() const;
    std::string seconds(clock::time_point at) const;
    std::string summary() const;
    crew::terms crew_terms(std::uint64_t seed);

    run_options options_;
    clock::time_point began_ = clock::now();
    std::filesystem::path directory_;
    std::deque<fault_line> faults_;
    judge::checker judge_;
    nodes nodes_;
    crew crew_;
    std::uint64_t keys_left_ = 0;
};

std::filesystem::path make_directory() {
    auto pattern = (std::filesystem::temp_directory_path() / "redlock-chaos-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    return pattern;
}

chaos_run::chaos_run(const run_options& options)
    : options_(options),
      directory_(make_directory()),
      judge_([this](const judge::violation& found) { tell(found); },
             [this](clock::time_point at) { return assumptions_held(at); }),
      nodes_(options.seed, ttl_max, [this](const std::string& text) { log(text); }),
      crew_(crew_terms(options.seed + 1), judge_, [this](const std::string& text) { log(text); }) {}

chaos_run::~chaos_run() {
    std::error_code ignored;
    if (judge_.violations() == 0) std::filesystem::remove_all(directory_, ignored);
}

crew::terms chaos_run::crew_terms(std::uint64_t seed) {
    crew::terms t;
    t.workers = workers;
    t.each.contenders = contenders;
    t.each.ttl_max = ttl_max;
    t.each.connect_timeout = connect_timeout;
    t.each.ports = nodes_.ports();
    t.directory = directory_;
    t.seed = seed;
    t.keeps_histories = !options_.second_checker.empty();
    return t;
}

int chaos_run::run() {
    const auto end = clock::now() + options_.time;
    const auto turn = options_.majority ? 10s : 20s;
    // On a slow machine it may take as long again until each kind of lock was had.
    const auto latest = end + options_.time;
    const auto goes_on = [&] {
        const auto now = clock::now();
        return now < end ||
               (now < latest && !judge_.lacks_progress(workers, contenders).empty());
    };
    for (bool forget = false; goes_on(); forget = !forget) {
        if (options_.majority) nodes_.set_severity(forget ? many_forget : many_hang);
        const auto now = clock::now();
        work_until(std::min(now < end ? end : latest, now + turn));
        rest();
        if (goes_on()) crew_.resume();
    }
    finish();
    if (judge_.violations() > 0) std::cerr << "histories are in " << directory_.string() << '\n';
    std::cout << summary() << std::endl;
    return judge_.violations() == 0 ? 0 : 1;
}

void chaos_run::work_until(clock::time_point end) {
    while (clock::now() < end) {
        check_interrupt();
        nodes_.step();
        crew_.step();
        crew_.read();
        tell_progress();
        std::this_thread::sleep_for(10ms);
    }
}

// All contenders give back what they have while two nodes hear nothing, for longer than a
// connection is kept. When these wake they find acquires in their buffers; yet of live programs
// nothing may stay on any node, long before the ttl could have removed it.
void chaos_run::rest() {
    log("rest");
    nodes_.mend();
    crew_.mend();
    nodes_.freeze();
    // For longer than a connection is kept without an answer.
    const auto frozen_until = clock::now() + connect_timeout + 300ms;
    crew_.rest();
    if (!wait_until_quiet()) {
        return judge_.report({"contenders came to no end within 40 s of rest", {}, clock::now()});
    }
    std::this_thread::sleep_until(frozen_until);
    nodes_.mend();
    auto last_look = clock::now();
    auto patience = last_look + 3s;
    auto left = litter();
    while (!left.empty() && last_look < patience) {
        std::this_thread::sleep_for(20ms);
        left = litter();
        // When this machine stalls, all may have: then it proves less, and never something wrong.
        const auto now = clock::now();
        patience += std::max(now - last_look - 200ms, clock::duration::zero());
        last_look = now;
    }
    for (const auto& key : left) {
        judge_.report({"litter: " + key.node + " keeps " + key.key + " of " + key.value +
                           ", which is at rest",
                       key.key, clock::now()});
    }
    keys_left_ += left.size();
}

bool chaos_run::wait_until_quiet() {
    const auto limit = clock::now() + 40s;
    while (clock::now() < limit) {
        check_interrupt();
        crew_.read();
        if (crew_.is_quiet()) return true;
        std::this_thread::sleep_for(10ms);
    }
    return false;
}

std::vector<found_key> chaos_run::litter() {
    auto found = nodes_.keys();
    const auto now = clock::now();
    std::erase_if(found,
                  [&](const found_key& key) { return judge_.may_remain(key.value, now); });
    return found;
}

void chaos_run::finish() {
    crew_.end(10s);
    // What the killed left behind, and what was left to run out, ends with its ttl.
    std::this_thread::sleep_for(ttl_max + 1s);
    for (const auto& key : nodes_.keys()) {
        ++keys_left_;
        judge_.report({"left after the ttl: " + key.node + " keeps " + key.key + " = " + key.value,
                       key.key, clock::now()});
    }
    judge_.check_progress(workers, contenders);
    if (!options_.second_checker.empty()) ask_the_second_checker();
}

void chaos_run::ask_the_second_checker() {
    std::ofstream unjudged(directory_ / "unjudged");
    for (const auto& time : nodes_.forgotten_times()) {
        unjudged << time.from.time_since_epoch().count() << ' '
                 << time.until.time_since_epoch().count() << '\n';
    }
    unjudged.close();
    if (ask_second_checker(options_.second_checker, directory_)) return;
    judge_.report(
        {"the second checker " + options_.second_checker.string() + " saw no lock in the histories",
         {},
         clock::now()});
}

bool chaos_run::assumptions_held(clock::time_point at) const {
    const auto& times = nodes_.forgotten_times();
    return std::none_of(times.begin(), times.end(),
                        [&](const auto& t) { return t.from <= at && at <= t.until; });
}

void chaos_run::check_interrupt() const {
    if (was_interrupted != 0) throw std::runtime_error("interrupted: no verdict");
}

void chaos_run::log(const std::string& text) {
    constexpr std::size_t most = 1'000;
    faults_.push_back({clock::now(), text});
    if (faults_.size() > most) faults_.pop_front();
    std::cout << seconds(faults_.back().at) << ' ' << text << '\n';
}

std::string chaos_run::seconds(clock::time_point at) const {
    std::ostringstream text;
    text << std::fixed << std::setprecision(6)
         << std::chrono::duration<double>(at - began_).count();
    return text.str();
}

void chaos_run::tell(const judge::violation& found) {
    constexpr std::uint64_t most = 20;
    std::cerr << "VIOLATION at " << seconds(found.at) << ": " << found.text << '\n';
    if (judge_.violations() > most) return;
    for (const auto& s : judge_.near(found.resource, found.at - 4s, found.at + 1s)) {
        std::cerr << "  " << s.resource << ' ' << to_text(s.of) << " fence " << s.fence << " from "
                  << seconds(s.granted_at) << " to " << seconds(s.trusted_until) << ' ' << s.owner;
        if (s.kept_until > s.trusted_until) std::cerr << ", kept to " << seconds(s.kept_until);
        std::cerr << '\n';
    }
    for (const auto& line : faults_) {
        if (line.at < found.at - 10s || line.at > found.at + 1s) continue;
        std::cerr << "  fault at " << seconds(line.at) << ": " << line.text << '\n';
    }
}

void chaos_run::tell_progress() const {
    static auto next = clock::now() + 30s;
    if (clock::now() < next) return;
    next += 30s;
    std::cerr << summary() << std::endl;
}

std::string chaos_run::summary() const {
    const auto& counts = judge_.counts();
    const auto passed = std::chrono::duration_cast<std::chrono::seconds>(clock::now() - began_);
    std::ostringstream text;
    text << "{\"seed\": " << options_.seed << ", \"seconds\": " << passed.count()
         << ", \"majority\": " << (options_.majority ? "true" : "false")
         << ", \"grants\": " << counts.grants << ", \"readers\": " << counts.readers
         << ", \"slots\": " << counts.slots << ", \"several\": " << counts.several
         << ", \"kept\": " << counts.kept
         << ", \"losses\": " << counts.losses
         << ", \"refusals\": " << counts.refusals << ", \"cancellations\": " << counts.cancellations
         << ", \"faults\": {";
    for (std::size_t i = 1; i < faults; ++i) {
        const auto what = static_cast<fault>(i);
        text << '"' << name_of(what) << "\": " << nodes_.count(what) << ", ";
    }
    text << "\"worker kill\": " << crew_.kills() << ", \"worker pause\": " << crew_.pauses()
         << "}, \"forgotten_by_quorum\": " << nodes_.forgotten_times().size()
         << ", \"excused\": " << judge_.excused() << ", \"violations\": " << judge_.violations()
         << ", \"keys_left\": " << keys_left_ << '}';
    return text.str();
}

}  // namespace

int run_chaos(const run_options& options) {
    std::cout << "seed " << options.seed << std::endl;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        std::signal(number, [](int) { was_interrupted = 1; });
    }
    chaos_run one(options);
    return one.run();
}

}  // namespace redlock::chaos
