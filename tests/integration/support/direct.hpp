// A synchronous connection for the test's own questions to a server; knows nothing of the library.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct redisContext;

namespace redlock::testing {

struct reply {
    enum class kind { nil, status, error, integer, string, array };
    kind type = kind::nil;
    long long number = 0;
    std::string text;
    std::vector<reply> items;
};

/// Every question has a time limit, so that a stopped server fails the test and does not hang it.
/// Members throw `std::runtime_error` on a broken connection, and all but `command()` also on an
/// error reply.
class direct {
public:
    explicit direct(std::uint16_t port, const std::string& password = {},
                    std::chrono::milliseconds limit = std::chrono::seconds(10),
                    const std::string& user = {});

    reply command(const std::vector<std::string>& words);

    std::optional<std::string> get(const std::string& key);
    void set(const std::string& key, const std::string& value);
    /// `SET key value NX PX ttl`, as any other program locks; false when somebody has it.
    bool set_nx_px(const std::string& key, const std::string& value, std::chrono::milliseconds ttl);
    /// -2 ms: no such key; -1 ms: no expiry.
    std::chrono::milliseconds pttl(const std::string& key);
    bool exists(const std::string& key);
    bool del(const std::string& key);
    std::vector<std::string> keys(const std::string& pattern = "*");
    void select(int database);
    void config_set(const std::string& name, const std::string& value);
    void script_flush();
    /// Without the words about channels where the servers know none.
    void acl_setuser(const std::vector<std::string>& words);
    /// Closes every other connection to this server; how many there were.
    long long kill_other_clients();
    /// How many connections carry this name (CLIENT LIST).
    int clients_named(const std::string& name);
    /// One field of INFO.
    std::string info(const std::string& field);
    /// How often this server executed a command (lower case), rejected and failed calls included.
    long long calls(const std::string& name);
    void reset_calls();

private:
    reply checked(const std::vector<std::string>& words);

    struct closer {
        void operator()(redisContext* context) const noexcept;
    };
    std::unique_ptr<redisContext, closer> context_;
};

}  // namespace redlock::testing
