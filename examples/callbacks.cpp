// The asynchronous client with plain callbacks: acquire, work, release; no coroutine.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/client.hpp>
#include <redlock/refusal.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <iostream>
#include <utility>

namespace {

using namespace std::chrono_literals;

// One job under the lock, in the order in which it happens.
class job {
public:
    explicit job(redlock::client& client) : client_(&client) {}

    void start() {
        client_->async_acquire("example:callbacks", {.ttl = 5s, .wait = 10s},
                               [this](redlock::error_code ec, redlock::lease lease) {
                                   on_acquired(ec, std::move(lease));
                               });
    }
    bool done() const { return done_; }

private:
    void on_acquired(redlock::error_code ec, redlock::lease lease) {
        if (ec) {  // the empty lease carries each node's vote
            const redlock::refusal why{ec, {lease.votes().begin(), lease.votes().end()}};
            std::cerr << "not acquired: " << why.message() << '\n';
            return client_->close();
        }
        std::cout << "acquired: work goes here, while the lease is renewed in the background\n";
        client_->async_release(std::move(lease),
                               [this](redlock::error_code why) { on_released(why); });
    }

    void on_released(redlock::error_code ec) {
        if (ec) std::cerr << "not given back: " << ec.message() << '\n';
        done_ = !ec;
        client_->close();  // its connections are what keeps the context running
    }

    redlock::client* client_;
    bool done_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    const redlock::client_options options = example::options(argc, argv);
    boost::asio::io_context context;
    redlock::client client(context.get_executor(), options);
    job job(client);
    job.start();
    context.run();
    return example::check(job.done(), "acquired, and given back on a quorum of nodes");
}
