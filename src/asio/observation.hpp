// Looks at a resource until it shows another leader, on a timer of its own; decides nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/initiate_election.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace redlock::detail {

/// One `async_observe`. The request or the timer that is under way owns it. All that knows how a
/// change is noticed is here and in `value/leadership.hpp`.
class observation : public std::enable_shared_from_this<observation> {
public:
    observation(impl_ptr client, std::string name, std::optional<leader_info> last,
                leader_handler handler)
        : impl_(std::move(client)), name_(std::move(name)), last_(std::move(last)),
          handler_(std::move(handler)) {}

    void start();

private:
    void look();
    void on_shown(error_code why, const resource_state& shown);
    void pause();
    void cancel();
    void finish(error_code why, std::optional<leader_info> found);

    const impl_ptr impl_;
    const std::string name_;
    const std::optional<leader_info> last_;
    leader_handler handler_;

    std::mutex gate_;  // steps follow each other, but a cancellation comes from any thread
    bool is_cancelled_ = false;
    asio::cancellation_signal signal_;  // of the step that is under way
    std::optional<asio::steady_timer> timer_;
};

}  // namespace redlock::detail
