// Watches a resource until it shows another leader; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/initiate_election.hpp>
#include <redlock/resource_state.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace redlock::detail {

/// One `async_observe`. The watch that is under way owns it.
class observation : public std::enable_shared_from_this<observation> {
public:
    observation(impl_ptr client, std::string name, std::optional<leader_info> last,
                leader_handler handler)
        : impl_(std::move(client)), name_(std::move(name)), last_(std::move(last)),
          handler_(std::move(handler)) {}

    void start();

private:
    void watch();
    void on_change(error_code why, resource_state shown);
    void cancel();
    void finish(error_code why, std::optional<leader_info> found);

    const impl_ptr impl_;
    const std::string name_;
    const std::optional<leader_info> last_;
    resource_state shown_;
    leader_handler handler_;

    std::mutex gate_;  // watches follow each other, but a cancellation comes from any thread
    bool is_cancelled_ = false;
    asio::cancellation_signal signal_;  // of the watch that is under way
};

}  // namespace redlock::detail
