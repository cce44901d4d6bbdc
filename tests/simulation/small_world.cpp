// What may happen in a small world, and its happening.
// SPDX-License-Identifier: MIT
#include "simulation/small_world.hpp"

#include "wire/resp/command.hpp"

#include <algorithm>
#include <utility>

namespace redlock::simulation {

using namespace std::chrono_literals;

namespace {

// Of ttl_max 10 s, with what the clocks may differ.
constexpr duration settled = 20s;

}  // namespace

plan passage::terms(const small_world& in) {
    plan out;
    out.seed = in.seed;
    out.length = 1h;
    out.node_timeout = 50ms;
    out.connect_timeout = 100ms;
    out.ttl_max = 10s;
    // Nothing takes time: what the programs take for the nodes' time differs by their drift only.
    out.nodes.resize(nodes);
    // The one's timer rings a moment before the other's.
    for (std::size_t i = 0; i < in.programs; ++i) {
        program_plan& p = out.programs.emplace_back();
        p.drift_ppm = 100 * static_cast<std::int64_t>(i);
        p.workers = 0;
        p.list = in.lists[i].now;
        p.list_after = in.lists[i].after;
    }
    out.changes_lists = in.changes_lists();
    return out;
}

passage::passage(const small_world& in, const plan& terms, story& log)
    : in_(in),
      may_forget_(in.restarts > 0 || in.steps > 0),
      may_be_late_(in.leaps > 0 || in.quarantines > 0),
      log_(&log),
      referee_(terms, when_),
      net_(terms, when_, counts_, servers_),
      health_(terms, when_) {
    for (std::size_t i = 0; i < nodes; ++i) {
        servers_.push_back(std::make_unique<server>(i, terms, when_, log, counts_, referee_));
    }
    const surroundings around{terms, when_, log, counts_, referee_, net_, health_,
                              tokens_};
    const time_point began = when_.now();
    for (std::size_t i = 0; i < in_.programs; ++i) {
        acquire_options how = in_.asks[i];
        how.ttl = in_.ttl;
        how.renew = false;
        programs_.push_back(std::make_unique<program>(i, around));
        actors_.emplace_back(*programs_[i], in_.turns[i] + (prepares_change(i) ? 1 : 0), how);
        if (!in_.is_late[i]) programs_[i]->start();
        when_.run_until(began + 500ms * (i + 1));
    }
    cut_off(false);
    if (in_.changes_lists()) prepare_change();
    take_first();
    net_.hold();
}

// The nodes of the old list have records of it, those of the new one have joined long ago.
void passage::prepare_change() {
    for (const bool is_joint : {false, true}) {
        for (std::size_t i = 0; i < in_.programs; ++i) {
            if (!prepares_change(i) || (in_.lists[i].after != 0) != is_joint) continue;
            actors_[i].ask();
            when_.run_until(when_.now() + 50ms);
            actors_[i].give_back();
            when_.run_until(when_.now() + settled);
        }
    }
}

bool passage::prepares_change(std::size_t p) const {
    return in_.changes_lists() && in_.lists[p].now == in_.lists[0].now;
}

void passage::take_first() {
    for (std::size_t i = 0; i < in_.programs; ++i) {
        if (!in_.holds[i]) continue;
        actors_[i].ask();
        when_.run_until(when_.now() + 50ms);
        referee_.require(actors_[i].at() == actor::stage::holding, "liveness", [&] {
            return programs_[i]->name() + " could not take a lock that nobody holds";
        });
    }
}

// A program gives up the nodes that it cannot reach before anything else happens. At the end it
// reaches them again.
void passage::cut_off(bool is_end) {
    bool is_any = false;
    for (std::uint32_t i = 0; i < in_.programs; ++i) {
        if (in_.unseen[i] == 0) continue;
        is_any = true;
        const fault away{
            .kind = fault_kind::partition, .nodes = in_.unseen[i], .programs = 1U << i};
        if (is_end) {
            net_.unblock(away);
        } else {
            net_.block(away);
            net_.cut(away.programs, away.nodes);
        }
    }
    if (!is_any || is_end) return;
    in_.first_alike = nodes;
    when_.run_until(when_.now() + 500ms);
}

passage::~passage() {
    when_.clear();
    programs_.clear();
}

// Nodes that are alike may be given any name: the search takes them as p0 hears of them. An operator
// goes on when all nodes have answered: of the orders in which it hears them one stands for all.
bool passage::may_pass(const delivery& d) const {
    if (d.what == delivery::kind::to_node) return true;
    if (actors_[d.program].is_committing()) {
        for (std::size_t n = 0; n < d.node; ++n) {
            if (programs_[d.program]->awaits(n)) return false;
        }
    }
    if (d.program != 0) return true;
    for (std::size_t n = in_.first_alike; n < d.node; ++n) {
        if (!has_answered_[n]) return false;
    }
    return true;
}

// Whose acquire is decided does nothing about what it still hears, unless a fault finds it waiting:
// there, one order stands for all.
bool passage::matters(const delivery& d) const {
    if (d.what != delivery::kind::to_program || d.is_end) return true;
    const auto& who = actors_[d.program];
    if (who.at() == actor::stage::asking || who.is_extending() || who.is_committing()) return true;
    if (who.at() == actor::stage::giving_back && who.has_more_to_do()) return true;
    return d.node == 0 && (may_forget_ || (in_.breaks > 0 && d.program == 0));
}

bool passage::may_leap() const {
    if (in_.leaps == 0) return false;
    for (std::size_t p = 0; p < in_.programs; ++p) {
        if (actors_[p].at() == actor::stage::holding) return true;
        for (std::size_t n = 0; n < programs_[p]->list_size(); ++n) {
            if (programs_[p]->awaits(n)) return true;
        }
    }
    return false;
}

// Where the list was changed, not by the old one alone; by the new one alone, if it was.
bool passage::can_acquire(std::size_t p) const {
    if (!in_.changes_lists()) return true;
    const bool has_old_list = in_.lists[p].now == in_.lists[0].now && in_.lists[p].after == 0;
    const bool has_new_list = in_.lists[p].now == in_.lists[0].after;
    const bool is_committed = std::any_of(actors_.begin(), actors_.end(),
                                          [](const actor& a) { return a.has_committed(); });
    return !in_.commits[p] && !has_old_list && (!has_new_list || is_committed);
}

void passage::add_own(actions& out, std::size_t p, bool& must_go_on) const {
    using kind = action::kind;
    const auto at = actors_[p].at();
    // p0 begins; a program that waits does so for the other's first turn.
    const bool must_wait = in_.waits[p] && (p != 0 || !actors_[0].has_more_to_do());
    const std::size_t cause = must_wait ? parted_for_[p == 0 ? 1 : 0] : 0;
    if (at == actor::stage::before && (!must_wait || cause != 0)) {
        out.push_back({.what = in_.commits[p] ? kind::commit : kind::ask, .program = p});
        out.back().of.cause = cause;
    }
    if (at == actor::stage::holding && !in_.keeps[p]) {
        out.push_back({.what = kind::give_back, .program = p});
    }
    must_go_on = must_go_on || !out.empty();
    if (p != 0) return;
    if (at == actor::stage::asking && in_.cancels > 0) out.push_back({.what = kind::cancel});
    if (at == actor::stage::holding && in_.extensions > 0) out.push_back({.what = kind::extend});
    const bool is_in_use = at == actor::stage::holding || programs_[0]->awaits(0);
    if (in_.breaks > 0 && is_in_use && programs_[0]->is_connected(0)) {
        out.push_back({.what = kind::break_off});
    }
}

actions passage::choices() const {
    actions out;
    bool must_go_on = false;
    for (std::size_t p = 0; p < in_.programs; ++p) add_own(out, p, must_go_on);
    for (const delivery& d : net_.held()) {
        if (!may_pass(d)) continue;
        const action next{action::kind::pass, d.program, d.node, d, !matters(d)};
        if (next.is_idle) return {next};
        must_go_on = true;
        out.push_back(next);
        if (d.left_for != 0) out.push_back({action::kind::lose, d.program, d.node, d});
    }
    if (!must_go_on) return {};
    if (in_.restarts > 0) out.push_back({.what = action::kind::restart});
    if (in_.replicas > 0) out.push_back({.what = action::kind::demote});
    if (is_replica_) out.push_back({.what = action::kind::promote});
    if (in_.steps > 0) out.push_back({.what = action::kind::step});
    if (may_leap()) out.push_back({.what = action::kind::leap});
    if (in_.quarantines > 0) out.push_back({.what = action::kind::quarantine});
    return out;
}

// A handshake is one event.
void passage::greet(const delivery& over) {
    delivery d = over;
    net_.pass(d);
    while (!programs_[d.program]->is_connected(d.node)) {
        d.what = delivery::kind::to_node;
        net_.pass(d);
        d.what = delivery::kind::to_program;
        net_.pass(d);
    }
}

void passage::perform(const action& next) {
    using kind = action::kind;
    net_.set_cause(++events_);
    log_->tell(when_.now(), [&] { return "--- " + next.describe(); });
    actor& who = actors_[next.program];
    switch (next.what) {
        case kind::pass:
            if (next.program == 0 && next.of.what != delivery::kind::to_node) {
                has_answered_[next.node] = true;
            }
            next.of.what == delivery::kind::dial ? greet(next.of) : net_.pass(next.of);
            break;
        case kind::lose: net_.lose(next.of); break;
        case kind::ask:
            if (!programs_[next.program]->is_running()) programs_[next.program]->start();
            who.ask();
            break;
        case kind::give_back: who.give_back(); break;
        case kind::cancel:
            --in_.cancels;
            who.cancel();
            break;
        case kind::extend:
            --in_.extensions;
            who.extend();
            break;
        case kind::commit: who.commit(may_be_late_); break;
        case kind::break_off:
            --in_.breaks;
            net_.break_at_once(next.program, next.node);
            break;
        case kind::restart:
            --in_.restarts;
            servers_[next.node]->stop();
            net_.server_died(next.node);
            servers_[next.node]->start(fault_kind::crash_lose);
            break;
        case kind::demote:
            --in_.replicas;
            set_replica(true);
            break;
        case kind::promote: set_replica(false); break;
        case kind::step:
            --in_.steps;
            servers_[next.node]->step_clock(2 * in_.ttl);
            break;
        case kind::leap:
            --in_.leaps;
            when_.run_until((*std::min_element(programs_.begin(), programs_.end(),
                                               [](const auto& a, const auto& b) {
                                                   return a->next_alarm() < b->next_alarm();
                                               }))
                                ->next_alarm());
            break;
        case kind::quarantine:
            --in_.quarantines;
            when_.run_until(when_.now() + settled);
            break;
    }
    for (std::size_t p = 0; p < in_.programs; ++p) {
        if (parted_for_[p] == 0 && actors_[p].has_parted()) parted_for_[p] = events_;
    }
    when_.run_until(when_.now());  // what somebody put off until the end of its turn
    together_ = std::max(together_, referee_.holders());
}

void passage::set_replica(bool is) {
    is_replica_ = is;
    servers_.front()->model().set_replica(is);
}

void passage::finish() {
    log_->tell(when_.now(), [] { return std::string("--- peace"); });
    for (actor& a : actors_) {
        a.rest();
        if (a.at() == actor::stage::holding) a.give_back();
    }
    cut_off(true);
    if (is_replica_) set_replica(false);
    net_.let_go();
    run_until(when_.now() + 4s);
    for (const auto& p : programs_) {
        referee_.require(p->open_operations() == 0, "bounded", [&] {
            return p->name() + " is still at it long after the work has ended";
        });
    }
    check_litter();
    if (verdict()) return;
    if (in_.changes_lists()) run_until(when_.now() + settled);
    for (std::size_t i = 0; i < in_.programs; ++i) {
        if (can_acquire(i)) actors_[i].prove_alive();
    }
    run_until(when_.now() + 3s);
    for (std::size_t i = 0; i < in_.programs; ++i) {
        referee_.require(actors_[i].at() == actor::stage::after, "liveness", [&] {
            return programs_[i]->name() + " waits for a lock that nobody holds";
        });
    }
    check_litter();
    if (verdict()) return;
    for (const auto& p : programs_) {
        if (p->is_running()) p->close();
    }
    run_until(when_.now() + 51ms);
    for (const auto& p : programs_) {
        referee_.require(p->is_over() && p->open_operations() == 0, "once",
                         [&] { return p->name() + " is closed and not over"; });
    }
}

// All have given back what they had.
void passage::check_litter() {
    for (std::size_t i = 0; i < nodes; ++i) {
        const auto& model = servers_[i]->model();
        const auto now_ms = model.wall.ms(when_.now());
        for (const auto& [key, what] : model.database().all()) {
            const bool is_lock = key == resource_name(0) || key.starts_with(resource_name(0) + '#');
            referee_.require(!is_lock || what.is_gone(now_ms), "litter",
                             [&] { return "a key is left on n" + std::to_string(i); });
        }
    }
}

}  // namespace redlock::simulation
