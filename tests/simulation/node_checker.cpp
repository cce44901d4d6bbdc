// Judging one node's answers by what it holds before and after.
// SPDX-License-Identifier: MIT
#include "simulation/node_checker.hpp"

#include "simulation/holders.hpp"
#include "wire/owner_value.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace redlock::simulation {

using testing::ask;

namespace {

constexpr std::int64_t longest_entry_life_ms = 60'000;

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

node_checker::lock_facts node_checker::find_lock(const testing::asked& one,
                                                 time_point now) const {
    lock_facts out{find(one.key, now), {}};
    if (out.key && out.key->value == wire::shared_marker) {
        const auto all = readers_in(model_->database(database_), one.readers, model_->wall.ms(now));
        out.readers.insert(all.begin(), all.end());
    }
    return out;
}

std::optional<node_checker::key_facts> node_checker::view(const lock_facts& of,
                                                          const testing::asked& one) {
    if (!one.shares() || !of.key || of.key->value != wire::shared_marker) return of.key;
    const auto at = of.readers.find(one.value);
    if (at == of.readers.end()) return std::nullopt;
    if (!at->second) return key_facts{one.value, {}};
    return key_facts{one.value, std::min(*at->second, of.key->expires_ms.value_or(*at->second))};
}

void node_checker::take(lock_facts& of, const testing::asked& one) const {
    if (!one.shares()) {
        of.key = key_facts{one.value, {}};
        return;
    }
    if (!of.key || of.key->value != wire::shared_marker) of.readers.clear();
    of.key = key_facts{std::string(wire::shared_marker), {}};
    of.readers[one.value] = std::nullopt;
}

// The key goes with the last reader that is alive.
void node_checker::give_back(lock_facts& of, const testing::asked& one, time_point now) const {
    of.readers.erase(one.value);
    std::erase_if(of.readers,
                  [&](const auto& r) { return r.second && *r.second <= model_->wall.ms(now); });
    if (!one.shares() || of.readers.empty()) of.key.reset();
}

void node_checker::check_held(const testing::asked& one, const lock_facts& expected,
                              time_point now) const {
    const lock_facts found = find_lock(one, now);
    judge_->require(
        expected.key ? found.key && found.key->value == expected.key->value : !found.key,
        "ownership", [&] {
            return one.key + " on " + name() + " holds " +
                   (found.key ? found.key->value : "nothing") + ", by the answers " +
                   (expected.key ? expected.key->value : "nothing");
        });
    const auto is_same = [](const auto& a, const auto& b) { return a.first == b.first; };
    judge_->require(!one.shares() || std::equal(found.readers.begin(), found.readers.end(),
                                                expected.readers.begin(), expected.readers.end(),
                                                is_same),
                    "ownership", [&] {
                        return std::to_string(found.readers.size()) + " readers hold " + one.key +
                               " on " + name() + ", by the answers " +
                               std::to_string(expected.readers.size());
                    });
}

fakes::sorted_set node_checker::queue_of(const testing::asked& one) const {
    const auto& all = model_->database(database_).all();
    const auto at = all.find(one.queue);
    return at == all.end() ? fakes::sorted_set() : std::get<fakes::sorted_set>(at->second.value);
}

// A reader goes with other readers, and waits behind a writer that came before it: one that stood
// there before the command, and stands there still.
void node_checker::check_order(const testing::asked& one, time_point now) const {
    const auto queue = queue_of(one);
    for (const auto& [ticket, entry] : queue.all()) {
        const std::string& member = entry;  // a lambda cannot hold a structured binding
        if (!waiting_before_.contains(member)) continue;
        const auto until_ms = std::stoll(member.substr(member.rfind(':') + 1));
        const bool is_alive = until_ms > model_->wall.ms(now) &&
                              until_ms <= model_->wall.ms(now) + longest_entry_life_ms;
        const bool is_reader = member[member.find(':') + 1] == 'r';
        const bool is_before = one.ticket.empty() || ticket < std::stod(one.ticket);
        judge_->require(!is_alive || is_reader || !is_before, "order", [&] {
            return one.value + " shares " + one.key + " on " + name() + ", for which the writer " +
                   member + " waits";
        });
    }
}

void node_checker::take_apart(const testing::asked& one, std::size_t answer) {
    const std::size_t keys = one.keys();
    asked_.push_back({one, answer, 0, keys > 1});
    asked_.back().of.others.clear();
    for (std::size_t i = 1; i < keys; ++i) {
        part next{asked_.back().of, answer, i, true};
        next.of.key = one.others[i - 1].key;
        next.of.fence_key = one.others[i - 1].fence_key;
        next.of.queue = one.others[i - 1].queue;
        asked_.push_back(std::move(next));
    }
}

// A release before its time leaves the key to run out.
void node_checker::check_kept(const testing::asked& one, time_point now) const {
    const auto until = judge_->kept_until(one.value);
    const auto& before = locks_before_.at(one.key).key;
    if (!until || now >= *until || !before || before->value != one.value) return;
    const auto key = find(one.key, now);
    const bool is_there =
        key && (key->value == one.value || key->value == one.value + "#kept");
    judge_->require(is_there, "min_hold", [&] {
        return one.key + " was to be kept, and is given back on " + name();
    });
    // Within what the clocks may differ by.
    const auto at_ms = model_->wall.ms(*until) - 2;
    judge_->require(!key || !key->expires_ms || *key->expires_ms >= at_ms, "min_hold", [&] {
        return one.key + " was to be kept for longer on " + name() + " than it will be";
    });
}

// The set grows with those that are alive only; and its base, which those that join have to exceed,
// is never above the fence, which the clients see.
void node_checker::check_readers(const testing::asked& one, time_point now) const {
    const auto& all = model_->database(database_).all();
    const auto at = all.find(one.readers);
    const auto key = find(one.key, now);
    if (at == all.end() || !key || key->value != wire::shared_marker) return;
    const auto* const set = std::get_if<fakes::sorted_set>(&at->second.value);
    if (set == nullptr) return;
    const auto now_ms = static_cast<double>(model_->wall.ms(now));
    const auto fence = find(one.fence_key, now);
    for (const auto& [score, entry] : set->all()) {
        const std::string& member = entry;  // a lambda cannot hold a structured binding
        if (member == "base") {
            judge_->require(!fence || -score <= std::stod(fence->value), "fences", [&] {
                return "those that would share " + one.key + " on " + name() +
                       " have to exceed more than its fence";
            });
            continue;
        }
        judge_->require(score > now_ms, "bounded", [&] {
            return "the readers of " + one.key + " on " + name() + " are listed with " + member +
                   ", whose time is over";
        });
    }
}

void node_checker::before(const fakes::command& c, const fakes::client_state& client,
                          time_point now) {
    asked_.clear();
    fences_before_.clear();
    locks_before_.clear();
    waiting_before_.clear();
    database_ = client.database;
    if (c.front() == "SET" && c.size() > 3 && c[3] == "NX") {
        asked_.push_back({{.what = ask::acquire, .key = c[1], .value = c[2]}, 0});
        requests_ = 1;
    } else if (const auto all = testing::requests_of(c)) {
        requests_ = all->all.size();
        for (std::size_t i = 0; i < requests_; ++i) take_apart(all->all[i], i);
        if (!all->tolerance_us.empty()) tolerance_us_ = std::stoll(all->tolerance_us);
    }
    for (const part& p : asked_) {
        const testing::asked& one = p.of;
        lock_facts found = find_lock(one, now);
        const auto [at, is_new] = locks_before_.try_emplace(one.key, found);
        if (!is_new && one.shares()) at->second = std::move(found);
        if (one.fence_key.empty()) continue;
        if (one.shares()) {
            const auto queue = queue_of(one);
            for (const auto& [ticket, member] : queue.all()) waiting_before_.insert(member);
        }
        fences_before_.try_emplace(one.fence_key, find(one.fence_key, now));
    }
}

// What each request did, in their order, is reckoned from its answer; then the node has to hold what
// that comes to.
void node_checker::after(const fakes::model_reply& said, time_point now) {
    std::map<std::string, lock_facts> stored = locks_before_;
    std::vector<claim> claims;
    std::set<std::string> in_doubt;
    const bool is_list = said.type == fakes::model_reply::kind::array && requests_ > 1;
    for (const part& p : asked_) {
        const testing::asked& one = p.of;
        const auto& answer = is_list ? said.items.at(p.answer) : said;
        lock_facts& lock = stored[one.key];
        const auto key = view(lock, one);
        // An extension that took the key again also tells the fence.
        const bool is_done = answer.text == "OK" ||
                             (answer.items.empty() ? answer : answer.items.front()).number == 1;
        if (one.what == ask::release) {
            for (claim& before : claims) {
                if (one.fence.empty() || before.of->fence_key != one.fence_key) continue;
                before.raised = std::max(before.raised, std::stoll(one.fence));
            }
            if (!answer.is_error()) given_back_.insert(one.value);
            // It may have deleted the key, and failed to raise the fence.
            if (answer.is_error() && key && key->value == one.value) in_doubt.insert(one.key);
            judge_->require(!is_done || (key && key->value == one.value), "ownership", [&] {
                return one.value + " gives back " + one.key + " on " + name() + ", which is " +
                       (key ? "held by " + key->value : "free");
            });
            const bool are_readers = lock.key && lock.key->value == wire::shared_marker;
            const bool is_looked_at = one.shares() && are_readers && !answer.is_error();
            const bool is_to_stay = !one.keep.empty();  // until it runs out
            // Of several those that are its own go, also where others are not.
            const bool is_own = p.is_of_several && !answer.is_error() && key &&
                                key->value == one.value;
            if (!is_to_stay && (is_done || is_own || is_looked_at)) give_back(lock, one, now);
            // Late commands must not find it by its value.
            const auto kept = is_to_stay ? find(one.key, now) : std::nullopt;
            if (kept && kept->value == one.value + "#kept") lock.key = kept;
            if (!answer.is_error()) check_kept(one, now);
            if (is_looked_at) check_readers(one, now);
            continue;
        }
        const bool is_granted = is_done && one.what == ask::acquire;
        claims.push_back({&one, key, is_done, p.is_of_several, is_granted});
        const bool was_ours = key && key->value == one.value;
        if (is_granted && one.shares() && !was_ours) check_order(one, now);
        if (is_granted) {
            judge_->voted(one.value, node_, one.fence.empty() ? 0 : std::stoll(one.fence));
        }
        const bool is_held =
            !answer.items.empty() && answer.items.front().number == 2 &&
            (!p.is_of_several || answer.items.at(6).number == static_cast<std::int64_t>(p.which));
        judge_->require(!is_held || key, "ownership", [&] {
            return one.value + " learns on " + name() + " that " + one.key +
                   " is held, which is free";
        });
        if (is_done) take(lock, one);
    }
    for (const part& p : asked_) {
        if (!in_doubt.contains(p.of.key)) check_held(p.of, stored[p.of.key], now);
    }
    // A request that was refused need not explain what another request of the same lease has done.
    const auto is_explained = [&](const claim& one) {
        return !one.is_done && std::any_of(claims.begin(), claims.end(), [&](const claim& other) {
            return other.is_done && other.of->key == one.of->key &&
                   other.of->value == one.of->value;
        });
    };
    std::map<std::string, time_point> together;  // for how long all keys of several live
    std::set<std::string> downgraded;  // by a request before: the next ones are a reader's
    for (const claim& one : claims) {
        const auto key = view(find_lock(*one.of, now), *one.of);
        if (key && key->value == one.of->value && !is_explained(one)) {
            check_taken(one, *key, now);
            check_in_time(one, *key, now);
            const time_point until =
                key->expires_ms ? model_->wall.when_us((*key->expires_ms + 1) * 1'000)
                                : time_point::max();
            if (one.is_of_several) {
                time_point& least = together.try_emplace(one.of->value, until).first->second;
                least = one.is_done ? std::min(least, until) : time_point::min();
            } else {
                judge_->covered(one.of->value, node_, until);
            }
        }
        if (!one.of->fence_key.empty()) check_fence(one, now);
        const bool is_ours = key && key->value == one.of->value;
        if (one.is_done && one.of->shares() && is_ours &&
            downgraded.insert(one.of->key + ' ' + one.of->value).second) {
            check_downgrade(one, now);
        }
        const bool was_ours = one.key_before && one.key_before->value == one.of->value;
        if (one.is_granted && one.of->shares() && !was_ours) check_readers(*one.of, now);
    }
    for (const auto& [value, until] : together) judge_->covered(value, node_, until);
}

void node_checker::check_taken(const claim& of, const key_facts& key, time_point now) const {
    judge_->require(!is_late_checked_ || !given_back_.contains(key.value), "litter", [&] {
        return "a late command takes " + of.of->key + " on " + name() +
               " again, after its lease was given back there";
    });
    const bool was_ours = of.key_before && of.key_before->value == of.of->value;
    if (!was_ours) {
        judge_->require(!of.key_before, "ownership", [&] {
            return of.of->value + " overwrites " + of.key_before->value + " on " + name();
        });
        if (of.of->fence_key.empty()) return;
        const auto fence = find(of.of->fence_key, now);
        const long long own = std::stoll(of.of->fence);
        const long long found = fence ? std::stoll(fence->value) : 0;
        // A reader that joins others may find one of theirs that is higher.
        const bool is_raised = fence && (found == own || found == std::max(own, of.raised) ||
                                         (of.of->shares() && found > own));
        judge_->require(is_raised, "fences",
                        [&] { return of.of->key + " is taken on " + name() + " without its fence"; });
        return;
    }
    const auto was_until = of.key_before->expires_ms;
    judge_->require(!was_until || !key.expires_ms || *key.expires_ms >= *was_until, "validity",
                    [&] { return of.of->key + " has less time on " + name() + " than it had"; });
}

// A writer goes on as a reader: those that join have to exceed what the node had seen by then, and
// what was sent to the writer's key takes nothing any more.
void node_checker::check_downgrade(const claim& of, time_point now) const {
    const auto& before = locks_before_.at(of.of->key).key;
    const auto& fence_before = fences_before_.at(of.of->fence_key);
    if (!before || before->value != of.of->value || !fence_before) return;
    const auto& all = model_->database(database_).all();
    const auto at = all.find(of.of->readers);
    const auto* const set =
        at == all.end() ? nullptr : std::get_if<fakes::sorted_set>(&at->second.value);
    const auto base = set == nullptr ? std::nullopt : set->score_of("base");
    const auto fence = find(of.of->fence_key, now);
    judge_->require(base && -*base >= std::stod(fence_before->value), "fences", [&] {
        return of.of->value + " shares " + of.of->key + " on " + name() +
               " with readers whose fences may be below its own";
    });
    judge_->require(fence && std::stoll(fence->value) >= std::stoll(of.of->fence), "fences", [&] {
        return of.of->value + " shares " + of.of->key + " on " + name() +
               " and leaves the fence as it was";
    });
}

// The process is gone, and would not release it.
void node_checker::check_in_time(const claim& of, const key_facts& key, time_point now) const {
    const bool was_ours = of.key_before && of.key_before->value == of.of->value;
    if (!is_late_checked_ || (was_ours && of.key_before->expires_ms == key.expires_ms)) return;
    const auto death = judge_->death_of(of.of->value);
    judge_->require(!death || now <= *death + good_for_, "litter", [&] {
        return "a command of somebody long gone takes " + of.of->key + " on " + name();
    });
}

void node_checker::check_fence(const claim& of, time_point now) const {
    const std::int64_t proposed = std::stoll(of.of->fence);
    const auto fence = find(of.of->fence_key, now);
    const bool is_current = fence && std::stoll(fence->value) >= proposed;
    const bool is_old = proposed <= model_->wall.us(now) - tolerance_us_;
    judge_->require(is_current || (!fence && is_old) || !of.is_granted, "fences", [&] {
        return of.of->key + " is granted on " + name() + " and its fence not raised";
    });
    if (!fence) return;
    if (const auto& before = fences_before_.at(of.of->fence_key)) {
        judge_->require(std::stoll(fence->value) >= std::stoll(before->value), "fences",
                        [&] { return "the fence of " + of.of->key + " falls on " + name(); });
        return;
    }
    // What is older may be below one that the node has seen and forgotten.
    judge_->require(!is_old || fence->value != of.of->fence, "fences",
                    [&] { return of.of->key + " begins with an old fence on " + name(); });
}

}  // namespace redlock::simulation
