// The requests of redlock's commands, as the command line gives them, and what runs each.
// SPDX-License-Identifier: MIT
#pragma once

#include "tools/nodes.hpp"
#include "tools/signals.hpp"
#include "tools/terms.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace redlock::tool {

/// What all commands have in common that ask nodes.
struct node_request {
    node_source nodes;
    bool json = false;  ///< run reports on standard error, others on standard output.
};

struct run_request : node_request {
    lease_request lease;
    std::vector<std::string> resources;  // held at once
    std::string metrics_file;            // gets the metrics of the client; empty: none does
    int contended_status = 120;          // the exit status in place of `contended`
    bool quiet = false;                  // says nothing of a lock that another holder has
    std::optional<std::chrono::milliseconds> watchdog{};  // the longest time without a sign of CMD
    std::optional<std::chrono::milliseconds> record{};  // so long the nodes know of the run
    std::optional<unsigned> retries{};  // of runs that failed, in the time of --min-hold
    std::vector<std::string> command;
};

/// Acquires, runs the command, releases. Returns the exit status (see `exit_status.hpp`).
int run(const run_request& request, const inherited_signals& given);

struct acquire_request : node_request {
    lease_request lease;
    std::vector<std::string> resources;  // held at once
    std::string token_file;              // gets the token; empty: standard output does
    int contended_status = 120;
};
struct extend_request : node_request {
    std::optional<std::chrono::milliseconds> ttl;
    std::string token_file;  // has the token; empty: REDLOCK_TOKEN or standard input has it
};
struct release_request : node_request {
    std::string token_file;
    // What the command line says of --force, which makes it a `revoke_request`.
    bool force = false;
    bool yes = false;
    std::vector<std::string> resources;
};

/// Each returns the exit status. None writes the token to any place but the requested one.
int acquire(const acquire_request& request, const inherited_signals& given);
int extend(const extend_request& request);
int release(const release_request& request);

struct revoke_request : node_request {
    std::vector<std::string> resources;  // one after the other
    bool yes = false;  ///< Do not ask.
};

/// The exit status: 0 also where nobody held it; else that of the first that failed.
int revoke(const revoke_request& request);

struct inspect_request : node_request {
    std::string resource;
};

/// The exit status: 0 when a quorum of nodes answered.
int inspect(const inspect_request& request);

struct last_request : node_request {
    std::string resource;
};

/// The exit status: 0 when a quorum of nodes answered, whatever is on record.
int last(const last_request& request);

struct list_request : node_request {
    std::string prefix;
    bool shows_all = false;  ///< Also strings that are no locks of this library.
};
struct watch_request : node_request {
    std::vector<std::string> resources;
};

/// The exit status: 0 where a quorum of nodes answered.
int list(const list_request& request);
/// Goes on until a signal ends the program, or standard output takes no more.
int watch(const watch_request& request);

struct doctor_request : node_request {
    bool is_ready = false;           ///< Only whether these nodes may vote; none: all of them.
    std::vector<std::string> nodes_to_be_ready;
};

/// The exit status: 0 where all is well, 1 with warnings, 2 with errors; of --ready 0 or 1.
int doctor(const doctor_request& request);

struct init_request : node_request {
    bool yes = false;  ///< Do not ask.
    bool lowers_fences = false;
};

/// The exit status: 0 when every node took it.
int init(const init_request& request);

struct commit_request : node_request {
    bool yes = false;  ///< Do not ask.
    bool despite_old_programs = false;
    bool gives_up = false;
    std::vector<std::string> without{};  ///< The names of nodes that are gone.
    std::optional<std::chrono::milliseconds> wait{};
};

/// The exit status: 0 when every node is of the list that stands; 1 when some have still to follow.
int commit(const commit_request& request);

struct bench_request : node_request {
    std::chrono::milliseconds each{3'000};  ///< How long each of the three parts runs.
    std::size_t workers = 64;               ///< That cycle at once in the second part.
    bool yes = false;                       ///< Do not ask.
};

/// The exit status: 0 when all three parts were measured.
int bench(const bench_request& request);

}  // namespace redlock::tool
