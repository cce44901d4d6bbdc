// The stories of an acquire in `traces`: what it does at each fact, from its call to its verdict.
// SPDX-License-Identifier: MIT
#include "core/acquire.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/project.hpp"
#include "tests/support/trace.hpp"

#include <array>
#include <map>
#include <string>

using namespace redlock;
using namespace std::chrono_literals;
using core::acquisition;
using testing::trace_command;
using testing::trace_text;

namespace {

constexpr time_point start = time_point(72h);

/// Drives one machine by the lines of a story.
class acquire_story {
public:
    std::string answer(const trace_command& c) {
        const std::string& w = c.word();
        if (w == "at") return now_ = start + testing::trace_time(c.at(0)), "";
        if (w == "acquire") return begin(c);
        if (w == "settled") return a_.settled(now_, testing::trace_time(c.at(0))), due();
        if (w == "admitted") return text(a_.admitted(false));
        if (w == "behind") return a_.joined(false), due();
        if (w == "turn") return text(a_.turn());
        if (w == "try") return begin_try(c);
        if (w == "round") return round(c);
        if (w == "sent") return a_.sent(node_mask::first(c.number_at(0)), 0, false), "";
        if (w == "given_back") return a_.give_back(true), "";
        if (w == "ticket") return a_.draw_ticket(static_cast<std::int64_t>(c.number_at(0))), "";
        if (w == "node") return cast(c);
        if (w == "refused") return refused(c);
        if (w == "woken") return woken(c);
        if (w == "learns") {
            return text(a_.answered(c.number_at(0), seen(c, c.text("vote", "yes") == "yes"), now_));
        }
        if (w == "due") return text(a_.due(now_, c.time("late"), true));
        if (w == "stood_still") return a_.shorten(testing::trace_time(c.at(0))), "";
        throw std::invalid_argument("no command: " + w);
    }

private:
    std::string begin(const trace_command& c) {
        options_.nodes.resize(c.number("nodes", 3));
        options_.fencing = c.text("fencing", "yes") == "yes";
        acquire_options how;
        how.ttl = c.time("ttl", 10s);
        how.wait = c.time("wait");
        how.min_hold = c.time("min_hold");
        how.loss_margin = c.time("margin");
        how.slots = static_cast<std::uint16_t>(c.number("slots"));
        a_.begin(options_, node_lists(options_.nodes.size()), how, c.number("keys", 1), now_);
        return "";
    }

    std::string begin_try(const trace_command& c) {
        a_.begin_try(c.time("longest", 60s), 0, now_);
        const slot_number slot = a_.draw_slot({}, [] { return std::uint64_t(0); });
        const std::string which = slot.of > 0 ? "slot " + std::to_string(slot.number) + ", " : "";
        return which + round(c);
    }

    std::string round(const trace_command& c) {
        const auto number = a_.begin_round(c.time("later"), now_);
        return "round " + std::to_string(number) +
               (a_.may_be_entered() ? ", to be entered at " + std::to_string(a_.ticket()) : "");
    }

    core::outlook seen(const trace_command& c, bool has_vote) const {
        core::outlook what{.has_vote = has_vote};
        what.free_at = c.has("until") ? start + c.time("until") : time_point();
        what.first_at = c.has("first") ? start + c.time("first") : time_point();
        what.holder = c.number("holder");
        what.is_foreign = c.text("foreign") == "yes";
        what.blocked = c.number("blocked");
        return what;
    }

    // `free`: of slots, as "1010", the first being slot 0.
    std::string cast(const trace_command& c) {
        static const std::map<std::string, vote> votes{
            {"granted", vote::granted},         {"held", vote::held},
            {"queued", vote::queued},           {"stale", vote::stale},
            {"quarantine", vote::quarantine},   {"refused", vote::refused},
            {"timed_out", vote::timed_out},     {"unreachable", vote::unreachable}};
        if (c.has("fence")) a_.saw(c.number("fence"));
        const std::string free = c.text("free");
        std::array<char, 8> map{};
        for (std::size_t i = 0; i < free.size(); ++i) {
            if (free[i] == '1') map[i / 8] = static_cast<char>(map[i / 8] | 1 << (i % 8));
        }
        const core::slots_seen slots{{map.data(), (free.size() + 7) / 8},
                                     static_cast<std::uint16_t>(free.size())};
        const vote v = votes.at(c.at(1));
        const core::outlook what = seen(c, core::weigh(v) != core::choice::unable);
        return text(a_.cast(c.number_at(0), v, what, slots, now_));
    }

    std::string refused(const trace_command& c) {
        std::optional<acquisition::prospects> further;
        if (a_.may_try_later(a_.reason(), now_)) {
            further = {c.number("random"), c.number("resting"), c.time("round_trip", 1ms)};
        }
        return text(a_.refused(a_.reason(), now_, further));
    }

    std::string woken(const trace_command& c) {
        std::optional<std::uint16_t> slot;
        if (c.has("slot")) slot = static_cast<std::uint16_t>(c.number("slot"));
        return text(a_.woken(c.number_at(0), c.number("key"), slot, now_));
    }

    std::string due() const { return "due at " + trace_text(a_.due_at() - start); }

    std::string text(const acquisition::actions& all) const {
        std::string out;
        for (const auto one : all) out += (out.empty() ? "" : ", ") + text(one);
        return out;
    }

    std::string text(acquisition::action one) const {
        using enum acquisition::action;
        switch (one) {
            case begin_try: return "begin a try";
            case second_round: return "second round above " + std::to_string(a_.seen_fence());
            case release: return "release";
            case leave: return "release and leave the queues";
            case apply: return "apply for admission";
            case join: return "join the queue";
            case ask_for_turn: return "ask for a turn";
            case end_turn: return "end the turn";
            case rest: return "rest";
            case rest_in_turn: return "rest in turn";
            case arm: return due();
            case await_wake_up: return "await a wake-up";
            case draw_ticket: return "draw a ticket";
            case judge: return "try refused: " + a_.reason().message();
            case recall_votes: return "recall the votes of the last try";
            case grant:
                return "granted until " + trace_text(a_.lease(now_).valid_until() - start);
            case refuse: return "refused: " + a_.reason().message();
            case stand_aside: return "refused behind others";
            case turn_away: return "refused for backlog";
        }
        return "";
    }

    client_options options_;
    acquisition a_;
    time_point now_ = start;
};

}  // namespace

TEST_CASE("an acquire does what its stories say") {
    const auto folder = testing::project_folder() / "tests/unit/core/traces";
    const auto stories = testing::traces_of(folder);
    CHECK(stories.size() >= 8);
    for (const auto& file : stories) {
        INFO(file.filename().string());
        const std::string written = testing::read_trace(file);
        acquire_story story;
        CHECK(testing::run_trace(file, [&](const trace_command& c) { return story.answer(c); }) ==
              written);
    }
}
