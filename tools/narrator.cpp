// What `redlock run` writes about its progress.
// SPDX-License-Identifier: MIT
#include "tools/narrator.hpp"

#include "tools/formats.hpp"
#include "tools/inspect.hpp"
#include "tools/report.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <utility>

namespace redlock::tool {

using namespace std::chrono_literals;

namespace {

std::chrono::milliseconds ms(clock::duration span) {
    return std::chrono::floor<std::chrono::milliseconds>(span);
}

std::string whole_seconds(std::chrono::milliseconds span) {
    return std::to_string(std::chrono::floor<std::chrono::seconds>(span).count()) + " s";
}

json_value begin(std::string_view what, const std::vector<std::string>& resources) {
    json_value out = {{"kind", what}, {"severity", "info"}};
    if (resources.size() == 1) {
        out["resource"] = resources.front();
    } else {
        out["resources"] = resources;
    }
    return out;
}

// Nothing where the terminal takes nothing, as after ^S: redlock must not wait for that.
void put(std::string_view text) {
    pollfd screen{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&screen, 1, 0) <= 0) return;
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

narrator::narrator(const run_request& request)
    : request_(request), draws_(!request.json && !request.quiet && ::isatty(STDERR_FILENO) == 1) {}

std::chrono::milliseconds narrator::since_start() const { return ms(clock::now() - began_); }

std::chrono::seconds narrator::pause() const {
    return draws_ || since_start() < 1s || !tells_of_contention() ? 1s : 10s;
}

std::string narrator::wait_so_far() const {
    return "waiting for " + quoted(request_.resources) + " for " + whole_seconds(since_start());
}

void narrator::without_quorum(const resource_state& state, const std::string& down) {
    std::string causes;
    for (const node_state& node : state.nodes) {
        const auto why = problem_of(node);
        if (!why.empty()) causes.append("; ").append(node.node.str()).append(": ").append(why);
    }
    if (causes.empty()) causes = down;
    warn("no quorum of nodes may vote" + (causes.empty() ? "" : ": " + causes.substr(2)) +
             (draws_ || request_.json ? "" : "; redlock doctor has remedies"),
         false);
}

void narrator::warn(const std::string& line, bool has_quorum) {
    constexpr auto between = 1min;
    if (draws_) return draw(wait_so_far() + ", " + line);
    if (last_warning_ && clock::now() < *last_warning_ + between) return;
    last_warning_ = clock::now();
    if (!request_.json) return complain(wait_so_far() + ": " + line);
    json_value out = begin("waiting", request_.resources);
    out["severity"] = "warning";
    out["ms"] = since_start().count();
    out["quorum"] = has_quorum;
    out["detail"] = line;
    tell(out);
}

void narrator::waiting(const resource_state& state) {
    if (request_.json) return tell_of_wait(state);
    std::string line = wait_so_far();
    if ((state.held || state.kept) && request_.lease.slots == 0) {
        if (request_.resources.size() > 1) line += ", '" + state.resource + "'";
        line += (request_.resources.size() > 1 ? " " : ", ") +
                (state.kept ? kept_until(state) : holders(state)) +
                (state.valid_for.count() < 0 ? " without expiry" : "");
        if (state.held_for) line += " for " + whole_seconds(*state.held_for);
    }
    if (request_.lease.slots > 0 && !state.slots.empty()) line += ", " + slots_held(state);
    if (state.place) {
        line += ", " + std::to_string(*state.place) + " of " + std::to_string(state.waiting) +
                " in line";
    }
    draws_ ? draw(line) : complain(line);
}

void narrator::draw(const std::string& line) {
    struct winsize size {};
    const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    const fitting drawn = fit(redacted("redlock: " + line), is_known ? size.ws_col - 1U : 79U);
    const std::size_t leftover = width_ > drawn.width ? width_ - drawn.width : 0;
    width_ = drawn.width;
    put('\r' + drawn.text + std::string(leftover, ' '));
}

void narrator::waited() {
    if (width_ != 0) put('\r' + std::string(std::exchange(width_, 0), ' ') + '\r');
}

void narrator::tell_of_wait(const resource_state& state) const {
    json_value out = begin("waiting", request_.resources);
    out["ms"] = since_start().count();
    if (request_.resources.size() > 1) out["resource"] = state.resource;
    out["held"] = state.held;
    out["owner"] = state.owner;
    out["kept"] = state.kept;
    if (request_.lease.slots > 0) out["slots"] = state.slots.size();
    add_note(out, state.note);
    if (!state.readers.empty()) out["readers"] = state.readers;
    if (state.held_for) out["since_ms"] = state.held_for->count();
    if (state.place) out["place"] = *state.place;
    out["waiting"] = state.waiting;
    tell(out);
}

void narrator::granted(const lease& got) const {
    if (!request_.json) return;
    json_value out = begin("granted", request_.resources);
    out["fence"] = got.fence();
    add_slots(out, got);
    out["valid_ms"] = ms(got.valid_until() - clock::now()).count();
    out["ms"] = since_start().count();
    tell(out);
}

void narrator::nested(std::uint64_t fence) const {
    if (request_.json) {
        json_value out = begin("nested", request_.resources);
        out["fence"] = fence;
        tell(out);
    } else if (request_.nodes.verbose) {
        complain(quoted(request_.resources) + " is held by the redlock run around this one: CMD "
                 "runs under its lock");
    }
}

void narrator::ended(int status) const {
    if (!request_.json) return;
    json_value out = begin("ended", request_.resources);
    out["status"] = status;
    out["ms"] = since_start().count();
    tell(out);
}

void narrator::happened(const event& e) const {
    // `granted` is written by `granted()`, which knows the fence.
    if (!request_.json || e.kind == event_kind::granted) return;
    if (e.severity == severity::debug && !request_.nodes.verbose) return;
    tell(json_value::parse(to_json(e)));
}

}  // namespace redlock::tool
