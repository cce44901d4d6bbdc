// Every order of the events of a small world.
// SPDX-License-Identifier: MIT
#include "simulation/orders.hpp"

#include "simulation/small_world.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <iostream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace redlock::simulation {

namespace {

/// The depth-first search. Of what must happen it tries one, and the others as it sees that they
/// race with it (dynamic partial order reduction, with source sets); what need not happen it tries
/// wherever it can.
class orders {
public:
    orders(const small_world& in, const search_bounds& bounds)
        : in_(&in), terms_(passage::terms(in)), bounds_(bounds) {}

    void run() {
        do {
            follow();
        } while (!broken_ && step_back() && !is_late() && steps_ < bounds_.most_steps);
        is_complete_ = path_.empty();
    }
    bool is_well() const noexcept {
        return !broken_ && (!is_complete_ || together_ >= in_->together);
    }
    void print() const {
        if (broken_) tell();
        std::cout << "{\"world\": \"" << in_->name << "\", \"orders\": " << orders_
                  << ", \"repeats\": " << repeats_ << ", \"steps\": " << steps_
                  << ", \"longest\": " << longest_ << ", \"together\": " << together_
                  << ", \"violations\": " << (is_well() ? 0 : 1)
                  << ", \"complete\": " << (is_complete_ ? "true" : "false")
                  << ", \"seconds\": " << took().count() << "}" << std::endl;
        if (is_complete_ || broken_ || steps_ < bounds_.most_steps) return;
        std::cout << "skipped: the orders of \"" << in_->name << "\" beyond " << bounds_.most_steps
                  << " steps; a larger --most-steps has them" << std::endl;
    }

private:
    using event_set = std::bitset<128>;
    /// An event, and what else might have happened in its place.
    struct fork {
        actions enabled;
        actions open;      // to be tried, the present one first
        actions asleep;    // whose orders from here have been seen
        event_set before;  // the events that must come before the present one
    };

    std::chrono::duration<double> took() const { return std::chrono::steady_clock::now() - began_; }
    bool is_late() const { return took() > bounds_.time; }
    const action& at(std::size_t event) const { return path_[event].open.front(); }

    // Along the path, and on from its end.
    void follow() {
        story silent;
        passage here(*in_, terms_, silent);
        for (std::size_t i = 0; i < path_.size(); ++i) perform(here, i);
        if (!path_.empty()) look_back();
        while (!here.verdict()) {
            fork next{here.choices(), {}, inherited(), {}};
            if (next.enabled.empty()) {
                here.finish();
                ++orders_;
                break;
            }
            choose(next);
            if (next.open.empty()) {  // as one that was seen already
                ++repeats_;
                return;
            }
            if (path_.size() == event_set().size()) {
                throw std::length_error(in_->name + " has too many events for one order");
            }
            path_.push_back(std::move(next));
            perform(here, path_.size() - 1);
            look_back();
        }
        longest_ = std::max(longest_, path_.size());
        together_ = std::max(together_, here.together());
        broken_ = here.verdict();
    }
    void perform(passage& here, std::size_t event) {
        ++steps_;
        here.perform(at(event));
    }
    void choose(fork& f) const {
        bool has_must = false;
        for (const action& a : f.enabled) {
            if (a.is_in(f.asleep) || (has_must && !a.is_optional())) continue;
            has_must = has_must || !a.is_optional();
            f.open.push_back(a);
        }
    }
    actions inherited() const {
        actions out;
        if (path_.empty()) return out;
        for (const action& a : path_.back().asleep) {
            if (a.is_independent_of(path_.back().open.front())) out.push_back(a);
        }
        return out;
    }

    // The last event is new: which of those before it might as well have come after it?
    void look_back() {
        const std::size_t last = path_.size() - 1;
        const action& now = at(last);
        event_set& before = path_[last].before;
        before.reset();
        if (now.cause() != 0) include(before, now.cause() - 1);
        std::vector<std::size_t> races;
        for (std::size_t i = last; i-- > 0;) {
            if (before[i] || !now.depends_on(at(i))) continue;
            if (!now.is_same_way(at(i))) races.push_back(i);
            include(before, i);
        }
        for (const std::size_t i : races) {
            if (at(i).is_idle || (now.is_own() && !now.is_in(path_[i].enabled))) continue;
            turn_round(i, last);
        }
    }
    void include(event_set& to, std::size_t event) const {
        to |= path_[event].before;
        to.set(event);
    }
    // At `first`, something must be tried that leads to `last` without it.
    void turn_round(std::size_t first, std::size_t last) {
        fork& f = path_[first];
        event_set without;
        const action* start = nullptr;
        for (std::size_t i = first + 1; i <= last; ++i) {
            if (i != last && path_[i].before[first]) continue;
            if ((path_[i].before & without).none()) {
                if (at(i).is_in(f.open) || at(i).is_in(f.asleep)) return;
                const auto there = at(i).find_in(f.enabled);  // what it does there may be another
                if (start == nullptr && there != f.enabled.end()) start = &*there;
            }
            without.set(i);
        }
        if (start != nullptr) f.open.push_back(*start);
    }

    // To the last fork where something is left to try.
    bool step_back() {
        while (!path_.empty()) {
            fork& last = path_.back();
            last.asleep.push_back(last.open.front());
            last.open.erase(last.open.begin());
            if (!last.open.empty()) return true;
            path_.pop_back();
        }
        return false;
    }
    void tell() const {
        story log([](const std::string& line) { std::cout << line << '\n'; });
        passage here(*in_, terms_, log);
        for (std::size_t i = 0; i < path_.size(); ++i) here.perform(at(i));
        if (!here.verdict()) here.finish();
        log.tell(broken_->at, [&] { return "!!! " + broken_->checker + ": " + broken_->text; });
    }

    const small_world* in_;
    plan terms_;
    search_bounds bounds_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::vector<fork> path_;
    std::optional<violation> broken_;
    std::uint64_t orders_ = 0;
    std::uint64_t repeats_ = 0;
    std::uint64_t steps_ = 0;
    std::size_t longest_ = 0;
    std::size_t together_ = 0;
    bool is_complete_ = false;
};

constexpr acquire_options shared{.mode = lock_mode::shared};
constexpr acquire_options of_two{.slots = 2};
constexpr acquire_options kept{.min_hold = std::chrono::milliseconds(500)};
// Each program reaches two nodes, and any two programs meet on one.
constexpr std::array<std::uint32_t, small_world::most_programs> in_a_ring{0b100, 0b001, 0b010};
// From one node to three: a majority of each list need not meet one of the other.
constexpr small_world::node_list one_node{0b001};
constexpr small_world::node_list one_then_three{0b001, 0b111};
constexpr small_world::node_list three_nodes{0b111};

const std::vector<small_world>& small_worlds() {
    static const std::vector<small_world> all{
        {.name = "two acquire"},
        {.name = "one calls off while the other acquires", .is_long = true, .cancels = 1},
        {.name = "holder extends while the other acquires", .is_long = true, .extensions = 1},
        {.name = "one after the other and a timeout",
         .is_long = true,
         .waits{false, true},
         .leaps = 1},
        {.name = "one acquires and a break", .turns{1, 0}, .breaks = 1, .first_alike = 1},
        {.name = "one extends and a break",
         .turns{1, 0},
         .extensions = 1,
         .breaks = 1,
         .first_alike = 1},
        {.name = "one acquires, a break and a timeout",
         .turns{1, 0},
         .breaks = 1,
         .leaps = 1,
         .first_alike = 1},
        {.name = "one acquires, a break and an empty restart",
         .is_long = true,
         .turns{1, 0},
         .breaks = 1,
         .restarts = 1,
         .first_alike = 1},
        {.name = "one acquires, a break and a while as a replica",
         .turns{1, 0},
         .breaks = 1,
         .replicas = 1,
         .first_alike = 1},
        {.name = "one acquires, a break and a clock that steps",
         .turns{1, 0},
         .breaks = 1,
         .steps = 1,
         .first_alike = 1},
        {.name = "a reader and a writer", .asks{shared}},
        {.name = "a reader and a writer that both keep it", .asks{shared}, .keeps{true, true}},
        {.name = "two readers", .is_deep = true, .asks{shared, shared}},
        {.name = "two readers that both keep it",
         .asks{shared, shared},
         .keeps{true, true},
         .together = 2},
        {.name = "a reader extends what it keeps while a writer acquires",
         .is_deep = true,
         .asks{shared},
         .keeps{true, true},
         .extensions = 1},
        {.name = "a reader extends while a writer acquires",
         .is_deep = true,
         .asks{shared},
         .extensions = 1},
        {.name = "a reader and a break",
         .asks{shared},
         .turns{1, 0},
         .breaks = 1,
         .first_alike = 1},
        {.name = "one reads, another has a break",
         .asks{shared, shared},
         .keeps{false, true},
         .holds{false, true},
         .together = 2,
         .breaks = 1,
         .first_alike = 1},
        {.name = "two readers and a break",
         .is_deep = true,
         .asks{shared, shared},
         .breaks = 1,
         .first_alike = 1},
        {.name = "a reader, a writer and a break",
         .is_deep = true,
         .asks{shared},
         .breaks = 1,
         .first_alike = 1},
        {.name = "two for two slots", .asks{of_two, of_two}},
        {.name = "two for two slots that begin with the same one",
         .is_deep = true,
         .asks{of_two, of_two},
         .keeps{true, true},
         .together = 2,
         .seed = 2},
        {.name = "two for two slots that both keep one",
         .asks{of_two, of_two},
         .keeps{true, true},
         .together = 2},
        {.name = "two have the slots, and the third meets each on one node",
         .programs = 3,
         .asks{of_two, of_two, of_two},
         .keeps{true, true, true},
         .holds{true, true, false},
         .unseen = in_a_ring,
         .together = 2},
        {.name = "two have the slots, one gives back, and the third meets each on one node",
         .programs = 3,
         .asks{of_two, of_two, of_two},
         .keeps{false, true, true},
         .holds{true, true, false},
         .unseen = in_a_ring,
         .together = 2},
        {.name = "three for two slots, of whom any two meet on one node",
         .is_deep = true,
         .programs = 3,
         .asks{of_two, of_two, of_two},
         .keeps{true, true, true},
         .unseen = in_a_ring,
         .together = 2},
        {.name = "one keeps the other out", .asks{kept}, .waits{false, true}},
        {.name = "one keeps others out and a break",
         .asks{kept},
         .turns{1, 0},
         .breaks = 1,
         .first_alike = 1},
        {.name = "a reader, a writer and a slot, of whom any two meet on one node",
         .programs = 3,
         .asks{shared, acquire_options{}, of_two},
         .keeps{true, true, true},
         .unseen = in_a_ring,
         .together = 2},
        {.name = "a reader and one that keeps others out",
         .asks{shared, kept},
         .keeps{true, false}},
        {.name = "one after the other and a break",
         .is_deep = true,
         .waits{false, true},
         .breaks = 1,
         .first_alike = 1},
        {.name = "one after the other and an empty restart",
         .is_deep = true,
         .waits{false, true},
         .restarts = 1,
         .first_alike = 1},
        {.name = "the list is committed while one acquires by the old list",
         .lists{one_then_three, one_node},
         .commits{true},
         .first_alike = 1},
        {.name = "the list is committed while one acquires by both lists",
         .is_deep = true,
         .programs = 3,
         .turns{1, 1, 0},
         .lists{one_then_three, one_then_three, one_node},
         .commits{true},
         .first_alike = 1},
        {.name = "the list is committed while one holds by the old list, and one has the new list alone",
         .is_deep = true,
         .programs = 3,
         .keeps{false, true},
         .holds{false, true},
         .lists{one_then_three, one_node, three_nodes},
         .commits{true},
         .is_late{false, false, true},
         .first_alike = 1},
        {.name = "the list is committed while one holds by the old list, and then one has the new list alone",
         .is_deep = true,
         .programs = 3,
         .waits{false, false, true},
         .keeps{false, true},
         .holds{false, true},
         .lists{one_then_three, one_node, three_nodes},
         .commits{true},
         .is_late{false, false, true},
         .first_alike = 1},
        {.name = "the list is committed while one acquires by the old list, and a quarantine later one has "
                 "the new list alone",
         .is_deep = true,
         .programs = 3,
         .waits{false, false, true},
         .lists{one_then_three, one_node, three_nodes},
         .commits{true},
         .is_late{false, false, true},
         .quarantines = 1,
         .first_alike = 1},
        {.name = "the list is committed while one acquires by the old list and another by both",
         .is_deep = true,
         .programs = 3,
         .lists{one_then_three, one_node, one_then_three},
         .commits{true},
         .first_alike = 1},
        {.name = "two operators commit while one acquires by the old list",
         .is_deep = true,
         .programs = 3,
         .lists{one_then_three, one_node, one_then_three},
         .commits{true, false, true},
         .first_alike = 1},
        {.name = "one asks twice while the other holds",
         .is_deep = true,
         .turns{2, 1},
         .keeps{false, true}},
        {.name = "one asks again after the other",
         .is_deep = true,
         .turns{2, 1},
         .waits{true, false}},
        {.name = "two acquire and a break", .is_deep = true, .breaks = 1, .first_alike = 1},
        {.name = "two acquire and an empty restart",
         .is_deep = true,
         .restarts = 1,
         .first_alike = 1},
        {.name = "two acquire and a clock that steps", .is_deep = true, .steps = 1, .first_alike = 1},
        {.name = "two acquire and a timeout", .is_deep = true, .leaps = 1},
    };
    return all;
}

/// Some worlds, on all processors: each search is one thread's.
class searches {
public:
    explicit searches(const search_bounds& bounds) : bounds_(bounds) {}

    void add(const small_world& in) { worlds_.push_back(&in); }
    bool is_empty() const noexcept { return worlds_.empty(); }
    /// Whether all promises were kept.
    bool run(unsigned jobs) {
        std::vector<std::thread> crew;
        for (unsigned i = 0; i < jobs; ++i) crew.emplace_back([this] { work(); });
        for (auto& t : crew) t.join();
        return is_well_;
    }

private:
    void work() {
        for (std::size_t i = next_++; i < worlds_.size(); i = next_++) {
            orders all(*worlds_[i], bounds_);
            all.run();
            const std::lock_guard lock(mutex_);
            all.print();
            is_well_ = is_well_ && all.is_well();
        }
    }

    search_bounds bounds_;
    std::vector<const small_world*> worlds_;
    std::atomic<std::size_t> next_{0};
    std::mutex mutex_;  // of what is printed, and the verdict
    bool is_well_ = true;
};

bool is_meant(const std::string& which, const small_world& w) {
    if (which == "quick") return !w.is_deep && !w.is_long;
    if (which == "long") return w.is_long;
    return which == w.name || which == "all" || (which == "small" && !w.is_deep);
}

}  // namespace

int search_orders(const std::string& which, const search_bounds& bounds, unsigned jobs) {
    searches wanted(bounds);
    for (const small_world& w : small_worlds()) {
        if (is_meant(which, w)) wanted.add(w);
    }
    if (wanted.is_empty()) {
        std::cerr << "simulate: there is no small world \"" << which << "\"; these are:\n";
        for (const small_world& w : small_worlds()) std::cerr << "    " << w.name << '\n';
        return 2;
    }
    return wanted.run(jobs) ? 0 : 1;
}

}  // namespace redlock::simulation
