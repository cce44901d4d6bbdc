// Judging one node's answers by what it holds before and after.
// SPDX-License-Identifier: MIT
#include "simulation/node_checker.hpp"

#include "wire/resp/scripts.hpp"

#include <algorithm>
#include <string_view>

namespace redlock::simulation {

namespace {

bool calls(const fakes::command& c, const resp::script& s) {
    return c.size() > 4 && c.front().starts_with("EVAL") && (c[1] == s.sha1 || c[1] == s.text);
}

}  // namespace

node_checker::node_checker(std::size_t node, const plan& in, const fakes::redis_model& model,
                           lease_checker& judge)
    : node_(node),
      model_(&model),
      judge_(&judge),
      // Two names of one server are two connections, and each has its own order.
      is_late_checked_(in.within == bounds::safe && !in.double_of &&
                       std::all_of(in.programs.begin(), in.programs.end(),
                                   [](const auto& p) { return p.is_fenced && p.is_guarded; })),
      good_for_(in.good_for()) {}

std::optional<node_checker::key_facts> node_checker::find(const std::string& key,
                                                          time_point now) const {
    const auto& all = model_->database(database_).all();
    const auto at = all.find(key);
    if (at == all.end() || at->second.is_gone(model_->wall.ms(now))) return std::nullopt;
    const std::string* text = at->second.text();
    if (text == nullptr) return std::nullopt;
    return key_facts{*text, at->second.expires_ms};
}

void node_checker::before(const fakes::command& c, const fakes::client_state& client,
                          time_point now) {
    claims_.clear();
    release_.reset();
    database_ = client.database;
    if (c.front() == "SET" && c.size() > 3 && c[3] == "NX") {
        claims_.push_back({.key = c[1], .value = c[2]});
    } else if (calls(c, resp::acquire())) {
        claims_.push_back({.key = c[3],
                           .value = c[7],
                           .fence_key = c[4],
                           .fence = std::stoll(c[9]),
                           .tolerance_us = std::stoll(c[10])});
    } else if (calls(c, resp::extend())) {
        const auto keys = std::stoul(c[2]);
        const auto leases = std::stoul(c[3 + keys]);
        for (std::size_t i = 0; i < leases; ++i) {
            claim one{.key = c[3 + i], .value = c[4 + keys + i]};
            if (keys > leases) {
                one.fence_key = c[3 + leases + i];
                one.fence = std::stoll(c[4 + keys + 2 * leases]);
                one.tolerance_us = std::stoll(c[5 + keys + 2 * leases]);
            }
            claims_.push_back(std::move(one));
        }
    } else if (calls(c, resp::release())) {
        release_ = {c[3 + std::stoul(c[2])], c[3], find(c[3], now)};
    }
    for (claim& one : claims_) {
        one.key_before = find(one.key, now);
        if (!one.fence_key.empty()) one.fence_before = find(one.fence_key, now);
    }
}

void node_checker::after(const fakes::command& c, const fakes::model_reply& said, time_point now) {
    if (release_ && !said.is_error()) given_back_.insert(release_->value);
    const bool is_others =
        release_ && release_->key_before && release_->key_before->value != release_->value;
    judge_->require(!is_others || find(release_->key, now), "ownership", [&] {
        return release_->value + " gives back the lock of " + release_->key_before->value + " on " +
               name();
    });
    const bool is_vote = said.text == "OK" || (calls(c, resp::acquire()) && said.number == 1);
    if (is_vote && !claims_.empty()) {
        claims_.front().is_granted = true;
        judge_->voted(claims_.front().value, node_, claims_.front().fence);
    }
    for (const claim& one : claims_) {
        const auto key = find(one.key, now);
        if (key && key->value == one.value) {
            check_taken(one, *key, now);
            check_in_time(one, *key, now);
            judge_->covered(one.value, node_,
                            key->expires_ms ? model_->wall.when_us((*key->expires_ms + 1) * 1'000)
                                            : time_point::max());
        }
        if (!one.fence_key.empty()) check_fence(one, now);
    }
}

void node_checker::check_taken(const claim& of, const key_facts& key, time_point now) const {
    judge_->require(!is_late_checked_ || !given_back_.contains(key.value), "litter", [&] {
        return "a late command takes " + of.key + " on " + name() +
               " again, after its lease was given back there";
    });
    const bool was_ours = of.key_before && of.key_before->value == of.value;
    if (!was_ours) {
        judge_->require(!of.key_before, "ownership", [&] {
            return of.value + " overwrites " + of.key_before->value + " on " + name();
        });
        if (of.fence_key.empty()) return;
        const auto fence = find(of.fence_key, now);
        judge_->require(fence && fence->value == std::to_string(of.fence), "fences",
                        [&] { return of.key + " is taken on " + name() + " without its fence"; });
        return;
    }
    const auto was_until = of.key_before->expires_ms;
    judge_->require(!was_until || !key.expires_ms || *key.expires_ms >= *was_until, "validity",
                    [&] { return of.key + " has less time on " + name() + " than it had"; });
}

// The process is gone, and would not release it.
void node_checker::check_in_time(const claim& of, const key_facts& key, time_point now) const {
    const bool was_ours = of.key_before && of.key_before->value == of.value;
    if (!is_late_checked_ || (was_ours && of.key_before->expires_ms == key.expires_ms)) return;
    const auto death = judge_->death_of(of.value);
    judge_->require(!death || now <= *death + good_for_, "litter", [&] {
        return "a command of somebody long gone takes " + of.key + " on " + name();
    });
}

void node_checker::check_fence(const claim& of, time_point now) const {
    const auto fence = find(of.fence_key, now);
    const bool is_current = fence && std::stoll(fence->value) >= of.fence;
    const bool is_old = of.fence <= model_->wall.us(now) - of.tolerance_us;
    judge_->require(is_current || (!fence && is_old) || !of.is_granted, "fences", [&] {
        return of.key + " is granted on " + name() + " and its fence not raised";
    });
    if (!fence) return;
    if (of.fence_before) {
        judge_->require(std::stoll(fence->value) >= std::stoll(of.fence_before->value), "fences",
                        [&] { return "the fence of " + of.key + " falls on " + name(); });
        return;
    }
    // What is older may be below one that the node has seen and forgotten.
    judge_->require(!is_old || !is_current, "fences",
                    [&] { return of.key + " begins with an old fence on " + name(); });
}

}  // namespace redlock::simulation
