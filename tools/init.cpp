// `redlock init`: asks the operator to confirm, then declares every node new.
// SPDX-License-Identifier: MIT
#include "tools/init.hpp"

#include "tools/drain.hpp"
#include "tools/exit_status.hpp"
#include "tools/first_contact.hpp"
#include "tools/json_writer.hpp"
#include "tools/question.hpp"
#include "tools/report.hpp"

#include <redlock/client.hpp>

#include <boost/asio/io_context.hpp>

#include <string>
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

std::string votes_to_json(const std::vector<node_vote>& answers) {
    json_writer json;
    json.begin_object().key("nodes").begin_array();
    for (const auto& a : answers) {
        json.begin_object();
        json.key("name").string(a.node);
        json.key("declared").boolean(a.answer == vote::granted);
        json.key("error").string(a.answer == vote::granted ? "" : format(a));
        json.end_object();
    }
    json.end_array().end_object();
    return json.text() + "\n";
}

int show(error_code ec, const std::vector<node_vote>& answers, bool as_json) {
    std::string text = as_json ? votes_to_json(answers) : "";
    std::string failures;
    for (const auto& a : answers) {
        if (a.answer != vote::granted) {
            failures += (failures.empty() ? "" : "; ") + format(a);
        } else if (!as_json) {
            text += shown(a.node) + " counts as new: nothing is in quarantine there\n";
        }
    }
    if (!print(text)) return own_failure;
    if (!ec) return success;
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
    if (!request.yes && !is_meant(found->client)) return own_failure;
    asio::io_context context(1);
    first_contact contact(found->client);
    client declaring(context.get_executor(), found->client);
    contact.wait(context);
    int status = own_failure;
    bool answered = false;
    declaring.async_init([&](error_code ec, const std::vector<node_vote>& answers) {
        answered = true;
        status = show(ec, answers, request.json);
    });
    while (!answered) context.run_one();
    declaring.close();
    drain(context, longest_answer(found->client), status);
    return status;
}

}  // namespace redlock::tool
