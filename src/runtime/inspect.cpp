// Asking every node who holds a resource.
// SPDX-License-Identifier: MIT
#include "runtime/inspect.hpp"

#include "core/census.hpp"
#include "net/answers.hpp"
#include "runtime/commands.hpp"
#include "runtime/engine.hpp"

namespace redlock::detail {

namespace {

// What `K` holds while readers share it.
constexpr std::string_view shared_marker = "redlock:shared";

void note_failure(node_state& node, const net::failure& why) {
    switch (why.answer) {
        case vote::timed_out: node.state = key_state::timed_out; break;
        case vote::refused: node.state = key_state::refused; break;
        default: node.state = key_state::unreachable; break;
    }
    node.error = why.error;
    node.detail = why.detail;
}

}  // namespace

void inspect_operation::start(time_point now) {
    state_.resource = resource_;
    if (!validate_resource(home().options(), resource_).empty()) {
        return end(errc::invalid_argument);
    }
    state_.nodes.resize(home().size());
    values_.resize(home().size());
    for (std::size_t i = 0; i < home().size(); ++i) state_.nodes[i].node = home().name(i);
    open_ = 2 * home().size();
    const std::string key = home().options().key_prefix + resource_;
    std::string get;
    std::string pttl;
    write_get(get, key);
    write_pttl(pttl, key);
    const auto values = home().send(*this, ask_value, get, now);
    const auto ttls = home().send(*this, ask_ttl, pttl, now);
    for (const auto& [node, why] : values.failures) on_failure(node, ask_value, why, now);
    for (const auto& [node, why] : ttls.failures) on_failure(node, ask_ttl, why, now);
}

void inspect_operation::on_value(node_state& node, std::string& value, const resp::reply& reply) {
    switch (reply.type()) {
        case resp::reply_type::nil: node.state = key_state::free; break;
        case resp::reply_type::string:
            value = reply.text();
            if (value == shared_marker) {
                node.state = key_state::shared;
            } else {
                node.state = key_state::held;
                node.owner = net::abbreviate_owner(value);
            }
            break;
        default: note_failure(node, net::read_failure(reply)); break;
    }
}

void inspect_operation::on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                                 time_point) {
    if (over_) return;
    if (round == ask_value) {
        on_value(state_.nodes[node], values_[node], reply);
    } else if (reply.type() == resp::reply_type::integer) {
        // The key may have gone between the two answers (-2).
        state_.nodes[node].ttl =
            std::chrono::milliseconds(reply.integer() == -2 ? 0 : reply.integer());
    } else if (state_.nodes[node].state != key_state::refused) {
        note_failure(state_.nodes[node], net::read_failure(reply));
    }
    answered();
}

void inspect_operation::on_failure(std::size_t node, std::uint32_t, const net::failure& why,
                                   time_point) {
    if (over_) return;
    note_failure(state_.nodes[node], why);
    answered();
}

void inspect_operation::answered() {
    if (--open_ == 0) end({});
}

void inspect_operation::cancel(error_code why, time_point) { end(why); }

void inspect_operation::end(error_code outcome) {
    if (over_) return;
    const operation_ptr keep(this);
    over_ = true;
    if (!outcome) core::take_census(state_, values_);
    complete(outcome, std::move(state_));
    home().finished(*this);
}

}  // namespace redlock::detail
