// How a program that uses locks is tested without a Redis: masters in memory, and a clock that the
// test moves. SPDX-License-Identifier: MIT
#include <redlock/client.hpp>
#include <redlock/testing.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>

using namespace std::chrono_literals;

// What is to be tested: a job that runs while it has the lock, and says how it ended.
class nightly_job {
public:
    nightly_job(redlock::client& locks, std::function<void(std::string)> on_end)
        : locks_(&locks), on_end_(std::move(on_end)) {}

    void start() {
        locks_->async_acquire("nightly", {.ttl = 30s}, [this](auto ec, redlock::lease got) {
            if (ec == redlock::errc::contended) return on_end_("another machine runs it");
            if (ec) return on_end_("no lock: " + ec.message());
            held_ = std::move(got);
            locks_->async_lost(held_, [this](auto why, redlock::loss) {
                if (!why) on_end_("lost the lock");
            });
        });
    }
    bool may_write() const { return static_cast<bool>(held_); }
    void finish() {
        locks_->async_release(std::move(held_), [this](auto ec) {
            on_end_(ec ? "not released: " + ec.message() : "done");
        });
    }

private:
    redlock::client* locks_;
    redlock::lease held_;
    std::function<void(std::string)> on_end_;
};

namespace {

void require(bool is_so, const std::string& what) {
    if (!is_so) throw std::runtime_error("not so: " + what);
    std::cout << "ok: " << what << "\n";
}

// One test's world. Each has masters of its own, which are empty.
struct fixture {
    redlock::testing::masters nodes{3};
    boost::asio::io_context io;
    redlock::client locks{io, nodes.options()};
    std::string ended;
    nightly_job job{locks, [this](std::string how) { ended = std::move(how); }};

    void start() {
        job.start();
        nodes.advance(io, 0s);
    }
};

void it_runs_and_ends() {
    fixture f;
    f.start();
    require(f.job.may_write(), "the job has the lock");
    f.nodes.advance(f.io, 5min);
    require(f.job.may_write(), "the lease is renewed for as long as the job takes");
    f.job.finish();
    f.nodes.advance(f.io, 0s);
    require(f.ended == "done" && f.nodes.holding("nightly") == 0,
            "the lock is free when it is done");
}

void it_leaves_the_work_to_another() {
    fixture f;
    f.nodes.occupy("nightly", 1h);
    f.start();
    require(f.ended == "another machine runs it", "the job does not run twice");
}

void it_stops_when_the_lock_is_lost() {
    fixture f;
    f.start();
    f.nodes.advance(f.io, 5min);
    f.nodes.shut_down(0);
    f.nodes.shut_down(1);
    f.nodes.advance(f.io, 10s);
    require(f.job.may_write(), "a lease of 30 s outlives 10 s without a quorum");
    f.nodes.advance(f.io, 20s);
    require(!f.job.may_write() && f.ended == "lost the lock", "it stops before the lease ends");
}

void it_needs_a_quorum() {
    fixture f;
    f.nodes.shut_down(1);
    f.nodes.shut_down(2);
    f.start();
    f.nodes.advance(f.io, 10s);
    require(f.ended.starts_with("no lock: ") && !f.job.may_write(),
            "one node of three is no quorum");
}

}  // namespace

int main() {
    try {
        for (auto* test : {&it_runs_and_ends, &it_leaves_the_work_to_another,
                           &it_stops_when_the_lock_is_lost, &it_needs_a_quorum}) {
            const auto began = std::chrono::steady_clock::now();
            test();
            const std::chrono::duration<double, std::milli> took =
                std::chrono::steady_clock::now() - began;
            std::cout << "   in " << took.count() << " ms\n";
        }
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n";
        return 1;
    }
}
