// The question of one connection for its password, and the way of the answer to the strand; and the
// command that answers it.
// SPDX-License-Identifier: MIT
#pragma once

#include "asio/performers.hpp"
#include "value/clock.hpp"

#include <redlock/credentials.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace redlock::detail {

struct credentials_answer {
    std::string username{};  ///< Empty: that of the options.
    std::string password{};
    std::string why{};       ///< There is none; not empty then.
};

/// Where the answer arrives, on the strand: at most once for each question, in a turn of its own.
class credentials_user {
public:
    virtual void on_credentials(std::uint64_t question, credentials_answer what) = 0;

protected:
    ~credentials_user() = default;
};

/// Thread-safe. Only requests keep it alive: without an answer its end is a failure.
class credentials_question {
public:
    /// `user` lives as long as `owner` delivers.
    credentials_question(std::string node, time_point deadline, std::weak_ptr<wire_owner> owner,
                         credentials_user& user, std::uint64_t number)
        : node_(std::move(node)),
          deadline_(deadline),
          owner_(std::move(owner)),
          user_(&user),
          number_(number) {}
    ~credentials_question();
    credentials_question(const credentials_question&) = delete;
    credentials_question& operator=(const credentials_question&) = delete;

    const std::string& node() const noexcept { return node_; }
    time_point deadline() const noexcept { return deadline_; }
    void end(credentials_answer what);
    /// The answer is of no use any more.
    void abandon() noexcept;
    void on_abandoned(std::function<void()> what);

private:
    const std::string node_;
    const time_point deadline_;
    const std::weak_ptr<wire_owner> owner_;
    credentials_user* const user_;
    const std::uint64_t number_;
    std::mutex mutex_;
    bool is_over_ = false;
    bool is_abandoned_ = false;  // it is over, too
    std::function<void()> then_;
};

/// How messages name the command.
std::string name_of_command(const std::vector<std::string>& words);

/// Runs it as `node_options::password_command` says, on a thread that nothing waits for: what it
/// uses is its own. Throws `std::system_error` where there is no descriptor or no thread left.
void run_password_command(const std::vector<std::string>& words, const credentials_request& to);

}  // namespace redlock::detail
