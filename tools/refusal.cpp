// What an acquire that was refused comes to.
// SPDX-License-Identifier: MIT
#include "tools/refusal.hpp"

#include "tools/exit_status.hpp"
#include "tools/report.hpp"

namespace redlock::tool {

int explain(const refusal& why, const std::vector<std::string>& resources, std::string_view detail,
            int contended) {
    const std::string name = quoted(resources);
    const std::string line = name + ": " + why.message();
    if (why.code == errc::contended) {
        complain(line + ": wait longer (--wait), or find the holder with redlock inspect");
        return contended;
    }
    if (why.code == errc::validity_exhausted) {
        complain(line + ": lengthen --ttl, or look for slow nodes");
        return no_quorum;
    }
    if (why.code == errc::invalid_argument) {
        complain(name + ": " + (detail.empty() ? why.code.message() : std::string(detail)));
        return own_failure;
    }
    if (why.code == errc::no_quorum || why.code == condition::unreachable ||
        why.code == condition::configuration) {
        complain(line + ": fix these nodes, or their entries in the configuration");
        return no_quorum;
    }
    complain(line);
    return own_failure;
}

}  // namespace redlock::tool
