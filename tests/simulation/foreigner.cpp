// The life of a foreign Redlock client.
// SPDX-License-Identifier: MIT
#include "simulation/foreigner.hpp"

#include <chrono>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

const std::string compare_and_delete =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
    "else return 0 end";

}  // namespace

foreigner::foreigner(std::size_t index, const surroundings& around)
    : index_(index),
      around_(around),
      plan_(&around.in.foreigners[index]),
      nodes_(around.in.nodes_in(plan_->list)),
      dice_(around.in.seed, stream::foreigner, index) {}

void foreigner::start() {
    around_.when.after(plan_->begins, [this] { think(); });
}

bool foreigner::has_ended() const noexcept {
    return is_resting_ ||
           (plan_->ends > 0ns && around_.when.now() >= beginning + plan_->ends);
}

void foreigner::think() {
    if (has_ended()) return;
    around_.when.after(dice_.between_orders(1ms, plan_->longest_think), [this] { take(); });
}

void foreigner::take() {
    if (has_ended()) return;
    const milliseconds ttl = plan_->ttl;
    value_ = "foreigner " + std::to_string(index_) + "." + std::to_string(++number_);
    resource_ = dice_.below(around_.in.resources);
    asked_ = around_.when.now();
    granted_ = 0;
    memory_.assign(around_.in.nodes.size(), 0);
    for (const std::size_t n : nodes_) {
        around_.net.ask(
            n, {"SET", resource_name(resource_), value_, "NX", "PX", std::to_string(ttl.count())},
            [this, n, number = number_,
             losses = around_.net.at(n).losses()](const fakes::model_reply& said) {
                if (number != number_ || said.text != "OK") return;
                ++granted_;
                if (losses == around_.net.at(n).losses()) memory_[n] = losses + 1;
            });
    }
    around_.when.after(ttl / 4, [this] { judge(); });
}

void foreigner::judge() {
    const duration ttl = plan_->ttl;
    const std::size_t quorum = nodes_.size() / 2 + 1;
    const duration allowance =
        std::chrono::duration_cast<duration>(ttl * around_.in.drift_factor) + around_.in.drift_min;
    const time_point until = asked_ + ttl - allowance;
    const bool is_held = granted_ >= quorum && !around_.in.double_of;
    if (is_held) {
        ++around_.counts.foreign_grants;
        around_.log.tell(around_.when.now(),
                          [&] { return "foreigner holds " + resource_name(resource_); });
        // From a program that has not decided yet an operator takes the lock as from any holder; it
        // can't learn of that.
        std::size_t lost = 0;
        for (const std::size_t n : nodes_) {
            lost += memory_[n] == around_.net.at(n).losses() + 1 ? 0 : 1;
        }
        const bool is_deleted = around_.in.has_deletions() && lost >= quorum;
        if (!around_.judge.was_taken_from(value_) && !is_deleted) {
            around_.judge.foreigner_granted(resource_, until);
        }
    }
    around_.when.after(is_held ? dice_.between(duration(0), ttl / 2) : 0ns,
                       [this] { give_back(); });
}

void foreigner::give_back() {
    around_.judge.foreigner_ended(resource_);
    // Later than the clocks of the nodes may think: then the key may be gone.
    const time_point certain = asked_ + plan_->ttl * 9 / 10;
    for (const std::size_t n : nodes_) {
        around_.net.ask(n, {"EVAL", compare_and_delete, "1", resource_name(resource_), value_},
                        [this, n, certain, remembers = memory_[n],
                         name = value_](const fakes::model_reply& said) {
                            const bool was_there = remembers == around_.net.at(n).losses() + 1;
                            if (!was_there || around_.when.now() > certain || around_.in.double_of)
                                return;
                            if (around_.in.within == bounds::wild || said.is_error()) return;
                            if (around_.judge.was_taken_from(name)) return;
                            around_.judge.require(said.number == 1, "interoperates", [&] {
                                return "the key of " + name + " was taken away on n" +
                                       std::to_string(n);
                            });
                        });
    }
    think();
}

}  // namespace redlock::simulation
