// The process of a simulated node.
// SPDX-License-Identifier: MIT
#include "simulation/server.hpp"

#include "core/lease.hpp"
#include "simulation/holders.hpp"
#include "support/record_words.hpp"
#include "wire/request.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace redlock::simulation {

namespace {

// The command's name and its keys, for a reader; scripts by what they return.
std::string brief(const fakes::command& c) {
    std::string out = c.front();
    if (const auto asked = testing::requests_of(c)) {
        static constexpr std::array names{" acquire ", " extend ", " release "};
        for (const auto& one : asked->all) {
            out += names[static_cast<std::size_t>(one.what)] + one.key;
        }
    } else if ((out == "EVALSHA" || out == "EVAL") && c.size() > 3) {
        out += ' ' + (c[1].size() == 40 ? c[1].substr(0, 6) : std::string("whole")) + ' ' + c[3];
    } else if (c.size() > 1 && c[1].size() < 40) {
        out += ' ' + c[1];
    }
    return out;
}

std::string brief(const fakes::model_reply& r) {
    using kind = fakes::model_reply::kind;
    switch (r.type) {
        case kind::nil: return "nil";
        case kind::integer: return std::to_string(r.number);
        case kind::array: {
            std::string out = "[";
            for (std::size_t i = 0; i < r.items.size() && i < 6; ++i) {
                out += (i == 0 ? "" : ", ") + brief(r.items[i]);
            }
            return out + "]";
        }
        default: return r.text.substr(0, r.text.find_first_of("\r\n")).substr(0, 60);
    }
}

// Whether a client took the node's vote by this command: it wrote what it saw of the clock, and that the
// node remembers from then on alone.
bool is_strike(const fakes::command& c, const fakes::model_reply& said) {
    if (c.size() < 6 || c[3] != "redlock:node" || said.items.size() != 2) return false;
    const testing::record_words wanted(c[5]);
    const testing::record_words found(said.items[1].text);
    return wanted["since"] == "@now+0" && wanted["seen"] == "@now+0" &&
           found["epoch"] == wanted["epoch"];
}

}  // namespace

server::server(std::size_t index, const plan& in, schedule& when, story& log, counters& counts,
               lease_checker& judge)
    : index_(index),
      when_(&when),
      story_(&log),
      counts_(&counts),
      most_busy_(8 * duration(in.longest_node_timeout())),
      dice_(in.seed, stream::server, index),
      model_(in.seed * 64 + index),
      checker_(index, in, model_, judge) {
    const node_plan& n = in.nodes[index];
    is_durable_ = n.is_durable;
    model_.set_durable(n.is_durable);
    model_.wall.set_offset(n.clock_offset);
    slew(n.drift_ppm, core::fence_tolerance(in.ttl_max) / 8);
}

// As a time service does: the clock is off by `most`, now this way, now that.
void server::slew(std::int64_t ppm, duration most) {
    model_.wall.set_drift_ppm(ppm, when_->now());
    if (ppm == 0) return;
    when_->after(most / std::abs(ppm) * 1'000'000, [this, ppm, most] { slew(-ppm, most); });
}

bool server::accept(const socket_ptr& from) {
    from->process_ = process_;
    from->client_.push = [this, to = std::weak_ptr(from)](std::string message) {
        pushed_.emplace_back(to, std::move(message));
    };
    from->client_.hang_up = [to = std::weak_ptr(from)] {
        const auto s = to.lock();
        if (!s) return;
        s->process_ = 0;  // no process has that number
        s->end_();
    };
    return is_up_;
}

void server::receive(const socket_ptr& at, std::string_view bytes, const std::string& sender) {
    if (!serves(*at)) return;
    if (at->unread_.empty()) ready_.emplace_back(at, sender);
    at->unread_ += bytes;
    drain();
}

// The order between sockets is the kernel's; only that within one is kept.
void server::drain() {
    while (!ready_.empty() && is_up_ && !is_frozen()) {
        if (busy_until_ > when_->now()) return;  // called again when that is over
        const std::size_t i = ready_.size() > 1 ? dice_.below(ready_.size()) : 0;
        std::swap(ready_[i], ready_.front());
        read(ready_.front().first);
        ready_.pop_front();
    }
}

void server::read(const socket_ptr& at) {
    std::string_view bytes = at->unread_;
    resp::reply r;
    std::string out;
    std::int64_t commands = 0;
    while (at->parser_.feed(bytes, r) == resp::parser::outcome::complete) {
        fakes::command c;
        c.reserve(r.size());
        for (std::size_t i = 0; i < r.size(); ++i) c.emplace_back(r[i].text());
        checker_.before(c, at->client_, when_->now());
        const auto said = model_.execute(at->client_, c, when_->now());
        checker_.after(said, when_->now());
        const bool lists = c.size() > 1 && c[0] == "CLIENT" && c[1] == "LIST";
        if (lists) at->silent_until_ = when_->now() + list_takes_;
        if (on_strike_ && is_strike(c, said)) on_strike_();
        ++commands;
        counts_->noscripts += said.text.starts_with("NOSCRIPT") ? 1 : 0;
        story_->tell(when_->now(), [&] {
            return "n" + std::to_string(index_) + "  for " + ready_.front().second + ": " +
                   brief(c) + " -> " + brief(said);
        });
        append_resp2(out, said);
    }
    counts_->commands += static_cast<std::uint64_t>(commands);
    at->unread_.clear();
    answer(commands, [this, at, out = std::move(out), pushed = std::exchange(pushed_, {})]() mutable {
        if (at->silent_until_ > when_->now()) {
            when_->at(at->silent_until_, [at, out = std::move(out)] { at->reply_(out); });
        } else if (!out.empty()) {
            at->reply_(std::move(out));
        }
        for (const auto& [to, message] : pushed) {
            if (const auto s = to.lock()) s->reply_(message);
        }
    });
}

// A server that is slow says all of it once it is through.
void server::answer(std::int64_t commands, std::function<void()> what) {
    if (per_command_ == duration::zero()) return what();
    busy_until_ = when_->now() + std::min(commands * per_command_, most_busy_);
    when_->at(busy_until_, [this, what = std::move(what), process = process_] {
        if (process == process_ && is_up_) what();
        drain();
    });
}

fakes::model_reply server::execute(const fakes::command& c) {
    ++counts_->commands;
    return model_.execute(anonymous_, c, when_->now());
}

void server::stop() {
    is_up_ = false;
    ready_.clear();
    busy_until_ = {};
    ++counts_->crashes;
}

void server::start(fault_kind how) {
    using data = fakes::redis_model::data;
    ++process_;
    is_up_ = true;
    // One that writes everything down has nothing older to go back to.
    if (how == fault_kind::crash_rewind && is_durable_) how = fault_kind::crash_keep;
    if (how != fault_kind::crash_keep) {
        ++counts_->empty_restarts;
        checker_.forget();  // earlier keys may be back
        ++losses_;
    }
    model_.crash(how == fault_kind::crash_keep   ? data::kept
                 : how == fault_kind::crash_lose ? data::lost
                                                 : data::saved);
    if (how == fault_kind::crash_rewind) note_brought_back();
}

void server::swap_files() {
    stop();
    is_durable_ = !is_durable_;
    model_.set_durable(is_durable_);
    ++process_;
    is_up_ = true;
    ++counts_->empty_restarts;
    ++losses_;
    checker_.forget();
    model_.crash(fakes::redis_model::data::others);
    note_brought_back();
}

void server::write_fence(std::size_t resource, bool deletes) {
    const std::string key = wire::fence_key("", resource_name(resource));
    const auto ahead_us = model_.wall.us(when_->now() + std::chrono::hours(1));
    deletes ? execute({"DEL", key}) : execute({"SET", key, std::to_string(ahead_us)});
}

void server::set_copy(bool is) {
    model_.set_replica(is);
    if (!is) return;
    checker_.forget();
    ++losses_;
    model_.load_saved();
    note_brought_back();
}

void server::note_brought_back() {
    for (const auto& [key, what] : model_.database().all()) {
        if (what.text() != nullptr) brought_back_.insert(*what.text());
        for (const auto& [value, until_ms] : readers_in(model_.database(), key, 0)) {
            brought_back_.insert(value);
        }
    }
}

void server::lose_data() {
    ++losses_;
    checker_.forget_notes();
    model_.flush();
}

void server::lose_locks(bool and_fences) {
    ++losses_;
    const fakes::keyspace before = model_.database();
    for (const auto& [key, what] : before.all()) {
        const bool is_kept = key == "redlock:node" || (key.ends_with(":fence") && !and_fences);
        if (what.text() != nullptr && !is_kept) execute({"DEL", key});
    }
}

bool server::shows(const std::string& key, const std::string& value) const {
    const auto now_ms = model_.wall.ms(when_->now());
    return is_up_ && !is_frozen() && holders_of(model_.database(), key, now_ms).contains(value);
}

void server::step_clock(duration by) {
    ++losses_;
    model_.step_clock(by, when_->now());
}

void server::freeze() { ++freezes_; }

void server::thaw() {
    if (--freezes_ == 0) drain();
}

}  // namespace redlock::simulation
