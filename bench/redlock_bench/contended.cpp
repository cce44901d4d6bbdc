// What contention for one resource costs within a process and between processes, beside programs
// that poll for the same lock, in alternating blocks; knows no faults.
// SPDX-License-Identifier: MIT
#include "contender.hpp"
#include "floor.hpp"
#include "json_line.hpp"
#include "processes.hpp"
#include "quantile.hpp"
#include "setting.hpp"
#include "talking_process.hpp"
#include "turns.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <list>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace asio = boost::asio;

namespace {

using finish_line = asio::experimental::channel<void(boost::system::error_code)>;

constexpr std::size_t few = 8;
constexpr const char* this_program = "/proc/self/exe";

/// A kind of contender: a name, and a command without the resource and the ports, which follow.
struct party {
    std::string by;
    std::string mode;
    std::vector<std::string> command;
    std::vector<contest_figures> blocks{};
    std::string absent{};  // why there is nothing to tell of it
};

using figure = double contest_figures::*;

double median(std::span<const contest_figures> blocks, figure which) {
    std::vector<double> values;
    for (const auto& block : blocks) {
        if (std::isfinite(block.*which)) values.push_back(block.*which);
    }
    return quantile(values, 0.5);
}

// Both were measured in each round: their ratio is not moved by what moves the machine.
double median_ratio(const party& one, const party& other, figure which) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < one.blocks.size(); ++i) {
        const double ratio = one.blocks[i].*which / other.blocks[i].*which;
        if (std::isfinite(ratio)) ratios.push_back(ratio);
    }
    return quantile(ratios, 0.5);
}

std::uint64_t sum(std::span<const contest_figures> blocks, std::uint64_t contest_figures::*which) {
    std::uint64_t all = 0;
    for (const auto& block : blocks) all += block.*which;
    return all;
}

std::vector<std::uint16_t> ports_of(const setting& on) {
    std::vector<std::uint16_t> ports;
    for (const auto& node : on.options().nodes) ports.push_back(node.port);
    return ports;
}

// Each block has a resource of its own: what one leaves behind does not hinder the next.
std::string next_resource() {
    static std::size_t count = 0;
    return "bench:contended:" + std::to_string(count++);
}

/// What a lock at least waits for, on bare sockets, measured between the blocks.
class yardstick {
public:
    explicit yardstick(std::span<const redlock::node_options> nodes)
        : all_(nodes, {nodes.size(), commands()}) {
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            each_.emplace_back(nodes.subspan(i, 1), std::vector{commands()});
        }
    }

    void measure(std::size_t count) {
        add(all_, count, quorum_us_);
        for (auto& one : each_) add(one, count / each_.size(), one_us_);
    }
    /// One SET on one connection to one node, over all nodes in turn.
    double round_trip_us() { return quantile(one_us_, 0.5); }
    /// Write SET to all nodes, read from a quorum.
    double floor_us() { return quantile(quorum_us_, 0.5); }

private:
    static lock_commands commands() { return bare_commands("bench:yardstick", "somebody"); }
    static void add(floor& on, std::size_t count, std::vector<double>& times_us) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto begin = redlock::clock::now();
            on.acquire(floor::wait_for::quorum);
            const std::chrono::duration<double, std::micro> taken = redlock::clock::now() - begin;
            times_us.push_back(taken.count());
            on.release(floor::wait_for::all);
        }
    }

    floor all_;
    std::list<floor> each_;
    std::vector<double> quorum_us_;
    std::vector<double> one_us_;
};

asio::awaitable<void> all_contend(redlock::client& client, std::string resource, contest& into) {
    const auto executor = co_await asio::this_coro::executor;
    finish_line done(executor, into.workers);
    for (std::size_t i = 0; i < into.workers; ++i) {
        asio::co_spawn(executor, contend(client, resource, i, into),
                       [&done](const std::exception_ptr& failure) {
                           if (failure) std::rethrow_exception(failure);
                           done.try_send(boost::system::error_code());
                       });
    }
    for (std::size_t i = 0; i < into.workers; ++i) co_await done.async_receive(asio::use_awaitable);
}

contest_figures within_this_process(setting& on, std::chrono::milliseconds duration) {
    contest got;
    got.workers = few;
    const auto begin = redlock::clock::now();
    got.when.begin_ns = begin.time_since_epoch().count();
    got.when.end_ns = (begin + duration).time_since_epoch().count();
    const double cpu = cpu_seconds();
    on.run(all_contend(on.client(), next_resource(), got));
    got.cpu_us = (cpu_seconds() - cpu) * 1e6;
    on.settle();
    return figures_of(std::move(got));
}

contest_figures between_processes(const setting& on, const party& whose, std::size_t processes,
                                  std::chrono::milliseconds duration) {
    std::vector<std::string> command = whose.command;
    command.push_back(next_resource());
    for (const auto port : ports_of(on)) command.push_back(std::to_string(port));
    return figures_of(contest_of_processes(command, processes, duration));
}

void print(const setting& on, const party& whose, std::size_t workers, std::size_t processes,
           yardstick& beside) {
    const auto of = [&whose](figure which) { return median(whose.blocks, which); };
    using figures = contest_figures;
    json_line("contended")
        .add("nodes", on.size())
        .add("mode", whose.mode)
        .add("by", whose.by)
        .add("processes", processes)
        .add("workers", workers)
        .add("section_us", section_us)
        .add("blocks", whose.blocks.size())
        .add("turns", sum(whose.blocks, &figures::turns))
        .add("failures", sum(whose.blocks, &figures::failures))
        .add("overlaps", sum(whose.blocks, &figures::overlaps))
        .add("turns_per_s", of(&figures::turns_per_s))
        .add("turns_times_section", of(&figures::turns_times_section))
        .add("fairness", of(&figures::fairness))
        .add("wait_p50_us", of(&figures::wait_p50_us))
        .add("wait_p99_us", of(&figures::wait_p99_us))
        .add("p99_wait_over_ideal", of(&figures::wait_p99_over_ideal))
        .add("cpu_us_per_turn", of(&figures::cpu_us_per_turn))
        .add("held_p50_us", of(&figures::held_p50_us))
        .add("next_grant_p50_us", of(&figures::next_grant_p50_us))
        .add("handover_p50_us", of(&figures::handover_p50_us))
        .add("handover_p99_us", of(&figures::handover_p99_us))
        .add("changes_of_holder_per_s", of(&figures::changes_of_holder_per_s))
        .add("round_trip_us", beside.round_trip_us())
        .add("floor_quorum_us", beside.floor_us())
        .add("next_grant_over_round_trip", of(&figures::next_grant_p50_us) / beside.round_trip_us())
        .add("next_grant_over_floor_quorum", of(&figures::next_grant_p50_us) / beside.floor_us())
        .add("handover_over_round_trip", of(&figures::handover_p50_us) / beside.round_trip_us())
        .add("handover_over_floor_quorum", of(&figures::handover_p50_us) / beside.floor_us())
        .print();
}

// That another program's lock admits two is a figure; that ours does is an error.
void check_exclusion(const party& whose) {
    if (sum(whose.blocks, &contest_figures::overlaps) == 0) return;
    throw std::runtime_error(whose.by + ": two held one resource at once, or a fence did not rise");
}

void print_absent(const std::string& peer, const std::string& reason) {
    json_line("contended_absent").add("peer", peer).add("reason", reason).print();
}

std::vector<party> all_parties(const extent& how) {
    std::vector<party> all{{"redlock", "fenced", {this_program, "contend", "fenced"}}};
    if (!how.peers) {
        print_absent("redlock plain", how.without_peers);
        print_absent("redsync", how.without_peers);
        return all;
    }
    all.push_back({"redlock plain", "plain", {this_program, "contend", "plain"}});
    if (how.redsync.empty()) {
        print_absent("redsync", how.without_peers);
        return all;
    }
    for (const std::string delay : {"default", "1", "5", "20"}) {
        const std::string shown = delay == "default" ? "50 to 250" : delay;
        all.push_back({"redsync, delay " + shown + " ms", "plain", {how.redsync, delay, "all"}});
    }
    all.push_back({"redsync, delay 1 ms, fail-fast", "plain", {how.redsync, "1", "fail-fast"}});
    return all;
}

const party& best_of(std::span<const party> peers) {
    constexpr figure changes = &contest_figures::changes_of_holder_per_s;
    return *std::max_element(peers.begin(), peers.end(), [](const party& a, const party& b) {
        return median(a.blocks, changes) < median(b.blocks, changes);
    });
}

void print_ratios(const setting& on, const party& ours, const party& peer, std::size_t workers) {
    json_line("contended_ratios")
        .add("nodes", on.size())
        .add("mode", ours.mode)
        .add("workers", workers)
        .add("best_peer", peer.by)
        .add("changes_of_holder_over_peer",
             median_ratio(ours, peer, &contest_figures::changes_of_holder_per_s))
        .add("p99_wait_over_peer", median_ratio(ours, peer, &contest_figures::wait_p99_us))
        .add("cpu_per_turn_over_peer", median_ratio(ours, peer, &contest_figures::cpu_us_per_turn))
        .print();
}

// What makes another library's processes starve is no reason to measure nothing else.
void measure_block(const setting& on, const extent& how, party& next, std::size_t processes) {
    if (!next.absent.empty()) return;
    try {
        next.blocks.push_back(between_processes(on, next, processes, how.contest));
    } catch (const silence& error) {
        if (next.command.front() == this_program) throw;
        next.absent = error.what();
    }
}

// The first is ours; the others are its peers.
void measure_parties(const setting& on, const extent& how, std::span<party> parties,
                     std::size_t processes, yardstick& beside) {
    for (std::size_t round = 0; round < how.contest_rounds; ++round) {
        for (std::size_t i = 0; i < parties.size(); ++i) {
            party& next = parties[(round + i) % parties.size()];
            beside.measure(how.cycles_per_block);
            measure_block(on, how, next, processes);
        }
    }
    std::vector<party> peers;
    for (const party& one : parties) {
        if (!one.absent.empty()) {
            print_absent(one.by, one.absent);
            continue;
        }
        print(on, one, processes, processes, beside);
        if (&one != &parties.front()) peers.push_back(one);
    }
    if (!peers.empty()) print_ratios(on, parties.front(), best_of(peers), processes);
    for (const party& one : parties) {
        if (one.command.front() == this_program) check_exclusion(one);
    }
}

void measure_many(const setting& on, const extent& how, std::span<const party> parties,
                  yardstick& beside) {
    std::vector<party> finalists{parties.front()};
    const auto of_redsync = [](const party& p) {
        return p.command.front() != this_program && p.absent.empty();
    };
    std::vector<party> others;
    std::copy_if(parties.begin(), parties.end(), std::back_inserter(others), of_redsync);
    if (!others.empty()) finalists.push_back(best_of(others));
    for (party& one : finalists) one.blocks.clear();
    measure_parties(on, how, finalists, how.many_contenders, beside);
}

}  // namespace

void measure_contended(setting& on, const extent& how) {
    yardstick beside(on.options().nodes);
    party inside{"redlock", on.mode(), {}};
    for (std::size_t i = 0; i < how.contest_rounds; ++i) {
        beside.measure(how.cycles_per_block);
        inside.blocks.push_back(within_this_process(on, how.contest));
    }
    print(on, inside, few, 1, beside);
    check_exclusion(inside);

    std::vector<party> parties = all_parties(how);
    measure_parties(on, how, parties, few, beside);
    if (how.many_contenders > 0) measure_many(on, how, parties, beside);
}

}  // namespace bench
