// A user's program whose own threads run the client's context, first one thread and then three.
// SPDX-License-Identifier: MIT
#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/error.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr int cycles_of_one_worker = 20;

struct tally {
    std::atomic<int> cycles{0};
    std::atomic<int> failures{0};
    std::atomic<int> workers{0};
};

/// Takes a lock and releases it, again and again. Its handlers run on a strand that the program
/// made.
class worker {
public:
    worker(asio::io_context& context, redlock::client& client, std::string resource, tally& counts)
        : strand_(asio::make_strand(context)),
          timer_(strand_),
          client_(&client),
          resource_(std::move(resource)),
          counts_(&counts) {}

    void acquire() {
        if (left_-- == 0) return leave();
        client_->async_acquire(resource_, {.ttl = 20s, .wait = 60s},
                               asio::bind_executor(strand_, [this](redlock::error_code ec,
                                                                   redlock::lease got) {
                                   if (ec) return fail(ec);
                                   held_ = std::move(got);
                                   hold();
                               }));
    }

private:
    void hold() {
        timer_.expires_after(1ms);
        timer_.async_wait([this](redlock::error_code) { release(); });
    }
    void release() {
        client_->async_release(std::move(held_),
                               asio::bind_executor(strand_, [this](redlock::error_code ec) {
                                   if (ec) return fail(ec);
                                   ++counts_->cycles;
                                   acquire();
                               }));
    }
    void fail(redlock::error_code ec) {
        std::cerr << resource_ + ": " + ec.message() + "\n";
        ++counts_->failures;
        leave();
    }
    void leave() {
        if (--counts_->workers == 0) client_->close();
    }

    asio::strand<asio::io_context::executor_type> strand_;
    asio::steady_timer timer_;
    redlock::client* client_;
    std::string resource_;
    tally* counts_;
    redlock::lease held_;
    int left_ = cycles_of_one_worker;
};

bool works_on(int threads, const redlock::client_options& options) {
    constexpr int workers = 8;
    asio::io_context context;
    redlock::client client(context.get_executor(), options);
    tally counts;
    counts.workers = workers;
    std::vector<std::unique_ptr<worker>> all;
    for (int i = 0; i < workers; ++i) {
        const std::string resource = i < 4 ? "shared" : "own" + std::to_string(i);
        all.push_back(std::make_unique<worker>(context, client, resource, counts));
        all.back()->acquire();
    }
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) running.emplace_back([&context] { context.run(); });
    for (auto& thread : running) thread.join();
    std::cout << threads << " threads: " << counts.cycles << " cycles, " << counts.failures
              << " failures\n";
    return counts.failures == 0 && counts.cycles == workers * cycles_of_one_worker;
}

}  // namespace

int main() {
    const auto options = redlock::options_from_environment();
    if (!options) {
        std::cerr << options.error().message() << '\n';
        return 2;
    }
    for (const int threads : {1, 3, 1, 3}) {
        if (!works_on(threads, *options)) return 1;
    }
    return 0;
}
