// The error categories, and which foreign errors fall under our conditions; knows no operation.
// SPDX-License-Identifier: MIT
#include <redlock/error.hpp>

#include "value/connection_error.hpp"

#include <algorithm>
#include <string>

namespace redlock {

namespace {

const char* text_of(int value) noexcept {
    switch (static_cast<errc>(value)) {
        case errc::contended: return "somebody else holds the lock";
        case errc::no_quorum: return "too few nodes could vote";
        case errc::validity_exhausted: return "the grants came too late for the ttl";
        case errc::not_held: return "the lock is not held";
        case errc::lost: return "the lease was lost";
        case errc::would_deadlock: return "this thread holds the lock already";
        case errc::invalid_argument: return "an argument is out of its range";
        case errc::client_closed: return "the client is closed";
        case errc::auth_failed: return "the node refused the user name or the password";
        case errc::script_rejected: return "the node refused to run a script";
        case errc::config_invalid: return "the configuration is not valid";
        case errc::timed_out: return "no answer in time";
        case errc::backlog: return "too many commands wait for the node";
        case errc::protocol_error: return "the answer is no valid reply";
        case errc::server_error: return "the node answered with an error";
        case errc::not_master: return "the node is not a master";
        case errc::duplicate_node: return "the node is the same server as another one";
        case errc::clock_skew: return "the node's clock is too far from the others";
        case errc::in_quarantine: return "the node is in quarantine after a restart";
        case errc::foreign_data: return "a key holds what this library did not write";
        case errc::other_set: return "the node belongs to another set of nodes";
        case errc::missing_right: return "the user lacks a right";
    }
    return "unknown error";
}

bool is_one_of(const error_code& code, std::initializer_list<errc> list) noexcept {
    return std::any_of(list.begin(), list.end(), [&](errc e) { return code == e; });
}

bool falls_under(const error_code& code, condition what) noexcept {
    switch (what) {
        case condition::retryable:
            return is_one_of(code, {errc::contended, errc::no_quorum, errc::validity_exhausted,
                                    errc::timed_out, errc::backlog, errc::in_quarantine}) ||
                   detail::is_broken_connection(code);
        case condition::ownership: return is_one_of(code, {errc::not_held, errc::lost});
        case condition::unreachable:
            return is_one_of(code, {errc::no_quorum, errc::timed_out, errc::backlog}) ||
                   detail::is_broken_connection(code);
        case condition::configuration:
            return is_one_of(code, {errc::auth_failed, errc::script_rejected, errc::config_invalid,
                                    errc::not_master, errc::duplicate_node, errc::clock_skew,
                                    errc::foreign_data, errc::other_set,
                                    errc::missing_right});
    }
    return false;
}

// The ids make two copies of the library in one process agree on what is equal.
class error_category_impl final : public boost::system::error_category {
public:
    constexpr error_category_impl() noexcept : error_category(0x9b1e'5c0f'72a4'd683ULL) {}
    const char* name() const noexcept override { return "redlock"; }
    std::string message(int value) const override { return text_of(value); }
    const char* message(int value, char*, std::size_t) const noexcept override {
        return text_of(value);
    }
};

class condition_category_impl final : public boost::system::error_category {
public:
    constexpr condition_category_impl() noexcept : error_category(0x9b1e'5c0f'72a4'd684ULL) {}
    const char* name() const noexcept override { return "redlock.condition"; }
    std::string message(int value) const override {
        switch (static_cast<condition>(value)) {
            case condition::retryable: return "the same call may succeed later";
            case condition::ownership: return "the lock is not, or no longer, held";
            case condition::unreachable: return "nodes could not be asked";
            case condition::configuration: return "an operator must fix the configuration or the nodes";
        }
        return "unknown condition";
    }
    bool equivalent(const error_code& code, int value) const noexcept override {
        return falls_under(code, static_cast<condition>(value));
    }
    using error_category::equivalent;
};

}  // namespace

const boost::system::error_category& category() noexcept {
    static const error_category_impl instance;
    return instance;
}

const boost::system::error_category& condition_category() noexcept {
    static const condition_category_impl instance;
    return instance;
}

}  // namespace redlock
