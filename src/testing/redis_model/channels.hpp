// The subscribers of each channel of a Redis master; knows no command and no key.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace redlock::fakes {

class channels;

/// A connection as one sees it that publishes. It and the server may end in any order.
class subscriber {
public:
    subscriber() = default;
    ~subscriber() { leave(); }
    subscriber(const subscriber&) = delete;  // the server knows it by its address
    subscriber& operator=(const subscriber&) = delete;

    /// Takes each message, as bytes in RESP2, while the command that publishes it is carried out.
    /// Messages for which there is none are lost, and yet count as received. Throws nothing and
    /// has the server execute nothing; it may end connections, this one too.
    std::function<void(std::string)> push{};

    /// Ends all of them.
    void leave() noexcept;
    /// Those that the process it talks to knows of: none after a crash.
    std::size_t subscriptions() const noexcept { return in_.expired() ? 0 : names_.size(); }

private:
    friend class channels;

    std::weak_ptr<channels> in_{};
    std::set<std::string> names_{};  // outdated where that is gone
};

/// The channels of one process of a server. They end with it.
class channels : public std::enable_shared_from_this<channels> {
public:
    void subscribe(subscriber& client, const std::string& name);
    void unsubscribe(subscriber& client, const std::string& name) noexcept;
    /// The first of the channels that `client` is subscribed to; null where there is none.
    const std::string* first_of(const subscriber& client) const noexcept;
    /// Sends to the subscribers in the order in which they subscribed. Returns their number.
    std::int64_t publish(const std::string& name, const std::string& message);

private:
    friend class subscriber;

    bool has(const std::string& name, const subscriber* client) const noexcept;
    void forget(const std::string& name, const subscriber* client) noexcept;

    std::map<std::string, std::vector<subscriber*>> by_name_;
};

}  // namespace redlock::fakes
