// `redlock list` and `redlock watch`: the holders of resources.
// SPDX-License-Identifier: MIT
#include "tools/commands.hpp"

#include "tools/asking.hpp"
#include "tools/exit_status.hpp"
#include "tools/inspect.hpp"
#include "tools/formats.hpp"
#include "tools/report.hpp"

#include <redlock/client.hpp>
#include <redlock/event.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::tool {

namespace asio = boost::asio;

namespace {

constexpr std::size_t at_once = 32;  // resources that are queried

bool is_in_the_way(const resource_state& state) {
    return state.held || state.kept || !state.slots.empty();
}

// Whether its holder's value has this library's form; a string of another program may be a lock.
bool is_lock(const resource_state& state) {
    const bool is_held_by_one = state.held && state.readers.empty() && !state.owner.empty();
    return !is_held_by_one || state.owner.find("...@") != state.owner.npos;
}

// In one word, for programs.
std::string_view state_of(const resource_state& state) {
    if (!state.decided) return "unknown";
    if (state.kept && state.slots.empty()) return "kept";
    return is_in_the_way(state) ? "taken" : "free";
}

// The holder, in words.
std::string holder_of(const resource_state& state) {
    if (!state.decided) return "unknown: too few nodes answered";
    std::string out = state.held ? holders(state) : "";
    if (state.kept) out = "kept, released by " + shown(state.owner);
    if (state.held && state.fence != 0) out += ", fence " + std::to_string(state.fence);
    if (const auto slots = slots_held(state); !state.slots.empty()) {
        out += (out.empty() ? "" : ", ") + slots;
    }
    return out.empty() ? "free" : out;
}

std::string line_of(const resource_state& state) {
    std::string out = "'" + shown(state.resource) + "' ";
    const bool is_kept = state.decided && state.kept && state.slots.empty();
    out += is_kept ? kept_until(state) : holder_of(state);
    return out + (state.held ? time_left(state) : "") + "\n";
}

// Asks about each of the names, some at a time, and prints what is held.
class lister {
public:
    // `over` is called with the exit status.
    lister(client& by, const list_request& request, std::function<void(int)> over)
        : client_(&by),
          json_(request.json),
          shows_all_(request.shows_all),
          over_(std::move(over)) {}

    void begin(std::vector<std::string> names) {
        std::map<std::string, std::vector<std::string>> slots_of;
        for (std::string& name : names) {
            if (const auto slot = as_slot(name)) slots_of[slot->resource].push_back(name);
        }
        for (std::string& name : names) {
            if (as_slot(name) || slots_of.contains(name)) continue;
            left_.push_back({std::move(name), {}});
        }
        for (auto& [resource, slots] : slots_of) left_.push_back({resource, std::move(slots)});
        if (!slots_of.empty()) std::sort(left_.begin(), left_.end());
        while (open_ < at_once && !left_.empty()) ask();
        if (open_ == 0) over_(status_);
    }

private:
    // A resource, and the names that its slots have if they are slots: those are shown with it.
    using question = std::pair<std::string, std::vector<std::string>>;

    void ask() {
        question next = std::move(left_.front());
        left_.pop_front();
        ++open_;
        client_->async_inspect(next.first, [this, slots = std::move(next.second)](
                                               error_code ec, const resource_state& state) {
            for (const std::string& name : slots) {
                if (!ec && !find_slot(state, as_slot(name)->number)) left_.push_back({name, {}});
            }
            answered(ec, state);
        });
    }
    void answered(error_code ec, const resource_state& state) {
        --open_;
        if ((ec || !state.decided) && status_ == success) status_ = no_quorum;
        if (!ec && !state.decided && ++unknown_ == 1) {
            complain("whether '" + shown(state.resource) + "' is held is not known: " +
                     silence_of(state));
        }
        const bool is_new = !ec && is_in_the_way(state) && (shows_all_ || is_lock(state)) &&
                            shown_.insert(state.resource).second;
        if (is_new && status_ != own_failure &&
            !print(json_ ? as_json(state) + "\n" : line_of(state))) {
            status_ = own_failure;
            left_.clear();
        }
        if (!left_.empty()) ask();
        if (open_ != 0) return;
        if (unknown_ > 1) {
            complain("nor of " + std::to_string(unknown_ - 1) +
                     " more: redlock inspect says why of each");
        }
        over_(status_);
    }

    client* client_;
    bool json_;
    bool shows_all_;
    std::deque<question> left_;
    std::set<std::string> shown_;
    std::size_t open_ = 0;
    std::size_t unknown_ = 0;
    int status_ = success;
    std::function<void(int)> over_;
};

std::string now_text() { return utc_text(std::chrono::system_clock::now()); }

// One resource that is watched. Each change is a line; so is that too few nodes answer, which is
// looked at first of all, and when a node is down.
class watcher {
public:
    // `failed` is set where standard output takes no more.
    watcher(client& by, std::string resource, bool json, bool& failed)
        : client_(&by), resource_(std::move(resource)), json_(json), failed_(&failed) {}

    void look() {
        is_watching_ = false;
        client_->async_inspect(resource_, [this](error_code ec, const resource_state& state) {
            if (ec || *failed_) return;
            const bool was_known = is_known_;
            if (!state.decided) {
                last_ = {};
                is_known_ = false;
                if (was_known || !has_begun_) tell(state);
            }
            has_begun_ = true;
            watch();
        });
    }
    void node_is_down() {
        if (is_watching_) look_again_.emit(asio::cancellation_type::terminal);
    }

private:
    void watch() {
        is_watching_ = true;
        client_->async_watch(
            resource_, last_,
            asio::bind_cancellation_slot(look_again_.slot(),
                                         [this](error_code ec, resource_state state) {
                                             on_change(ec, std::move(state));
                                         }));
    }
    void on_change(error_code ec, resource_state state) {
        if (*failed_ || ec == errc::client_closed) return;
        if (ec) return look();
        last_ = std::move(state);
        is_known_ = true;
        tell(last_);
        watch();
    }
    void tell(const resource_state& state) {
        const std::string text = holder_of(state);
        *failed_ = !print(json_ ? to_json_line(state)
                                : now_text() + " '" + shown(resource_) + "' " + text + "\n");
    }
    std::string to_json_line(const resource_state& state) const {
        json_value out = {{"time", now_text()},
                          {"resource", redacted(resource_)},
                          {"state", state_of(state)},
                          {"owner", state.owner},
                          {"fence", state.fence},
                          {"valid_ms", state.valid_for.count()}};
        add_company(out, state);
        return json_text(out) + "\n";
    }

    client* client_;
    std::string resource_;
    bool json_;
    bool* failed_;
    bool has_begun_ = false;
    bool is_known_ = false;
    bool is_watching_ = false;
    resource_state last_;
    asio::cancellation_signal look_again_;
};

}  // namespace

int list(const list_request& request) {
    const auto found = find_nodes(request.nodes);
    std::optional<lister> shows;
    return work(found.client, [&](client& on, const std::function<void(int)>& over) {
        list_query what(request.prefix);
        what.leases_only = !request.shows_all;
        on.async_list(std::move(what), [&, over](error_code ec, std::vector<std::string> names) {
            if (!ec) return shows.emplace(on, request, over).begin(std::move(names));
            complain(ec == errc::backlog
                         ? "list: there are more than 1,000,000 resources: name a PREFIX with "
                           "which fewer of them begin"
                         : "list: " + ec.message() +
                               ": redlock doctor says what is wrong with the nodes; where they are "
                               "healthy, the user lacks +scan");
            over(ec == errc::no_quorum ? no_quorum : own_failure);
        });
    });
}

int watch(const watch_request& request) {
    auto found = find_nodes(request.nodes, request.resources);
    asio::io_context context(1);
    std::deque<watcher> all;
    found.client.on_event = [&all](const event& e) {
        if (e.kind != event_kind::node_down) return;
        for (watcher& one : all) one.node_is_down();
    };
    client asking(context.get_executor(), found.client);
    bool failed = false;
    for (const std::string& one : request.resources) {
        all.emplace_back(asking, one, request.json, failed).look();
    }
    while (!failed) context.run_one();
    asking.close();
    drain(context, longest_answer(found.client), own_failure);
    return own_failure;
}

}  // namespace redlock::tool
