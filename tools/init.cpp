// `redlock init`: asks the operator to confirm, then declares the nodes new.
// SPDX-License-Identifier: MIT
#include "tools/commands.hpp"

#include "tools/asking.hpp"
#include "tools/formats.hpp"
#include "tools/exit_status.hpp"
#include "tools/report.hpp"

#include <redlock/client.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace redlock::tool {

namespace asio = boost::asio;

namespace {

std::string names(const client_options& client) {
    std::string out;
    for (const auto& node : client.nodes) {
        out += (out.empty() ? "" : ", ") + shown(display_name(node));
    }
    return out;
}

bool is_meant(const client_options& client) {
    return is_confirmed("init", "if no program can hold a lock on " + names(client),
                        "This declares that no program holds a lock on " + names(client) +
                            ",\nnot even one that ran before the nodes last started. If one does, a "
                            "second holder gets in.");
}

std::string votes_to_json(error_code ec, const std::vector<node_vote>& answers) {
    json_value nodes = json_value::array();
    for (const auto& a : answers) {
        const bool is_declared = a.answer == vote::granted;
        nodes.push_back({{"name", a.node.str()},
                         {"declared", is_declared},
                         {"error", is_declared ? "" : format(a)}});
    }
    return json_text({{"declared", !ec}, {"nodes", std::move(nodes)}}) + "\n";
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
    std::string failures;
    std::size_t declared = 0;
    for (const auto& a : answers) {
        if (a.answer != vote::granted) {
            failures += (failures.empty() ? "" : "; ") + format(a);
            continue;
        }
        ++declared;
        if (!as_json) text += shown(a.node) + " counts as new: nothing is in quarantine there\n";
    }
    if (!print(text)) return own_failure;
    if (!ec) {
        if (failures.empty()) return success;
        complain(about_rest(failures, declared, answers.size(), client.ttl_max));
        return success;
    }
    if (ec == errc::invalid_argument) {
        complain("restart_guard or fencing is off in this configuration, so no node is in quarantine");
        return own_failure;
    }
    complain((failures.empty() ? ec.message() : failures) + ": fix this and run init again");
    return no_quorum;
}

}  // namespace

int init(const init_request& request) {
    auto found = find_nodes(request.nodes);
    if (!found) return own_failure;
    const auto& nodes = found->client.nodes;
    if (std::any_of(nodes.begin(), nodes.end(),
                    [](const node_options& n) { return n.change != list_change::none; })) {
        complain("the list has nodes that are joining or leaving: redlock commit ends the change; to "
                 "declare nodes new, name those of one list");
        return own_failure;
    }
    if (!request.yes && !is_meant(found->client)) return own_failure;
    asio::io_context context(1);
    first_contact contact(found->client);
    client declaring(context.get_executor(), found->client);
    contact.wait(context);
    int status = own_failure;
    bool answered = false;
    declaring.async_init([&](error_code ec, const std::vector<node_vote>& answers) {
        answered = true;
        status = show(ec, answers, found->client, request.json);
    });
    while (!answered) context.run_one();
    declaring.close();
    drain(context, longest_answer(found->client), status);
    return status;
}

}  // namespace redlock::tool
