// What one node answered in one attempt; knows nothing of how votes are counted.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/error.hpp>
#include <redlock/export.hpp>
#include <redlock/list_change.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace redlock {

/// What one node answered.
enum class vote : std::uint8_t {
    pending,      ///< Nothing yet; the outcome did not depend on it.
    granted,      ///< The key on this node is this acquire's.
    held,         ///< The key on this node has another owner.
    queued,       ///< Other waiters come first; `detail` says if they are this client's.
    stale,        ///< The key is free, but this node has seen a fence above the proposed one.
    quarantine,   ///< The node restarted without its data and has no vote yet.
    refused,      ///< The node answered with an error, or may not vote; `error` says why.
    timed_out,    ///< No answer within `node_timeout`.
    unreachable,  ///< No connection; `error` is the connection's own.
};

/// The name of the enumerator, as it is used in texts.
REDLOCK_EXPORT std::string_view to_string(vote v) noexcept;

/// A node's name: an immutable string. A copy allocates nothing and may outlive the client.
class node_name {
public:
    node_name() = default;
    explicit node_name(std::string text)
        : text_(std::make_shared<const std::string>(std::move(text))) {}

    std::string_view view() const noexcept { return text_ ? std::string_view(*text_) : ""; }
    operator std::string_view() const noexcept { return view(); }
    std::string str() const { return std::string(view()); }
    friend bool operator==(const node_name& a, const node_name& b) noexcept {
        return a.view() == b.view();
    }
    friend bool operator==(const node_name& a, std::string_view b) noexcept {
        return a.view() == b;
    }

private:
    std::shared_ptr<const std::string> text_;
};

/// The smallest number of `nodes` nodes of which two sets always share one.
constexpr std::size_t quorum_of(std::size_t nodes) noexcept { return nodes / 2 + 1; }

/// One node's vote, with its cause and its time.
struct node_vote {
    node_name node;                          ///< `node_options::name`.
    vote answer = vote::pending;             ///< What it answered.
    error_code error{};                      ///< The cause, if it is refused or did not come.
    std::string detail{};                    ///< The server's text, the holder, or why it is late.
    std::chrono::microseconds elapsed{0};    ///< From sending the round to this answer.
    std::chrono::milliseconds retry_in{0};   ///< held: the key's PTTL; quarantine: time left.
    std::uint64_t fence = 0;                 ///< The highest fence in the node's answer; 0: none.
    std::string resource{};                  ///< held, queued: of several, the one in the way.
    /// held: how long ago the lease was granted, if the node's fence shows it; else 0.
    std::chrono::milliseconds held_for{0};
    /// held: the note of the lease, as `resource_state::note`. Not of readers, and not without
    /// `fencing`.
    std::string note{};
    list_change change = list_change::none;  ///< `node_options::change`.
};

/// One line for people to read: node, answer, cause, time; without secrets and whole owner ids.
REDLOCK_EXPORT std::string format(const node_vote& v);

}  // namespace redlock
