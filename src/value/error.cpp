// Error codes, votes and refusals.
// SPDX-License-Identifier: MIT
#include "value/error.hpp"

#include "value/nodes.hpp"
#include "value/text.hpp"

#include <redlock/detail/printable.hpp>
#include <redlock/detail/section.hpp>
#include <redlock/loss.hpp>
#include <redlock/result.hpp>
#include <redlock/vote.hpp>

#include <boost/system/system_error.hpp>
#include <boost/throw_exception.hpp>

#include <algorithm>
#include <cstddef>
#include <system_error>

namespace redlock {

namespace {

const char* text_of(int value) noexcept {
    switch (static_cast<errc>(value)) {
        case errc::contended: return "somebody else holds the lock";
        case errc::no_quorum: return "too few nodes could vote";
        case errc::validity_exhausted: return "the grants came too late for the ttl";
        case errc::not_held: return "the lock is not held";
        case errc::lost: return "the lease was lost";
        case errc::would_deadlock: return "the call would wait for itself";
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
        case errc::no_credentials: return "there is no password for the node";
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
                                    errc::missing_right, errc::no_credentials});
    }
    return false;
}

namespace std_errc = boost::system::errc;  // as std::errc compares with it

// The ids make two copies of the library in one process agree on what is equal.
class error_category_impl final : public boost::system::error_category {
public:
    constexpr error_category_impl() noexcept : error_category(0x9b1e'5c0f'72a4'd683ULL) {}
    const char* name() const noexcept override { return "redlock"; }
    std::string message(int value) const override { return text_of(value); }
    const char* message(int value, char*, std::size_t) const noexcept override {
        return text_of(value);
    }
    boost::system::error_condition default_error_condition(int value) const noexcept override {
        switch (static_cast<errc>(value)) {
            case errc::contended: return make_error_condition(std_errc::device_or_resource_busy);
            case errc::not_held: return make_error_condition(std_errc::operation_not_permitted);
            case errc::would_deadlock:
                return make_error_condition(std_errc::resource_deadlock_would_occur);
            case errc::invalid_argument: return make_error_condition(std_errc::invalid_argument);
            case errc::timed_out: return make_error_condition(std_errc::timed_out);
            default: return {value, *this};
        }
    }
    // Of an acquire that had a wait, contention is that its time is over.
    bool equivalent(int value, const boost::system::error_condition& what) const noexcept override {
        return what == default_error_condition(value) ||
               (static_cast<errc>(value) == errc::contended && what == std_errc::timed_out);
    }
    using error_category::equivalent;
};

class condition_category_impl final : public boost::system::error_category {
public:
    constexpr condition_category_impl() noexcept : error_category(0x9b1e'5c0f'72a4'd684ULL) {}
    const char* name() const noexcept override { return "redlock.condition"; }
    std::string message(int value) const override {
        switch (static_cast<condition>(value)) {
            case condition::retryable: return "the same call may succeed later";
            case condition::ownership: return "the lock is not, or no longer, held";
            case condition::unreachable: return "nodes did not answer";
            case condition::configuration:
                return "an operator must fix the configuration or the nodes";
        }
        return "unknown condition";
    }
    bool equivalent(const error_code& code, int value) const noexcept override {
        return falls_under(code, static_cast<condition>(value));
    }
    using error_category::equivalent;
};

// All that did not grant: first those that answered.
std::vector<const node_vote*> in_the_way(const std::vector<node_vote>& votes) {
    std::vector<const node_vote*> out;
    for (const bool has_answered : {true, false}) {
        for (const node_vote& v : votes) {
            if (v.answer != vote::granted && (v.answer != vote::pending) == has_answered)
                out.push_back(&v);
        }
    }
    return out;
}

// By the nodes of one list: all but those with that mark.
std::string granted_by(const std::vector<node_vote>& votes, list_change without,
                       std::string_view list) {
    std::size_t nodes = 0;
    std::size_t granted = 0;
    for (const node_vote& v : votes) {
        if (v.change == without && without != list_change::none) continue;
        ++nodes;
        granted += v.answer == vote::granted ? 1U : 0U;
    }
    return std::to_string(granted) + " of " + std::to_string(nodes) +
           (nodes == 1 ? " node" : " nodes") + std::string(list) + " granted, " +
           std::to_string(redlock::quorum(nodes)) + " needed";
}

std::string granted_by(const std::vector<node_vote>& votes) {
    const bool is_joint = std::any_of(votes.begin(), votes.end(), [](const node_vote& v) {
        return v.change != list_change::none;
    });
    if (!is_joint) return granted_by(votes, list_change::none, "");
    return granted_by(votes, list_change::joining, " of the old list") + ", and " +
           granted_by(votes, list_change::leaving, " of the new list");
}

}  // namespace

const boost::system::error_category& category() noexcept {
    static const error_category_impl instance;
    return instance;
}

const boost::system::error_category& condition_category() noexcept {
    static const condition_category_impl instance;
    return instance;
}

std::string_view to_string(loss reason) noexcept {
    static constexpr std::string_view names[] = {"expired", "taken", "unreachable", "max_hold",
                                                 "stalled"};
    return text::name_in<loss::stalled>(names, reason);
}

std::string refusal::message() const {
    const std::string reasons = detail::reasons_of(*this);
    return text::printable(code.message()) + (reasons.empty() ? "" : ": ") + reasons;
}

std::string detail::reasons_of(const refusal& r) {
    std::string out = text::printable(r.detail);
    const auto& votes = r.votes;
    if (votes.empty()) return out;
    out += (out.empty() ? "" : ": ") + granted_by(votes);
    const auto others = in_the_way(votes);
    const std::size_t shown = detail::shown_of(others.size());
    for (std::size_t i = 0; i < shown; ++i) {
        out += "; " + text::printable(others[i]->node) + ": " + text::full_cause(*others[i]);
    }
    if (shown < others.size()) out += "; and " + std::to_string(others.size() - shown) + " more";
    return out;
}

void throw_exception_from_error(const refusal& r, const boost::source_location& where) {
    boost::throw_exception(std::system_error(r.code, detail::reasons_of(r)), where);
}

void throw_exception_from_error(const call_error& e, const boost::source_location& where) {
    boost::throw_exception(std::system_error(e), where);
}

std::exception_ptr detail::as_exception(const refusal& why) {
    // Whose text ends with that of the code.
    return std::make_exception_ptr(boost::system::system_error(why.code, reasons_of(why)));
}

error_code code_of(const std::exception_ptr& why) {
    if (!why) return {};
    try {
        std::rethrow_exception(why);
    } catch (const boost::system::system_error& e) {
        return e.code();
    } catch (const std::system_error& e) {
        return e.code();
    }
}

std::string_view to_string(vote v) noexcept {
    static constexpr std::string_view names[] = {"pending", "granted",   "held",
                                                 "queued",  "stale",     "quarantine",
                                                 "refused", "timed_out", "unreachable"};
    return text::name_in<vote::unreachable>(names, v);
}

std::string format(const node_vote& v) {
    std::string out = text::printable(v.node) + ": " + text::cause(v);
    if (v.elapsed.count() > 0) out += " (" + text::brief(v.elapsed) + ")";
    return out;
}

}  // namespace redlock
