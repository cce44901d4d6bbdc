// What stands behind the C interface.
// SPDX-License-Identifier: MIT
#include "c/objects.hpp"

#include <redlock/error.hpp>
#include <redlock/json.hpp>

#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <pthread.h>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <variant>
#include <vector>

namespace redlock::c {

namespace platform = detail::platform;

namespace {

/// The descriptors of this process, each of which a child process finds readable: its leases are
/// over. A child shares the parent's, to which it may not write: each has another one in its place.
class inherited_descriptors {
public:
    /// Lives until the process ends: a fork may come late.
    static inherited_descriptors& all() {
        static auto* const those = new inherited_descriptors;
        return *those;
    }
    void add(platform::event one) {
        const std::lock_guard lock(gate_);
        events_.push_back(one);
    }
    void remove(platform::event one) noexcept {
        const std::lock_guard lock(gate_);
        std::erase_if(events_, [&](platform::event e) { return e.number == one.number; });
    }

private:
    inherited_descriptors() {
        const auto before = [] { all().gate_.lock(); };
        const auto in_parent = [] { all().gate_.unlock(); };
        const auto in_child = [] {
            for (const platform::event one : all().events_) platform::replace(one);
            all().gate_.unlock();
        };
        if (const int why = ::pthread_atfork(before, in_parent, in_child); why != 0) {
            throw std::system_error(why, std::generic_category(), "pthread_atfork");
        }
    }

    std::mutex gate_;
    std::vector<platform::event> events_;
};

struct no_memory {};

// The reason as it came. Few callers read it: it becomes text where one does.
struct last_failure {
    std::variant<std::monostate, refusal, config_error, no_memory> why;
    std::string text;
    std::string json;
};

last_failure& last() noexcept {
    thread_local last_failure of_this_thread;
    return of_this_thread;
}

constexpr const char* out_of_memory = "out of memory";
constexpr const char* out_of_memory_json = R"({"message":"out of memory"})";

int number_of(const error_code& why) noexcept {
    if (why.category() == category()) return why.value();
    return why == boost::system::errc::operation_canceled ? REDLOCK_CANCELLED
                                                          : REDLOCK_SYSTEM_ERROR;
}

// what() of the standard's exceptions ends with the text of the code, as that of a refusal begins.
int fail_with(const error_code& why, std::string_view what) {
    const std::string end = ": " + why.message();
    if (what.ends_with(end)) what.remove_suffix(end.size());
    return fail(refusal{why, {}, std::string(what)});
}

int fail_for_memory() noexcept {
    last().why = no_memory{};
    return REDLOCK_NO_MEMORY;
}

// Writes the reason to `kept` by `text_of`, and shows it.
template <class F>
const char* shown(std::string& kept, const char* without_memory, F&& text_of) noexcept {
    const auto& why = last().why;
    try {
        kept.clear();
        if (std::holds_alternative<no_memory>(why)) return without_memory;
        if (const auto* const r = std::get_if<refusal>(&why)) kept = text_of(*r);
        if (const auto* const e = std::get_if<config_error>(&why)) kept = text_of(*e);
        return kept.c_str();
    } catch (...) {
        return without_memory;
    }
}

// `ask(client, text)` writes the text and returns the number.
template <class F>
int report(redlock_client* client, char** out, F&& ask) noexcept {
    return guarded([&] {
        if (out == nullptr) return refuse("the pointer to the text is null");
        *out = nullptr;
        if (client == nullptr) return refuse("client is null");
        std::string text;
        const int number = ask(client->shared->blocking, text);
        if (!text.empty()) *out = copied(text);
        return number;
    });
}

template <class T>
int write(const result<T>& got, std::string& text) {
    if (!got) return fail(refusal{got.error(), {}});
    text = to_json(*got);
    return REDLOCK_OK;
}

refusal without_quorum(const resource_state& state) {
    refusal out{errc::no_quorum, {}, {}};
    for (const node_state& node : state.nodes) {
        if (!node.error) continue;
        out.detail += (out.detail.empty() ? "" : "; ") + node.node.str() + ": " + problem_of(node);
    }
    return out;
}

int report_stats(redlock_client* client, char** out, std::string (*form)(const client_stats&)) {
    return report(client, out, [form](blocking_client& by, std::string& text) {
        text = form(by.stats());
        return static_cast<int>(REDLOCK_OK);
    });
}

}  // namespace

long current_process() noexcept { return ::getpid(); }

event_descriptor::event_descriptor() : event_(platform::make_event()) {
    try {
        inherited_descriptors::all().add(event_);
    } catch (...) {
        platform::close(event_);
        throw;
    }
}

event_descriptor::~event_descriptor() {
    inherited_descriptors::all().remove(event_);
    platform::close(event_);
}

stop_signal::stop_signal(std::stop_token of)
    : process_(current_process()),
      on_stop_(std::make_unique<std::stop_callback<raiser>>(std::move(of), raiser{&event_})) {}

// In a child process a callback that another thread was inside of at the fork never ends: to wait
// for it would hang.
stop_signal::~stop_signal() {
    if (process_ != current_process()) static_cast<void>(on_stop_.release());
}

char* copied(const std::string& text) {
    auto* const out = static_cast<char*>(std::malloc(text.size() + 1));
    if (out == nullptr) throw std::bad_alloc();
    std::memcpy(out, text.c_str(), text.size() + 1);
    return out;
}

std::stop_token token_of(redlock_cancel* cancel) {
    return cancel == nullptr ? std::stop_token() : cancel->source.get_token();
}

void begin() noexcept { last().why = std::monostate{}; }

int fail(refusal why) noexcept {
    const int number = number_of(why.code);
    last().why = std::move(why);
    return number;
}

int fail(config_error why) noexcept {
    const int number = number_of(why.code());
    last().why = std::move(why);
    return number;
}

int refuse_child() { return fail(refusal{errc::client_closed, {}, {}}); }

int refuse(std::string what) { return fail(refusal{errc::invalid_argument, {}, std::move(what)}); }

int fail_by_exception() noexcept {
    try {
        try {
            throw;
        } catch (const std::bad_alloc&) {
            return fail_for_memory();
        } catch (const boost::system::system_error& e) {
            return fail_with(e.code(), e.what());
        } catch (const std::system_error& e) {
            return fail_with(e.code(), e.what());
        } catch (const std::invalid_argument& e) {
            return fail_with(errc::config_invalid, e.what());
        } catch (const std::exception& e) {
            return fail_with(make_error_code(boost::system::errc::io_error), e.what());
        }
    } catch (...) {
        return fail_for_memory();  // for the text
    }
}

}  // namespace redlock::c

using namespace redlock;

void redlock_text_free(char* text) { std::free(text); }

const char* redlock_last_error(void) {
    return c::shown(c::last().text, c::out_of_memory,
                    [](const auto& why) { return why.message(); });
}

const char* redlock_last_error_json(void) {
    return c::shown(c::last().json, c::out_of_memory_json,
                    [](const auto& why) { return to_json(why); });
}

int redlock_inspect(redlock_client* client, const char* resource, char** json) {
    return c::report(client, json, [&](blocking_client& by, std::string& text) {
        if (resource == nullptr) return c::refuse("resource is null");
        const auto state = by.inspect(resource);
        if (!state && state.error() == errc::invalid_argument) {
            return c::refuse(validate_resource(by.options(), resource));
        }
        const int number = c::write(state, text);
        return state && !state->decided ? c::fail(c::without_quorum(*state)) : number;
    });
}

int redlock_watch_new(redlock_client* client, const char* resource, redlock_watch** out) {
    return c::guarded([&] {
        if (out == nullptr) return c::refuse("out is null");
        *out = nullptr;
        if (client == nullptr) return c::refuse("client is null");
        if (resource == nullptr) return c::refuse("resource is null");
        auto why = validate_resource(client->shared->blocking.options(), resource);
        if (!why.empty()) return c::refuse(std::move(why));
        auto made = std::make_unique<redlock_watch>();
        made->client = client->shared;
        made->resource = resource;
        *out = made.release();
        return static_cast<int>(REDLOCK_OK);
    });
}

int redlock_watch_next(redlock_watch* watch, redlock_cancel* cancel, char** json) {
    return c::guarded([&] {
        if (json == nullptr) return c::refuse("json is null");
        *json = nullptr;
        if (watch == nullptr) return c::refuse("watch is null");
        auto& by = watch->client->blocking;
        auto seen = by.watch(watch->resource, watch->last, c::token_of(cancel));
        if (!seen) return c::fail(refusal{seen.error(), {}});
        *json = c::copied(to_json(*seen));
        watch->last = std::move(*seen);
        return static_cast<int>(REDLOCK_OK);
    });
}

void redlock_watch_free(redlock_watch* watch) { delete watch; }

int redlock_revoke(redlock_client* client, const char* resource, char** json) {
    return c::report(client, json, [&](blocking_client& by, std::string& text) {
        if (resource == nullptr) return c::refuse("resource is null");
        if (auto why = validate_resource(by.options(), resource); !why.empty()) {
            return c::refuse(std::move(why));
        }
        const auto shown = by.inspect(resource);
        if (!shown) return c::fail(refusal{shown.error(), {}});
        const auto done = by.revoke(*shown);
        text = to_json(done ? *done : revocation{.votes = done.error().votes});
        return done ? static_cast<int>(REDLOCK_OK) : c::fail(done.error());
    });
}

int redlock_list(redlock_client* client, const char* prefix, char** json) {
    return c::report(client, json, [&](blocking_client& by, std::string& text) {
        return c::write(by.list(prefix == nullptr ? "" : prefix), text);
    });
}

int redlock_probe(redlock_client* client, char** json) {
    return c::report(client, json, [&](blocking_client& by, std::string& text) {
        return c::write(by.probe(), text);
    });
}

int redlock_stats(redlock_client* client, char** json) {
    return c::report_stats(client, json, redlock::to_json);
}

int redlock_open_metrics(redlock_client* client, char** text) {
    return c::report_stats(client, text, redlock::open_metrics);
}

int redlock_prometheus_text(redlock_client* client, char** text) {
    return c::report_stats(client, text, redlock::prometheus_text);
}
