// What a client asks the program for before it logs in on a connection.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/clock.hpp>
#include <redlock/export.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace redlock {

namespace detail {
class credentials_question;
}

/// The question of one connection for its password: see `node_options::credentials`. Copies are the
/// same question. The first `answer` or `fail` counts, and later ones do nothing. If the last copy
/// is destroyed before, that is a failure, too.
///
/// **Thread safety.** Any thread may call any member, also when the client is gone.
class REDLOCK_EXPORT credentials_request {
public:
    explicit credentials_request(std::shared_ptr<detail::credentials_question> from) noexcept
        : question_(std::move(from)) {}

    /// The node's name, as in votes.
    const std::string& node() const noexcept;
    /// `connect_timeout` after the question: then the client gives the connection up.
    clock::time_point deadline() const noexcept;
    /// The password, which is not empty; and the ACL user, where it is another than
    /// `node_options::username`.
    void answer(std::string password, std::string username = {}) const;
    /// There is no password now, so the client gives the connection up. `why` becomes part of votes
    /// and events: it may have no secret in it, and should say what to do.
    void fail(std::string why) const;
    /// Has `what` called once, if an answer is of no use any more: the deadline is over, or the
    /// client is closed; at once where it is so already. It is called on the client's internal
    /// strand, or by the thread that destroys the client. It must return quickly, must not throw,
    /// and replaces one that was given before.
    void on_abandoned(std::function<void()> what) const;

private:
    std::shared_ptr<detail::credentials_question> question_;
};

}  // namespace redlock
