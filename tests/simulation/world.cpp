// A simulated world.
// SPDX-License-Identifier: MIT
#include "simulation/world.hpp"

#include "simulation/holders.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::simulation {

namespace {

using namespace std::chrono_literals;

bool ends_by_itself(fault_kind k) noexcept {
    switch (k) {
        case fault_kind::flush:
        case fault_kind::flush_scripts:
        case fault_kind::step_clock:
        case fault_kind::cut:
        case fault_kind::deafen:
        case fault_kind::declare:
        case fault_kind::evict:
        case fault_kind::erase:
        case fault_kind::half_open:
        case fault_kind::swap_files: return false;
        default: return true;
    }
}

// What stays for longer than anybody uses it.
bool is_memory(std::string_view key) {
    return key == "redlock:node" || key.ends_with("}:fence") || key.ends_with("}:slots");
}

// Goes by itself where somebody has died.
bool is_companion(std::string_view key) {
    return key.ends_with("}:queue") || key.ends_with("}:readers");
}

}  // namespace

world::world(const plan& in, story& log)
    : plan_(&in),
      story_(&log),
      referee_(in, when_),
      net_(in, when_, counts_, servers_),
      health_(in, when_) {
    for (std::size_t i = 0; i < in.nodes.size(); ++i) {
        servers_.push_back(std::make_unique<server>(i, in, when_, log, counts_, referee_));
        servers_.back()->on_strike([this, i] { health_.strike(i); });
    }
    const surroundings around{in, when_, log, counts_, referee_, net_, health_,
                              tokens_};
    for (std::size_t i = 0; i < in.programs.size(); ++i) {
        programs_.push_back(std::make_unique<program>(i, around));
    }
    for (std::size_t i = 0; i < in.foreigners.size(); ++i) {
        foreigners_.push_back(std::make_unique<foreigner>(i, around));
    }
    if (in.longest_vacancy) vacancies_.emplace(in, programs_);
}

world::~world() {
    when_.clear();
    programs_.clear();
}

// As long as the candidates campaign.
void world::watch_office() {
    constexpr auto between_looks = 10ms;
    vacancies_->look(programs_.front()->around());
    if (when_.now() + between_looks >= plan_->ends()) return;
    when_.after(between_looks, [this] { watch_office(); });
}

// A little before the winner gives the lock back. Once in a while nobody gets it.
void world::watch_bursts() {
    const bool is_won = referee_.is_held();
    const bool is_open = when_.now() > beginning + plan_->aftermath(fault_kind::cut) + 1s;
    referee_.require(is_won || was_won_ || !is_open, "a winner", [] {
        return std::string("nobody got the lock in two bursts, one after the other");
    });
    was_won_ = is_won || !is_open;
    if (when_.now() + plan_->between_bursts < plan_->ends()) {
        when_.after(plan_->between_bursts, [this] { watch_bursts(); });
    }
}

void world::run_until(time_point limit) {
    constexpr std::uint64_t most_in_a_second = 40'000;  // 800 seeds had at most 17,136
    while (!referee_.verdict() && when_.turn(limit)) {
        referee_.require(when_.turns_lately() < most_in_a_second, "bounded",
                         [&] { return std::string("something goes round without end"); });
    }
    if (!referee_.verdict()) when_.run_until(limit);
}

outcome world::run() {
    for (std::size_t i = 0; i < programs_.size(); ++i) {
        when_.after(plan_->programs[i].begins, [this, i] { start(i); });
    }
    for (std::size_t i = 0; i < programs_.size(); ++i) {
        const duration ends = plan_->programs[i].ends;
        if (ends > duration(0)) when_.after(ends, [this, i] { programs_[i]->kill(); });
    }
    for (const auto& f : foreigners_) f->start();
    if (vacancies_) watch_office();
    if (plan_->has_bursts()) {
        when_.after(plan_->between_bursts * 2 / 5, [this] { watch_bursts(); });
    }
    for (const fault& f : plan_->faults) {
        when_.after(f.at, [this, &f] { begin(f); });
        if (f.kind != fault_kind::crash_rewind && f.kind != fault_kind::copy) continue;
        each_server(f, [&](server& s, std::size_t) {  // back to half-way
            when_.after(f.at - std::min<duration>(f.at, f.lasts), [&s] { s.save(); });
        });
    }
    run_until(plan_->ends());
    make_peace();
    outcome result{referee_.verdict(), {}, when_.now() - beginning};
    for (const auto& p : programs_) p->kill();
    result.counts = counts_;
    return result;
}

// All is well again, and stays so: nothing is left, everybody is through, and gets what is free.
void world::make_peace() {
    constexpr std::size_t most_probes = 2 * max_nodes;  // of time and of the record
    if (referee_.verdict()) return;
    heal();
    run_until(when_.now() + plan_->quiet());
    check_litter("after peace", false);
    // Until the last quarantine and the last lease are over, and nobody is listened to any more.
    run_until(when_.now() + 3 * duration(plan_->ttl_max) + 40s);
    check_litter("after every ttl", true);
    for (const auto& p : programs_) {
        referee_.require(p->is_done() && p->open_operations() == 0, "bounded", [&] {
            return p->name() + " is still at it long after the work has ended";
        });
        referee_.require(p->backlog() <= most_probes, "bounded", [&] {
            return p->name() + " has " + std::to_string(p->backlog()) + " commands left";
        });
    }
    if (referee_.verdict()) return;
    if (plan_->within == bounds::safe) prove_alive();
    if (referee_.verdict()) return;
    for (const auto& p : programs_) p->close();
    run_until(when_.now() + 5 * plan_->longest_node_timeout() + 1ms);
    for (const auto& p : programs_) {
        referee_.require(p->is_over() && p->open_operations() == 0, "once",
                         [&] { return p->name() + " is closed and not over"; });
    }
    run_until(when_.now() + 1s);
    check_litter("after the end", true);
}

// Everybody gets everything, and hears when it is free: where it takes longer than that, somebody
// slept until a timer woke it. Then one of them dies in the middle of it. At last all is held by
// somebody foreign, of whose end they hear nothing.
void world::prove_alive() {
    constexpr auto ttl = 2s;  // of a lease, and of an entry in a queue
    constexpr auto refresh = 750ms;
    constexpr auto lent = 100ms;         // to somebody foreign
    constexpr auto longest_look = 50ms;  // between two of them, of waiters
    chance dice(plan_->seed, stream::peace);
    const duration in_time = plan_->in_turn();
    const bool is_telling = in_time < refresh - 100ms;
    for (const bool is_deadly : {false, true}) {
        if (is_deadly && programs_.size() < 2) break;
        for (const auto& p : programs_) {
            if (p->is_displaced()) continue;
            p->prove_alive(30s, !is_telling ? 30s : is_deadly ? in_time + refresh + ttl : in_time);
        }
        if (is_deadly) {
            run_until(when_.now() + dice.between_orders(10us, in_time));
            programs_[dice.below(programs_.size())]->kill();
        }
        run_until(when_.now() + 40s);
        for (const auto& p : programs_) {
            referee_.require(p->is_done(), "liveness",
                             [&] { return p->name() + " waits for a lock that nobody holds"; });
        }
        if (referee_.verdict()) return;
    }
    if (in_time < refresh - 100ms - lent - longest_look) {
        lend_to_foreigner(lent);
        for (const auto& p : programs_) {
            if (!p->is_displaced()) p->prove_alive(30s, lent + longest_look + in_time);
        }
        run_until(when_.now() + 40s);
    }
}

// Somebody with another library has everything, and gives it back early and without a word.
void world::lend_to_foreigner(duration how_long) {
    for (const auto& s : servers_) {
        for (std::size_t r = 0; r < plan_->resources; ++r) {
            s->execute({"SET", resource_name(r), "a foreigner", "NX", "PX", "20000"});
        }
    }
    when_.after(how_long, [this] {
        for (const auto& s : servers_) {
            for (std::size_t r = 0; r < plan_->resources; ++r) {
                s->execute({"DEL", resource_name(r)});
            }
        }
    });
}

void world::start(std::size_t i) {
    // One that is brief comes when it has something to do.
    const program_plan& terms = plan_->programs[i];
    const bool has_ended = terms.ends > duration(0) && when_.now() >= beginning + terms.ends;
    if (programs_[i]->is_running() || terms.is_brief() || has_ended) return;
    health_.begin(i);
    programs_[i]->start();
}

template <class F>
void world::each_server(const fault& f, F&& what) {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        if ((f.nodes >> i & 1U) != 0) what(*servers_[i], i);
    }
}

template <class F>
void world::each_program(const fault& f, F&& what) {
    for (std::size_t i = 0; i < programs_.size(); ++i) {
        if ((f.programs >> i & 1U) != 0) what(*programs_[i], i);
    }
}

void world::begin(const fault& f) {
    // What is on already can't begin.
    for (const fault* g : going_on_) {
        const bool same = g->kind == f.kind || (g->kind <= fault_kind::crash_rewind &&
                                                f.kind <= fault_kind::crash_rewind);
        const bool touches = is_of_program(f.kind) ? (g->programs & f.programs) != 0
                                                         : (g->nodes & f.nodes) != 0;
        if (same && touches && f.kind != fault_kind::partition) return;
    }
    ++counts_.faults;
    story_->tell(when_.now(), [&] { return std::string("--- ") + name_of(f.kind); });
    befall(f, false);
    health_.begin(f);
    if (!ends_by_itself(f.kind)) return health_.end(f);
    going_on_.push_back(&f);
    when_.after(f.lasts, [this, &f] { end(f); });
}

void world::end(const fault& f) {
    const auto at = std::find(going_on_.begin(), going_on_.end(), &f);
    if (at == going_on_.end()) return;
    going_on_.erase(at);
    story_->tell(when_.now(), [&] { return std::string("--- the end of ") + name_of(f.kind); });
    befall(f, true);
    health_.end(f);
}

void world::befall(const fault& f, bool is_end) {
    switch (f.kind) {
        case fault_kind::crash_keep:
        case fault_kind::crash_lose:
        case fault_kind::crash_rewind:
            each_server(f, [&](server& s, std::size_t i) {
                if (is_end) return s.start(f.kind);
                s.stop();
                net_.server_died(i);
            });
            break;
        case fault_kind::freeze:
        case fault_kind::hitch:
            each_server(f, [&](server& s, std::size_t) { is_end ? s.thaw() : s.freeze(); });
            break;
        case fault_kind::slow:
            each_server(
                f, [&](server& s, std::size_t) { s.slow_down(is_end ? duration(0) : f.amount); });
            break;
        case fault_kind::flush:
            each_server(f, [&](server& s, std::size_t) { s.lose_data(); });
            break;
        case fault_kind::flush_scripts:
            each_server(f, [&](server& s, std::size_t) { s.model().flush_scripts(); });
            break;
        case fault_kind::out_of_memory:
            each_server(f, [&](server& s, std::size_t) { s.model().set_out_of_memory(!is_end); });
            break;
        case fault_kind::loading:
            each_server(f, [&](server& s, std::size_t) { s.model().set_loading(!is_end); });
            break;
        case fault_kind::read_only:
            each_server(f, [&](server& s, std::size_t) { s.model().set_replica(!is_end); });
            break;
        case fault_kind::step_clock:
            ++counts_.clock_jumps;
            each_server(f, [&](server& s, std::size_t) { s.step_clock(f.amount); });
            break;
        case fault_kind::partition:
            ++counts_.partitions;
            is_end ? net_.unblock(f) : net_.block(f);
            break;
        case fault_kind::lag: net_.set_lag(f.nodes, is_end ? duration(0) : f.amount); break;
        case fault_kind::cut: net_.cut(f.programs, f.nodes); break;
        case fault_kind::half_open: net_.fall_silent(f.programs, f.nodes); break;
        case fault_kind::deafen: net_.deafen(f.programs, f.nodes); break;
        case fault_kind::pause:
        case fault_kind::nap:
            counts_.client_pauses += is_end ? 0 : 1;
            each_program(f, [&](program& p, std::size_t) { is_end ? p.resume() : p.pause(); });
            break;
        case fault_kind::suspend:
            counts_.client_pauses += is_end ? 0 : 1;
            each_program(f, [&](program& p, std::size_t) { is_end ? p.wake() : p.suspend(); });
            break;
        case fault_kind::copy:
            each_server(f, [&](server& s, std::size_t) { s.set_copy(!is_end); });
            if (is_end && f.cuts) net_.cut(~std::uint32_t{0}, f.nodes);
            break;
        case fault_kind::stall:
            counts_.client_pauses += is_end ? 0 : 1;
            each_program(f, [&](program& p, std::size_t) { is_end ? p.go_on() : p.stall(); });
            break;
        case fault_kind::kill:
            counts_.client_deaths += is_end ? 0 : 1;
            each_program(f, [&](program& p, std::size_t i) { is_end ? start(i) : p.kill(); });
            break;
        case fault_kind::declare:
            each_program(f, [&](program& p, std::size_t i) {
                plan_->programs[i].is_brief() ? p.start() : p.declare();
            });
            break;
        case fault_kind::evict:
        case fault_kind::erase: lose_locks(f); break;
        case fault_kind::slow_list:
            each_server(
                f, [&](server& s, std::size_t) { s.slow_list(is_end ? duration(0) : f.amount); });
            break;
        case fault_kind::swap_files:
            each_server(f, [&](server& s, std::size_t i) {
                if (!s.is_up()) return;
                s.swap_files();
                net_.server_died(i);
            });
            break;
        case fault_kind::write_fence:
            each_server(f, [&](server& s, std::size_t) {
                for (std::size_t r = 0; r < plan_->resources; ++r) s.write_fence(r, is_end);
            });
            break;
        case fault_kind::visit:
            each_program(f, [&](program& p, std::size_t) {
                is_end ? p.kill() : p.is_running() ? void() : p.start();
            });
            break;
        case fault_kind::close:
            each_program(f, [&](program& p, std::size_t i) {
                if (!is_end) return p.close();
                if (!p.is_closed()) return;
                p.kill();
                start(i);
            });
            break;
    }
}

void world::lose_locks(const fault& f) {
    each_server(f, [&](server& s, std::size_t) { s.lose_locks(f.kind == fault_kind::erase); });
    referee_.keys_deleted([this](const std::string& key, const std::string& value) {
        std::uint32_t out = 0;
        for (std::size_t i = 0; i < servers_.size(); ++i) {
            out |= servers_[i]->shows(key, value) ? 0 : 1U << i;
        }
        return out;
    });
}

// All faults end, and nobody begins anything new.
void world::heal() {
    story_->tell(when_.now(), [] { return std::string("--- peace"); });
    for (const fault* f : std::vector<const fault*>(going_on_)) end(*f);
    net_.calm();
    for (std::size_t i = 0; i < programs_.size(); ++i) {
        programs_[i]->rest();
        if (programs_[i]->is_closed() || plan_->programs[i].is_brief()) programs_[i]->kill();
        start(i);
    }
    for (const auto& f : foreigners_) f->rest();
}

void world::check_litter(const char* when, bool may_be_dead) {
    // Where clocks go back keys live for as much longer.
    const bool may_live_on =
        plan_->within == bounds::wild &&
        std::any_of(plan_->faults.begin(), plan_->faults.end(),
                    [](const fault& f) { return f.kind == fault_kind::step_clock; });
    if (may_be_dead && may_live_on) return;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
        const auto& model = servers_[i]->model();
        const auto now_ms = model.wall.ms(when_.now());
        for (const auto& [key, what] : model.database().all()) {
            if (is_memory(key) || what.is_gone(now_ms)) continue;
            const bool may_stay = !may_be_dead && is_companion(key);
            if (!may_stay) check_left(*servers_[i], i, key, when, may_be_dead, now_ms);
        }
    }
}

// A live program that has no use for it left it there; or else it is too old.
void world::check_left(server& on, std::size_t node, const std::string& key, const char* when,
                       bool may_be_dead, std::int64_t now_ms) {
    const auto holders = holders_of(on.model().database(), key, now_ms);
    // What a call took runs out by itself.
    const bool runs_out = key.starts_with(limited_resource);
    const auto is_unwanted = [&](const std::string& value) {
        return !runs_out && !on.has_brought_back(value) &&
               std::any_of(programs_.begin(), programs_.end(),
                           [&](const auto& p) { return p->is_running() && p->has_left(value); });
    };
    const auto left = std::find_if(holders.begin(), holders.end(), is_unwanted);
    referee_.require(!may_be_dead && left == holders.end(), "litter", [&] {
        return std::string(when) + " " + key + " = " + (left == holders.end() ? "?" : *left) +
               " is left on n" + std::to_string(node);
    });
}

}  // namespace redlock::simulation
