// `redlock release --force`: shows the holders, asks the operator to confirm, then revokes their
// leases.
// SPDX-License-Identifier: MIT
#include "tools/commands.hpp"

#include "tools/asking.hpp"
#include "tools/exit_status.hpp"
#include "tools/inspect.hpp"
#include "tools/formats.hpp"
#include "tools/report.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace redlock::tool {

namespace {

// Also where its value is empty.
bool has_key(const node_state& node) { return !node.owner.empty() || node.ttl.count() != 0; }

bool has_holder(const resource_state& state) {
    return !state.slots.empty() || std::any_of(state.nodes.begin(), state.nodes.end(), has_key);
}

bool has_no_expiry(const resource_state& state) {
    return std::any_of(state.nodes.begin(), state.nodes.end(),
                       [](const node_state& node) { return node.ttl.count() < 0; });
}

// On which nodes the key is of a type that no lock has; empty where it is on none.
std::string other_types(const resource_state& state) {
    std::string out;
    for (const auto& node : state.nodes) {
        if (node.error != errc::foreign_data || has_key(node)) continue;
        out += (out.empty() ? "" : "; ") + node.node.str() + ": " + node.detail;
    }
    return out;
}

// What the nodes show, and what the operator should know before the answer.
std::string warning(const resource_state& state) {
    return to_table(state) +
           (has_no_expiry(state) ? "\nA lock has an expiry. This key has none on some node: it may "
                                   "be another program's data, which\nwould be deleted."
                                 : "") +
           "\nThis takes '" + shown(state.resource) +
           "' from its holders. Each of them goes on until it renews its lease, at the latest "
           "a ttl\nfrom now, and the next holder may start at once: only the fence tells them "
           "apart.";
}

// Its resource as if nothing but that slot was held.
resource_state slot_alone(const resource_state& whole, std::uint16_t number) {
    resource_state out = whole;
    out.slots = {*find_slot(whole, number)};
    out.held = false;
    out.owner.clear();
    out.readers.clear();
    for (node_state& node : out.nodes) {
        if (!node.owner.empty() || !node.readers.empty()) node.state = key_state::free;
        node.owner.clear();
        node.readers.clear();
        node.ttl = {};
    }
    return out;
}

std::string list_of(const std::vector<std::string>& owners) {
    std::string out;
    for (const auto& one : owners) {
        out += (out.empty() ? "" : ", ") + (one.empty() ? "an empty value" : shown(one));
    }
    return out;
}

std::string revocation_to_json(const std::string& resource, const revocation& done) {
    return json_text({{"resource", redacted(resource)},
                      {"revoked", done.revoked},
                      {"freed", done.freed},
                      {"holders", done.holders},
                      {"nodes", json_of(done.votes, "done")}}) +
           "\n";
}

int show_revocation(error_code ec, const std::string& resource, const revocation& done, bool json) {
    std::string text = json ? revocation_to_json(resource, done) : "";
    if (!json) {
        const std::string name = "'" + shown(resource) + "'";
        if (!done.revoked.empty()) {
            text = name + " was taken from " + list_of(done.revoked) + "\n";
        } else if (done.freed.empty() && done.holders.empty()) {
            text = name + ": nothing was revoked\n";
        }
        if (!done.freed.empty()) {
            text += name + " was kept, released by " + list_of(done.freed) + ": that is over\n";
        }
        if (!done.holders.empty() && !text.empty()) {
            text += "it is held by " + list_of(done.holders) + ", since then\n";
        }
    }
    if (!print(text)) return own_failure;
    const std::string failures = failures_in(done.votes);
    if (ec == errc::no_quorum) {
        complain(failures + ": fewer than a quorum of nodes took it from its holders, which may "
                            "still have their lease: fix this and run it again");
        return no_quorum;
    }
    if (ec) {
        complain("'" + resource + "': " + ec.message());
        return own_failure;
    }
    if (!failures.empty()) complain("not on every node: " + failures);
    if (done.revoked.empty() && done.freed.empty() && !done.holders.empty()) {
        complain("'" + resource + "' was not taken: " + list_of(done.holders) +
                 " came since you were shown its holders; run it again to take it from them");
        return own_failure;
    }
    return success;
}

std::string about_other_data(const std::string& resource, const std::string& where) {
    return "'" + resource + "' is no lock, and was not removed: " + where + ": " +
           used_for_something_else +
           "; or, where nobody needs it, delete it with redis-cli DEL on each node";
}

int revoke_one(const revoke_request& request, const configuration& found,
               const std::string& resource) {
    resource_state state;
    {
        asking by(found.client);
        const auto inspect = [&by](const std::string& name) {
            return by.wait_for<resource_state>([&](client& on, auto handler) {
                on.async_inspect(name, std::move(handler));
            });
        };
        auto [ec, seen] = inspect(resource);
        const auto slot = as_slot(resource);
        if (!ec && slot) {
            auto [failed, whole] = inspect(slot->resource);
            if (!failed && find_slot(whole, slot->number)) seen = slot_alone(whole, slot->number);
            ec = failed;
        }
        if (ec) {
            if (!by.is_called_off()) complain("'" + resource + "': " + ec.message());
            return by.end(own_failure);
        }
        state = std::move(seen);
        // Its signals are no longer caught: the operator may end the question with ^C.
        if (const int status = by.end(success); status != success) return status;
    }
    const std::string others = other_types(state);
    if (!others.empty() && !has_holder(state)) {
        complain(about_other_data(resource, others));
        return own_failure;
    }
    if (!has_holder(state) && !state.decided) {
        complain(silence_of(state));
        return no_quorum;
    }
    if (has_holder(state) && !request.yes &&
        !is_confirmed("release --force", "if '" + resource + "' is to be taken from its holders",
                      warning(state))) {
        complain("'" + resource + "' was left as it is");
        return own_failure;
    }
    asking by(found.client);
    auto [ec, done] = by.wait_for<revocation>([&](client& on, auto handler) {
        on.async_revoke(state, std::move(handler));
    });
    if (by.is_called_off()) {
        complain("it was called off: on some nodes the lock may have been taken from its holders");
        return by.end(own_failure);
    }
    int status = show_revocation(ec, resource, done, request.json);
    if (status == success && !others.empty()) {
        complain(about_other_data(resource, others));
        status = own_failure;
    }
    return by.end(status);
}

}  // namespace

int revoke(const revoke_request& request) {
    const auto found = find_nodes(request.nodes, request.resources);
    int status = success;
    for (const std::string& resource : request.resources) {
        const int one = revoke_one(request, found, resource);
        if (status == success) status = one;
        if (one > signalled) return one;  // ended by a signal
    }
    return status;
}

}  // namespace redlock::tool
