// The rules of validities, losses and litter, applied to histories.
// SPDX-License-Identifier: MIT
#include "times.hpp"

#include <algorithm>

namespace redlock::judge {
namespace {

using namespace std::chrono_literals;

// A program that goes on has to be given the processor before it can hear of anything.
constexpr auto grace = 250ms;

// A node that was frozen may have taken its key late by as long as it was frozen.
bool may_be_alive(clock::time_point until, clock::time_point now) { return now < until + 5s; }

std::string in_ms(clock::duration d) {
    return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(d).count()) + " ms";
}

}  // namespace

void times::take(const std::string& who, const entry& e) {
    began(who);
    program& in = programs_.at(who);
    if (e.what == entry::kind::granted) in.leases[e.section] = {e.valid_until, e.kept_until};
    switch (e.what) {
        case entry::kind::granted:
        case entry::kind::trusted:
        case entry::kind::ended: {
            const auto found = in.leases.find(e.section);
            if (found == in.leases.end()) break;  // it never began, which is no matter of time
            check_trust(found->second, who, e);
            if (e.what == entry::kind::ended) end(in, e);
            break;
        }
        case entry::kind::refused:
            if (e.kept_until > e.at) may_run_out(e.owner, e.kept_until, e.at);
            break;
        case entry::kind::told: check_loss(in, who, e); break;
        case entry::kind::idle:
            in.idle_from = e.asked_at;
            in.idle_until = e.at;
            break;
        case entry::kind::quiet:
        case entry::kind::broken: break;
    }
}

// The last instant of trust may be the validity's end, where the holder gives the lease up.
void times::check_trust(lease& of, const std::string& who, const entry& e) {
    if (e.valid_until < of.valid_until) {
        report_({who + ": a validity has moved back by " + in_ms(of.valid_until - e.valid_until),
                 e.resource, e.at});
    }
    of.valid_until = std::max(of.valid_until, e.valid_until);
    const bool is_end = e.what == entry::kind::ended;
    if (is_end ? e.at <= of.valid_until : e.at < of.valid_until) return;
    report_({who + ": a lease is trusted " + in_ms(e.at - of.valid_until) + " after its validity",
             e.resource, e.at});
}

void times::end(program& in, const entry& e) {
    const lease of = in.leases.at(e.section);
    in.leases.erase(e.section);
    if (e.text == "detached") may_run_out(e.owner, of.valid_until, e.at);
    if (of.kept_until > e.at) may_run_out(e.owner, of.kept_until, e.at);
}

void times::check_loss(const program& in, const std::string& who, const entry& e) {
    const bool could_run = e.valid_until < in.idle_from || e.valid_until > in.idle_until;
    const auto due = could_run ? e.valid_until : in.idle_until + grace;
    if (e.at > due) {
        report_({who + ": the loss of " + e.resource + " was reported " + in_ms(e.at - due) +
                     " too late",
                 e.resource, e.at});
    }
    if (e.text == "trusted") {
        report_({who + ": a loss was reported of " + e.resource + ", which is trusted", e.resource,
                 e.at});
    }
}

void times::may_run_out(const std::string& owner, clock::time_point until, clock::time_point now) {
    std::erase_if(running_out_, [&](const auto& old) { return !may_be_alive(old.second, now); });
    auto& known = running_out_[owner];
    known = std::max(known, until);
}

// A value is an owner, "@" and the program's name, and "#kept" where the key has to stand.
bool times::may_remain(const std::string& value, clock::time_point now) const {
    if (value == shared_by_nobody) return false;
    const auto owner = value.substr(0, value.find('#'));
    const auto name = owner.substr(std::min(owner.find('@'), owner.size() - 1) + 1);
    if (!programs_.contains(name)) return true;
    const auto found = running_out_.find(owner);
    return found != running_out_.end() && may_be_alive(found->second, now);
}

}  // namespace redlock::judge
