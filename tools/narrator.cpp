// What `redlock run` writes about its progress.
// SPDX-License-Identifier: MIT
#include "tools/narrator.hpp"

#include "tools/columns.hpp"
#include "tools/inspect.hpp"
#include "tools/json_writer.hpp"
#include "tools/report.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>
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

json_writer begin(std::string_view what, const std::vector<std::string>& resources) {
    json_writer json;
    json.begin_object().key("event").string(what).key("severity").string("info");
    if (resources.size() == 1) {
        json.key("resource").string(redacted(resources.front()));
        return json;
    }
    json.key("resources").begin_array();
    for (const auto& one : resources) json.string(redacted(one));
    json.end_array();
    return json;
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

std::optional<std::chrono::seconds> narrator::pause() const {
    if (draws_) return 1s;
    if (!request_.json && !request_.nodes.verbose) return std::nullopt;
    return since_start() < 1s ? 1s : 10s;
}

void narrator::waiting(error_code ec, const resource_state& state) {
    if (request_.json) return tell_of_wait(ec, state);
    std::string line =
        "waiting for " + quoted(request_.resources) + " for " + whole_seconds(since_start());
    if (!ec && (state.held || state.kept) && request_.lease.slots == 0) {
        if (request_.resources.size() > 1) line += ", '" + state.resource + "'";
        line += (request_.resources.size() > 1 ? " " : ", ") +
                (state.kept ? kept_until(state) : holders(state));
        if (state.held_for) line += " for " + whole_seconds(*state.held_for);
    }
    if (!ec && request_.lease.slots > 0 && !state.slots.empty()) line += ", " + slots_held(state);
    if (!ec && state.place) {
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

void narrator::tell_of_wait(error_code ec, const resource_state& state) const {
    json_writer json = begin("waiting", request_.resources);
    json.key("ms").number(since_start().count());
    if (request_.resources.size() > 1) json.key("resource").string(redacted(state.resource));
    if (ec) {
        json.key("error").string(ec.message());
    } else {
        json.key("held").boolean(state.held).key("owner").string(state.owner);
        json.key("kept").boolean(state.kept);
        if (request_.lease.slots > 0) json.key("slots").number_unsigned(state.slots.size());
        if (!state.readers.empty()) {
            json.key("readers").begin_array();
            for (const auto& reader : state.readers) json.string(reader);
            json.end_array();
        }
        if (state.held_for) json.key("since_ms").number(state.held_for->count());
        if (state.place) json.key("place").number_unsigned(*state.place);
        json.key("waiting").number_unsigned(state.waiting);
    }
    tell(json.end_object());
}

void narrator::granted(const lease& got) const {
    if (!request_.json) return;
    json_writer json = begin("granted", request_.resources);
    json.key("fence").number_unsigned(got.fence());
    if (request_.lease.slots > 0) json.key("slot").number_unsigned(got.slot());
    json.key("valid_ms").number(ms(got.valid_until() - clock::now()).count());
    tell(json.key("ms").number(since_start().count()).end_object());
}

void narrator::nested(std::uint64_t fence) const {
    if (request_.json) {
        tell(begin("nested", request_.resources).key("fence").number_unsigned(fence).end_object());
    } else if (request_.nodes.verbose) {
        complain(quoted(request_.resources) + " is held by the redlock run around this one: CMD "
                 "runs under its lock");
    }
}

void narrator::ended(int status) const {
    if (!request_.json) return;
    json_writer json = begin("ended", request_.resources);
    json.key("status").number(status);
    tell(json.key("ms").number(since_start().count()).end_object());
}

void narrator::happened(const event& e) const {
    // `granted` is written by `granted()`, which knows the fence.
    const bool is_known = e.kind == event_kind::granted || e.severity == severity::debug;
    if (!request_.json || is_known) return;
    json_writer json;
    json.begin_object().key("event").string(to_string(e.kind));
    json.key("severity").string(to_string(e.severity));
    if (!e.resource.empty()) json.key("resource").string(redacted(e.resource));
    if (!e.node.empty()) json.key("node").string(e.node);
    if (e.error) json.key("error").string(e.error.message());
    if (!e.detail.empty()) json.key("detail").string(redacted(e.detail));
    if (e.duration.count() > 0) json.key("ms").number(ms(e.duration).count());
    if (!e.votes.empty()) {
        json.key("votes").begin_array();
        for (const node_vote& v : e.votes) json.string(redacted(format(v)));
        json.end_array();
    }
    tell(json.end_object());
}

}  // namespace redlock::tool
