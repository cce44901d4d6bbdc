// `redlock init`: asks the operator to confirm, then declares the nodes new.
// SPDX-License-Identifier: MIT
#include "tools/commands.hpp"

#include "tools/asking.hpp"
#include "tools/formats.hpp"
#include "tools/exit_status.hpp"
#include "tools/report.hpp"

#include <redlock/client.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <unistd.h>

namespace redlock::tool {

namespace {

// Which nodes programs with another list use, for the question.
std::string of_others(const std::vector<node_report>& reports) {
    std::string out;
    for (const node_report& one : reports) {
        if (one.list.state != list_state::other) continue;
        out += (out.empty() ? "" : ", ") + shown(one.name);
    }
    return out.empty() ? out : "Of another list of nodes now: " + out + ". Programs with that one "
                               "get no lock from then on,\nand a redlock commit to it is undone.\n";
}

// What a quorum of nodes shows to be held, and which nodes are of another list, for the question.
std::string found_on(const client_options& client) {
    constexpr std::size_t most = 20;
    asking by(client);
    auto [failure, reports] = by.wait_for<std::vector<node_report>>(
        [](redlock::client& on, auto handler) { on.async_probe(std::move(handler)); });
    auto [ec, names] =
        by.wait_for<std::vector<std::string>>([](redlock::client& on, auto handler) {
            list_query what;
            what.leases_only = true;
            on.async_list(std::move(what), std::move(handler));
        });
    if (const int status = by.end(success); status != success) throw ending{status};
    std::string out = failure ? "" : of_others(reports);
    if (ec) return out + "What is held there is not known: " + ec.message() + ".\n";
    if (names.empty()) return out;
    out += "Held there, or kept, is ";
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
        out += (i == 0 ? "'" : ", '") + shown(names[i]) + "'";
    }
    if (names.size() > most) out += ", and " + std::to_string(names.size() - most) + " more";
    return out + " (redlock list shows by which programs).\n";
}

void ask(const client_options& client, bool lowers_fences) {
    confirm("init", "if no program can hold a lock on " + names_of(client),
            (::isatty(STDIN_FILENO) != 0 ? found_on(client) : "") +
                "This declares that no program holds a lock on " + names_of(client) +
                ",\nnot even one that ran before the nodes last started. If one does, a second "
                "holder gets in." +
                (lowers_fences ? "\nFences are lower from then on: a store that remembers a higher "
                                 "one refuses the\nholders that follow, until it forgets it."
                               : ""));
}

std::string votes_to_json(error_code ec, const std::vector<node_vote>& answers) {
    return json_text({{"declared", !ec}, {"nodes", json_of(answers, "declared")}}) + "\n";
}

// That a quorum is enough, and what follows for the nodes that did not take it.
std::string about_rest(const std::string& failures, std::size_t declared, std::size_t nodes,
                       std::chrono::milliseconds ttl_max) {
    return "warning: " + std::to_string(declared) + " of " + std::to_string(nodes) +
           " nodes count as new, which is a quorum: locks are granted. Not " + failures +
           ". Once it is back it votes after " + format_duration(ttl_max) +
           ", or at once if its server ran on; if it belongs to another list of nodes, no lock is "
           "granted from then until init is run again";
}

int show(error_code ec, const std::vector<node_vote>& answers, const client_options& client,
         bool as_json) {
    std::string text = as_json ? votes_to_json(ec, answers) : "";
    const std::string failures = failures_in(answers);
    std::size_t declared = 0;
    for (const auto& a : answers) {
        if (a.answer != vote::granted) continue;
        ++declared;
        if (!as_json) text += shown(a.node) + " counts as new: nothing is in quarantine there\n";
    }
    if (!print(text)) return own_failure;
    if (!ec) {
        if (!failures.empty()) {
            complain(about_rest(failures, declared, answers.size(), client.ttl_max));
        }
        return success;
    }
    if (ec == errc::invalid_argument) {
        complain("restart_guard or fencing is off in this configuration, so no node is in "
                 "quarantine");
        return own_failure;
    }
    complain((failures.empty() ? ec.message() : failures) + ": fix this and run init again");
    return no_quorum;
}

}  // namespace

int init(const init_request& request) {
    const auto found = find_nodes(request.nodes);
    if (is_joint(found.client)) {
        complain("the list has nodes that are joining or leaving: redlock commit ends the change; "
                 "to declare nodes new, name those of one list");
        return own_failure;
    }
    if (!request.yes) ask(found.client, request.lowers_fences);
    const init_options how{.lowers_fences = request.lowers_fences};
    return work(found.client, [&](client& on, const std::function<void(int)>& over) {
        on.async_init(how, [&, over](error_code ec, const std::vector<node_vote>& answers) {
            over(show(ec, answers, found.client, request.json));
        });
    });
}

}  // namespace redlock::tool
