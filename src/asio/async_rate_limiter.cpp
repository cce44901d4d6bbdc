// The calls of rate limiters, of both kinds: checks what they are given and launches operations.
// SPDX-License-Identifier: MIT
#include <redlock/async_rate_limiter.hpp>

#include "asio/blocking_client.hpp"
#include "asio/client.hpp"
#include "asio/client_impl.hpp"
#include "client/limit.hpp"
#include "value/text.hpp"

#include <system_error>

namespace redlock::detail {

namespace {

class asio_limit final : public asio_operation<limit_operation, error_code, limit_answer> {
public:
    asio_limit(std::shared_ptr<client_impl> client, limit_handler h, const limiter_ptr& of,
               std::uint16_t cost, std::optional<std::chrono::milliseconds> wait)
        : asio_operation(std::move(client), std::move(h), of, cost,
                         wait.value_or(std::chrono::milliseconds(0))),
          has_wait_(wait.has_value()) {}

private:
    void complete(limit_answer answer) override {
        error_code outcome = answer.why.code;
        if (!has_wait_ && outcome == errc::contended) outcome.clear();
        finish(outcome, std::move(answer));
    }
    time_point read_clock() const override { return clock::now(); }

    const bool has_wait_;
};

class asio_limit_change final : public asio_operation<limit_change, error_code, refusal> {
public:
    using asio_operation::asio_operation;

private:
    void complete(error_code outcome, refusal why) override {
        why.code = outcome;
        finish(outcome, std::move(why));
    }
};

}  // namespace

limiter_ptr make_limiter(const client_options& client, std::string resource, std::uint16_t limit,
                         std::chrono::milliseconds period) {
    if (const auto why = core::why_no_limit(client, resource, limit, period); !why.empty()) {
        throw std::system_error(errc::invalid_argument, text::lock_named(resource) + ": " + why);
    }
    return std::make_shared<limiter>(std::move(resource), limit, period, client);
}

limiter_ptr make_limiter(const impl_ptr& impl, std::string resource, std::uint16_t limit,
                         std::chrono::milliseconds period) {
    return make_limiter(impl ? impl->options() : client_options(), std::move(resource), limit,
                        period);
}

void start_limited(const impl_ptr& impl, const limiter_ptr& of, std::uint16_t cost,
                   std::optional<std::chrono::milliseconds> wait, limit_handler handler) {
    if (is_out_of_reach(impl)) {
        const error_code why = errc::client_closed;
        return std::move(handler)(why, limit_answer{.why = {why, {}}});
    }
    launch<asio_limit>(impl, std::move(handler), of, cost, wait);
}

limit_answer ask_limit(blocking_client& client, const limiter_ptr& of, std::uint16_t cost,
                       std::chrono::milliseconds wait, std::stop_token stop) {
    auto [ec, said] = blocking_access::value_of<limit_answer>(client, stop, [&](auto handler) {
        start_limited(blocking_access::impl(client), of, cost, wait, std::move(handler));
    });
    said.why.code = ec;
    return std::move(said);
}

void start_limit_change(const impl_ptr& impl, const limiter_ptr& of, std::uint16_t limit,
                        refusal_handler handler) {
    if (is_out_of_reach(impl)) {
        const error_code why = errc::client_closed;
        return std::move(handler)(why, refusal{why, {}});
    }
    launch<asio_limit_change>(impl, std::move(handler), of, limit);
}

refusal change_limit(blocking_client& client, const limiter_ptr& of, std::uint16_t limit) {
    auto [ec, said] = blocking_access::value_of<refusal>(client, {}, [&](auto handler) {
        start_limit_change(blocking_access::impl(client), of, limit, std::move(handler));
    });
    said.code = ec;
    return std::move(said);
}

}  // namespace redlock::detail
