// `redlock last`: which runs are on record, and how they ended.
// SPDX-License-Identifier: MIT
#include "tools/commands.hpp"

#include "tools/asking.hpp"
#include "tools/exit_status.hpp"
#include "tools/formats.hpp"
#include "tools/report.hpp"

#include <redlock/client.hpp>
#include <redlock/run_record.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace redlock::tool {

namespace {

std::string how_it_ended(const run_record& run) {
    if (!run.end) return "not ended: it runs, or nobody could note its end";
    if (!run.is_started) return "could not be started";
    std::string out = run.signal != 0 ? "by signal " + std::to_string(run.signal)
                                      : "with " + std::to_string(run.status);
    return run.is_lost ? out + ", its lease was lost" : out;
}

std::string took(const run_record& run) {
    using std::chrono::milliseconds;
    return run.end ? seconds_text(std::chrono::floor<milliseconds>(*run.end - run.start)) : "-";
}

std::string runs_table(const std::string& resource, const std::vector<run_record>& runs) {
    if (runs.empty()) {
        return "no run of '" + shown(resource) +
               "' is on record: redlock run --record notes them\n";
    }
    std::vector<std::array<std::string, 6>> rows{
        {"BEGAN", "TOOK", "HOST", "PID", "FENCE", "ENDED"}};
    for (const run_record& run : runs) {
        rows.push_back({utc_text(run.start), took(run), shown(run.host), std::to_string(run.pid),
                        std::to_string(run.fence), how_it_ended(run)});
    }
    std::string out;
    add_rows(out, rows);
    return out;
}

std::string runs_json(const std::string& resource, const std::vector<run_record>& runs) {
    json_value all = json_value::array();
    for (const run_record& run : runs) {
        all.push_back({{"id", run.id},
                       {"start", utc_text(run.start)},
                       {"end", run.end ? json_value(utc_text(*run.end)) : json_value()},
                       {"host", run.host},
                       {"pid", run.pid},
                       {"fence", run.fence},
                       {"status", run.end ? json_value(run.status) : json_value()},
                       {"signal", run.signal},
                       {"lost", run.is_lost},
                       {"started", run.is_started}});
    }
    return json_text({{"resource", redacted(resource)}, {"runs", all}}) + "\n";
}

}  // namespace

int last(const last_request& request) {
    const auto found = find_nodes(request.nodes, {request.resource});
    return work(found.client, [&](client& on, const std::function<void(int)>& over) {
        on.async_last_runs(request.resource, [&, over](error_code ec,
                                                       const std::vector<run_record>& runs) {
            if (ec) {
                const bool is_outage = ec == errc::no_quorum;
                complain("'" + request.resource + "': " + ec.message() +
                         (is_outage ? ": redlock doctor says what is wrong with the nodes" : ""));
                return over(is_outage ? no_quorum : own_failure);
            }
            const auto text = request.json ? runs_json(request.resource, runs)
                                           : runs_table(request.resource, runs);
            over(print(text) ? success : own_failure);
        });
    });
}

}  // namespace redlock::tool
