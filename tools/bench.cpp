// `redlock bench`: latency, throughput and hand-off on the operator's own nodes.
// SPDX-License-Identifier: MIT
#include "tools/commands.hpp"

#include "tools/asking.hpp"
#include "tools/formats.hpp"
#include "tools/exit_status.hpp"
#include "tools/report.hpp"
#include "tools/signals.hpp"

#include <redlock/client.hpp>
#include <redlock/owner_id.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::tool {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

class durations {
public:
    void add(clock::duration d) {
        us_.push_back(std::chrono::duration<double, std::micro>(d).count());
    }
    std::size_t size() const noexcept { return us_.size(); }
    /// In us; there is one at least.
    std::int64_t at(double share) {
        const auto i = static_cast<std::size_t>(share * static_cast<double>(us_.size() - 1));
        std::nth_element(us_.begin(), us_.begin() + static_cast<std::ptrdiff_t>(i), us_.end());
        return static_cast<std::int64_t>(us_[i]);
    }

private:
    std::vector<double> us_;
};

// What the workers of a part have in common.
struct part {
    clock::time_point end{};
    acquire_options terms{};
    durations acquired{};
    durations released{};
    clock::time_point last_release{};
    std::size_t working = 0;
    refusal failure{};  // of the first worker that could not go on
};

// Acquires and releases one resource until the part is over, or something fails.
class cycling {
public:
    cycling(client& by, part& of, std::string resource)
        : client_(&by), part_(&of), resource_(std::move(resource)) {
        ++part_->working;
        acquire();
    }
    cycling(const cycling&) = delete;
    cycling& operator=(const cycling&) = delete;

private:
    // Where it waited for another worker, the time counts from that one's release.
    void acquire() {
        const auto began = clock::now();
        client_->async_acquire(resource_, part_->terms, [this, began](error_code ec, lease got) {
            if (ec) return fail(ec, got);
            part_->acquired.add(clock::now() - std::max(began, part_->last_release));
            release(std::move(got));
        });
    }
    void release(lease held) {
        const auto began = clock::now();
        if (part_->terms.wait > 0ms) part_->last_release = began;
        client_->async_release(std::move(held), [this, began](error_code ec) {
            if (ec) return fail(ec, lease());
            part_->released.add(clock::now() - began);
            if (clock::now() < part_->end) return acquire();
            --part_->working;
        });
    }
    void fail(error_code ec, const lease& refused) {
        if (!part_->failure.code) {
            part_->failure = {ec, {refused.votes().begin(), refused.votes().end()}};
        }
        --part_->working;
    }

    client* client_;
    part* part_;
    std::string resource_;
};

std::string ms(std::int64_t us) {
    char text[40];
    std::snprintf(text, sizeof text, "%.2f ms", static_cast<double>(us) / 1e3);
    return text;
}

struct result_line {
    const char* name;
    const char* text;
    bool shows_rate;
};

std::string show_part(const result_line& line, part& of, clock::duration took, bool json) {
    const auto rate = static_cast<std::int64_t>(static_cast<double>(of.released.size()) /
                                                std::chrono::duration<double>(took).count());
    if (json) {
        return json_text({{"part", line.name},
                          {"cycles", of.released.size()},
                          {"cycles_per_s", rate},
                          {"acquire_p50_us", of.acquired.at(0.5)},
                          {"acquire_p99_us", of.acquired.at(0.99)},
                          {"acquire_max_us", of.acquired.at(1)},
                          {"release_p50_us", of.released.at(0.5)},
                          {"release_p99_us", of.released.at(0.99)}}) +
               "\n";
    }
    std::string text = std::string(line.text) + ": p50 " + ms(of.acquired.at(0.5)) + ", p99 " +
                       ms(of.acquired.at(0.99)) + ", longest " + ms(of.acquired.at(1));
    if (line.shows_rate) text += "; " + std::to_string(rate) + " cycles a second";
    return text + "\n";
}

class bench_run {
public:
    bench_run(const bench_request& request, const configuration& found)
        : request_(&request), found_(&found) {
        terms_.ttl = redlock::default_ttl(found.client);
        for (const int s : not_ignored({SIGINT, SIGTERM, SIGHUP})) signals_.add(s);
        signals_.async_wait([this](error_code ec, int signal) {
            if (ec) return;
            ended_by_ = signal;
            now_.end = {};
        });
    }

    int run() {
        const std::string resource = "redlock-bench:" + owner_id::random().to_string() + ":";
        std::vector<std::string> own;
        for (std::size_t i = 0; i < request_->workers; ++i) {
            own.push_back(resource + std::to_string(i));
        }
        int status = cycle({own[0]}, 0ms);  // the first one waits for the connections
        if (status == success) {
            status = measure({"latency", "one acquire at a time", false}, {own[0]});
        }
        if (status == success) {
            status = measure({"throughput", "acquires of all workers at once", true}, own);
        }
        if (status == success) {
            // Of two programs: each waits for the other's release.
            terms_.wait = 10s;
            status = measure({"handoff", "from one program's release to the other's grant", false},
                             {resource + "handoff", resource + "handoff"});
        }
        signals_.cancel();
        for (auto& one : clients_) one.close();
        drain(context_, longest_answer(found_->client), status);
        return status;
    }

private:
    // Each worker once, and then until the time is over. Returns the exit status.
    int cycle(const std::vector<std::string>& resources, milliseconds time) {
        now_ = part{};
        now_.terms = terms_;
        now_.end = clock::now() + time;
        std::vector<std::unique_ptr<cycling>> workers;
        for (std::size_t i = 0; i < resources.size(); ++i) {
            workers.push_back(
                std::make_unique<cycling>(clients_[terms_.wait > 0ms ? i : 0], now_, resources[i]));
        }
        while (now_.working > 0) context_.run_one();
        if (ended_by_ != 0) return signalled + ended_by_;
        return now_.failure.code ? explain(now_.failure, resources, "", contended) : success;
    }

    int measure(const result_line& line, const std::vector<std::string>& resources) {
        const auto began = clock::now();
        if (const int status = cycle(resources, request_->each); status != success) return status;
        return print(show_part(line, now_, clock::now() - began, request_->json)) ? success
                                                                                  : own_failure;
    }

    const bench_request* request_;
    const configuration* found_;
    acquire_options terms_;
    asio::io_context context_{1};
    asio::signal_set signals_{context_};
    int ended_by_ = 0;
    part now_;
    client clients_[2]{client(context_.get_executor(), found_->client),
                       client(context_.get_executor(), found_->client)};
};

}  // namespace

int bench(const bench_request& request) {
    const auto found = find_nodes(request.nodes);
    if (!request.yes) {
        confirm("bench", "if other programs' locks may be slower meanwhile",
                "This acquires and releases locks of its own on " + names_of(found.client) +
                    " for " + format_duration(3 * request.each) +
                    ",\nas fast as they go: meanwhile other programs wait longer for theirs.");
    }
    return bench_run(request, found).run();
}

}  // namespace redlock::tool
