// What is held, and how the nodes are, as text for the C interface.
// SPDX-License-Identifier: MIT
#include "c/failure.hpp"
#include "c/objects.hpp"

#include <redlock/json.hpp>

#include <string>
#include <vector>

namespace redlock::c {

namespace {

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

refusal without_quorum(const resource_state& state) {
    refusal out{errc::no_quorum, {}, {}};
    for (const node_state& node : state.nodes) {
        if (!node.error) continue;
        out.detail += (out.detail.empty() ? "" : "; ") + node.node.str() + ": " + problem_of(node);
    }
    return out;
}

}  // namespace

}  // namespace redlock::c

using namespace redlock;

int redlock_inspect(redlock_client* client, const char* resource, char** json) {
    return c::report(client, json, [&](blocking_client& by, std::string& text) {
        if (resource == nullptr) return c::refuse("resource is null");
        const auto state = by.inspect(resource);
        if (!state && state.error() == errc::invalid_argument) {
            return c::refuse(validate_resource(by.options(), resource));
        }
        if (!state) return c::fail(refusal{state.error(), {}});
        text = to_json(*state);
        return state->decided ? static_cast<int>(REDLOCK_OK) : c::fail(c::without_quorum(*state));
    });
}

int redlock_list(redlock_client* client, const char* prefix, char** json) {
    return c::report(client, json, [&](blocking_client& by, std::string& text) {
        const auto names = by.list(prefix == nullptr ? "" : prefix);
        if (!names) return c::fail(refusal{names.error(), {}});
        text = to_json(*names);
        return static_cast<int>(REDLOCK_OK);
    });
}

int redlock_probe(redlock_client* client, char** json) {
    return c::report(client, json, [&](blocking_client& by, std::string& text) {
        const auto reports = by.probe();
        if (!reports) return c::fail(refusal{reports.error(), {}});
        text = to_json(*reports);
        return static_cast<int>(REDLOCK_OK);
    });
}

int redlock_stats(redlock_client* client, char** json) {
    return c::report(client, json, [](blocking_client& by, std::string& text) {
        text = to_json(by.stats());
        return static_cast<int>(REDLOCK_OK);
    });
}

int redlock_open_metrics(redlock_client* client, char** text) {
    return c::report(client, text, [](blocking_client& by, std::string& out) {
        out = open_metrics(by.stats());
        return static_cast<int>(REDLOCK_OK);
    });
}
