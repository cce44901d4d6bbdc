// A run inside another of the same resource.
// SPDX-License-Identifier: MIT
#include "tools/outer_lock.hpp"

#include "tools/drain.hpp"
#include "tools/exit_status.hpp"
#include "tools/narrator.hpp"
#include "tools/report.hpp"

#include <redlock/client.hpp>

#include <boost/asio/io_context.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
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
    const auto pointers = [](std::vector<std::string>& texts) {
        std::vector<char*> out;
        for (auto& text : texts) out.push_back(text.data());
        out.push_back(nullptr);
        return out;
    };
    take_time();  // for what was written so far
    int why = 0;
    {
        const signals_blocked until_gone;
        given.restore();
        ::execvpe(words.front().c_str(), pointers(words).data(), pointers(variables).data());
        why = errno;
    }
    complain(words.front() + ": " + std::strerror(why) +
             ": give CMD as a program in PATH or as the path of an executable file");
    return why == ENOENT ? not_found : not_executable;
}

}  // namespace

std::vector<held_lock> locks_around() {
    return read_held(std::getenv("REDLOCK_HELD"), std::getenv("REDLOCK_RESOURCE"),
                     std::getenv("REDLOCK_OWNER"), std::getenv("REDLOCK_FENCE"));
}

environment variables_for(const held_lock& lock, std::optional<std::uint16_t> slot,
                          const std::vector<held_lock>& all) {
    return {{"REDLOCK_RESOURCE", lock.resource},
            {"REDLOCK_FENCE", std::to_string(lock.fence)},
            {"REDLOCK_OWNER", lock.owner},
            {"REDLOCK_SLOT", slot ? std::optional(std::to_string(*slot)) : std::nullopt},
            {"REDLOCK_HELD", write_held(all)}};
}

std::optional<int> run_under_outer_lock(const run_request& request, const configuration& from,
                                        const inherited_signals& given) {
    const auto around = locks_around();
    const bool is_named = std::any_of(around.begin(), around.end(), [&](const held_lock& h) {
        return h.resource == request.resource;
    });
    if (!is_named) return std::nullopt;
    asio::io_context context(1);
    client asking(context.get_executor(), from.client);
    std::optional<footing> found;
    asking.async_inspect(request.resource, [&](error_code, const resource_state& state) {
        found = find_footing(around, wanted(request.lease), state);
    });
    while (!found) context.run_one();
    asking.close();
    const auto go_on = [&]() -> int {
        narrator(request).nested(found->under.fence);
        return become(request.command, variables_for(found->under, found->slot, around), given);
    };
    switch (found->what) {
        case footing::kind::own: break;
        case footing::kind::outer: return go_on();
        case footing::kind::deadlock:
            complain("'" + request.resource +
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
