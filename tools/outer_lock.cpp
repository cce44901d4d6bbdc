// A run inside another of the same resource.
// SPDX-License-Identifier: MIT
#include "tools/outer_lock.hpp"

#include "tools/drain.hpp"
#include "tools/exit_status.hpp"
#include "tools/first_contact.hpp"
#include "tools/narrator.hpp"
#include "tools/report.hpp"

#include <redlock/client.hpp>

#include <boost/asio/io_context.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

namespace redlock::tool {

namespace asio = boost::asio;

namespace {

kind_of_lock wanted(const lease_request& lease) {
    if (lease.slots > 0) return kind_of_lock::slot;
    return lease.shared ? kind_of_lock::shared : kind_of_lock::exclusive;
}

// Returns only if it fails.
int become(const std::vector<std::string>& command, const environment& additions,
           const inherited_signals& given) {
    std::vector<std::string> words = command;
    std::vector<std::string> variables = merged(additions);
    take_time();  // for what was written so far
    int why = 0;
    {
        const signals_blocked until_gone;
        given.restore();
        ::execvpe(words.front().c_str(), pointers(words).data(), pointers(variables).data());
        why = errno;
    }
    complain(explain_exec(command, why));
    return why == ENOENT ? not_found : not_executable;
}

}  // namespace

std::vector<held_lock> locks_around() {
    return read_held(std::getenv("REDLOCK_HELD"), std::getenv("REDLOCK_RESOURCE"),
                     std::getenv("REDLOCK_OWNER"), std::getenv("REDLOCK_FENCE"));
}

environment variables_for(const std::vector<std::string>& resources, const held_lock& lock,
                          std::optional<std::uint16_t> slot, const std::string& note,
                          const std::vector<held_lock>& all) {
    std::string lines;
    for (const auto& one : resources) lines += (lines.empty() ? "" : "\n") + one;
    return {{"REDLOCK_RESOURCE", lines},
            {"REDLOCK_FENCE", std::to_string(lock.fence)},
            {"REDLOCK_OWNER", lock.owner},
            {"REDLOCK_SLOT", slot ? std::optional(std::to_string(*slot)) : std::nullopt},
            {"REDLOCK_NOTE", note.empty() ? std::nullopt : std::optional(note)},
            {"REDLOCK_HELD", write_held(all)}};
}

std::optional<int> run_under_outer_lock(const run_request& request, const configuration& from,
                                        const inherited_signals& given) {
    const auto around = locks_around();
    const bool is_named = std::any_of(around.begin(), around.end(), [&](const held_lock& h) {
        return std::find(request.resources.begin(), request.resources.end(), h.resource) !=
               request.resources.end();
    });
    if (!is_named) return std::nullopt;
    asio::io_context context(1);
    client_options options = from.client;
    first_contact contact(options);
    client asking(context.get_executor(), options);
    contact.wait(context);
    std::vector<footing> found(request.resources.size());
    std::size_t answers = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        asking.async_inspect(request.resources[i], [&, i](error_code, const resource_state& state) {
            found[i] = find_footing(around, wanted(request.lease), state);
            ++answers;
        });
    }
    while (answers < found.size()) context.run_one();
    asking.close();
    const footing whole = together(found);
    switch (whole.what) {
        case footing::kind::own: break;
        case footing::kind::outer:
            narrator(request).nested(whole.under.fence);
            return become(request.command,
                          variables_for(request.resources, whole.under, whole.slot, whole.note, around),
                          given);
        case footing::kind::partly:
            complain("'" + whole.under.resource +
                     "' is held by a redlock run around this one, and not all of " +
                     quoted(request.resources) +
                     " by that one: it would wait for itself. Let the outer one name them all");
            return own_failure;
        case footing::kind::deadlock:
            complain("'" + whole.under.resource +
                     "' is shared by the redlock run around this one, which would wait for itself "
                     "if it asked for it alone: give this one --shared, too, or leave out --shared "
                     "of the outer one");
            return own_failure;
    }
    context.restart();
    context.run_for(longest_answer(from.client));
    return std::nullopt;
}

}  // namespace redlock::tool
