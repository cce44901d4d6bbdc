// What every measurement is given: servers, a client, its loop, for how long; measures nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "support/cluster.hpp"
#include "support/tls_ports.hpp"

#include <redlock/client.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// A program that acquires and releases with another library.
struct cycle_peer {
    std::string name;
    std::string program{};  ///< Empty: absent.
    std::string why_absent{};
};

/// How thorough a run is.
struct extent {
    std::chrono::milliseconds each{1'000};  ///< One rate.
    std::vector<std::size_t> workers{1, 16, 128, 1'024};
    std::vector<std::size_t> workers_by_unix_socket{128};
    std::vector<std::size_t> workers_by_tls{1, 128};
    std::vector<std::size_t> workers_beside_peers{16, 128};
    std::vector<std::size_t> workers_under_faults{1, 128};
    std::size_t rate_blocks = 5;  ///< Of one rate, where others alternate with it.
    std::size_t fault_rounds = 3;
    std::size_t latency_blocks = 40;
    std::size_t cycles_per_block = 100;
    std::chrono::milliseconds lease_ttl{3'000};  ///< Of those that are kept.
    std::vector<std::size_t> leases{1'000, 10'000};
    std::size_t most_leases = 100'000;  ///< In one setting only; 0: nowhere.
    std::chrono::milliseconds most_leases_ttl{15'000};
    std::chrono::milliseconds most_leases_held{0};  ///< At least one ttl.
    std::vector<std::size_t> growing_nodes{3, 5, 7, 9};
    std::vector<std::size_t> growing_workers{1, 4, 16, 64, 256, 1'024, 4'096};
    std::vector<std::size_t> growing_clients{1, 2, 4, 8, 16, 32};
    std::size_t names = 50'000;  ///< Each locked once, to see what is left of it; 0: left out.
    std::vector<std::size_t> waiters{1'000, 100'000};
    /// So many clients, and so many waiters of them all together.
    std::vector<std::pair<std::size_t, std::size_t>> crowds_for_one_name{{10, 10}, {1'000, 10'000}};
    std::vector<std::size_t> crowds_for_own_names{10, 100'000};
    std::size_t crowd_turns = 200;
    /// So many resources, and so many watchers of them all together.
    std::vector<std::pair<std::size_t, std::size_t>> watched{
        {1, 1}, {1, 1'000}, {1'000, 1'000}, {10'000, 10'000}};
    std::size_t watched_changes = 200;
    std::size_t listed_keys = 1'000'000;  ///< On each node.
    std::size_t listed_rounds = 3;
    std::chrono::milliseconds contest{1'500};  ///< One window of contention.
    std::size_t contest_rounds = 5;
    std::size_t many_contenders = 64;  ///< Processes, beside the best of the peers; 0: none.
    std::string redsync{};             ///< The program of that peer; empty: absent.
    std::string without_peers = "neither --redsync nor --without-redsync was given";
    bool peers = true;
    std::vector<cycle_peer> cycle_peers{};
};

/// How the client reaches the servers. Bare sockets speak no TLS.
enum class transport : std::uint8_t { tcp, unix_socket, tls };

/// Servers of its own, and one client on one thread: the caller's.
class setting {
public:
    setting(std::size_t nodes, bool fencing, transport by = transport::tcp,
            std::chrono::milliseconds ttl_max = redlock::client_options{}.ttl_max);
    ~setting();

    std::size_t size() const noexcept { return options_.nodes.size(); }
    const redlock::client_options& options() const noexcept { return options_; }
    const char* mode() const noexcept { return options_.fencing ? "fenced" : "plain"; }
    const char* transport_name() const noexcept {
        const auto& node = options_.nodes.front();
        return node.tls ? "tls" : node.unix_socket.empty() ? "tcp" : "unix";
    }
    redlock::client& client() noexcept { return client_; }
    redlock::testing::redis_server& server(std::size_t i) { return servers_[i]; }

    /// Runs the client's loop until the work is done; rethrows what it throws.
    void run(boost::asio::awaitable<void> work);
    boost::asio::any_io_executor executor() { return context_.get_executor(); }
    /// Returns when every node answers and nothing is outstanding.
    void settle();

private:
    redlock::testing::cluster servers_;
    std::unique_ptr<const redlock::testing::certificates> papers_;  // null without TLS
    redlock::client_options options_;
    boost::asio::io_context context_{1};
    redlock::client client_;
};

/// Returns when every node answers this client; throws when one does not.
boost::asio::awaitable<void> until_all_answer(redlock::client& client);

boost::asio::awaitable<void> rest_for(redlock::clock::duration how_long);

/// What some cycles of acquire and release took.
struct measured {
    std::uint64_t cycles = 0;
    std::uint64_t failures = 0;
    double seconds = 0;
    double cpu_seconds = 0;  ///< Of this process, servers excluded.
    std::uint64_t commands = 0;
    std::uint64_t writes = 0;
    std::uint64_t reads = 0;
    std::uint64_t allocations = 0;

    measured& operator+=(const measured& more) noexcept;
    double rate() const noexcept { return static_cast<double>(cycles) / seconds; }
    double cpu_us_per_cycle() const noexcept {
        return cpu_seconds * 1e6 / static_cast<double>(cycles);
    }
    double per_cycle(std::uint64_t count) const noexcept {
        return static_cast<double>(count) / static_cast<double>(cycles);
    }
};

double cpu_seconds();  ///< Of this process so far.

enum class style : bool { coroutines, callbacks };

/// So many acquire and release, each its own resource, for so long.
struct workload {
    std::size_t workers = 1;
    std::chrono::milliseconds duration{0};
    style by = style::coroutines;
    /// The clients of the workers, in turns; empty: the setting's client. Coroutines alone.
    std::vector<redlock::client*> among{};
    // Where times are wanted, of coroutines alone:
    std::vector<double>* times_us = nullptr;          ///< Of each cycle.
    std::vector<double>* acquire_times_us = nullptr;  ///< Of each acquire that was granted.
};

measured measure_cycles(setting& on, const workload& what);

// The measurements; each prints its lines.
void measure_throughput(setting& on, const extent& how, const std::vector<std::size_t>& workers);
void measure_throughput_beside_peers(setting& on, const extent& how);
void print_absent_cycle_peers(const extent& how);
void measure_latency(setting& on, const extent& how);
/// `on` has no TLS: a second setting, with TLS, is measured beside it.
void measure_tls(setting& on, const extent& how);
void measure_faults(setting& on, const extent& how);
void measure_renewal(setting& on, const extent& how);
void measure_waiting(setting& on, const extent& how);
void measure_crowds(setting& on, const extent& how);
void measure_watching(setting& on, const extent& how);
void measure_listing(setting& on, const extent& how);
void measure_contended(setting& on, const extent& how);
void measure_kinds(setting& on, const extent& how);
void measure_server_time(setting& on, const extent& how);
/// With servers of its own, of several numbers.
void measure_growth(const extent& how);

}  // namespace bench
