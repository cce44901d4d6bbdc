// Declaring the nodes new.
// SPDX-License-Identifier: MIT
#include "client/operation/declare.hpp"

#include "client/operation/client_parts.hpp"
#include "value/lease_terms.hpp"
#include "wire/failure.hpp"
#include "wire/node_record.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

namespace redlock::detail {

void declare_operation::start(time_point now) {
    if (!is_guarded(client().shared.options())) return end(errc::invalid_argument);
    // By then the clocks are known, as far as the nodes can be reached.
    client().host.await_settled(*this, now);
}

void declare_operation::on_settled(time_point now) {
    if (over_) return;
    sent_at_ = now;
    open_ = client().shared.size();
    answers_.resize(client().shared.size());
    for (std::size_t i = 0; i < answers_.size(); ++i) answers_[i].node = client().shared.name(i);
    for (std::size_t i = 0; i < answers_.size(); ++i) {
        wire::request& wire = client().nodes.blank();
        client().tracker.write_declaration(wire.words, i, sent_at_);
        const auto result = client().nodes.send(*this, 0, wire, now, node_mask::only(i));
        for (const auto& [node, why] : result.failures) on_failure(node, 0, why, now);
    }
}

void declare_operation::on_reply(std::size_t node, std::uint32_t, const resp::reply& reply,
                                 time_point now) {
    if (reply.type() != resp::reply_type::integer) {
        return answered(node, wire::read_failure(reply), now);
    }
    client().tracker.greet_again(node, now);
    answered(node, {vote::granted, {}, {}}, now);
}

bool declare_operation::write_again(std::size_t node, std::uint32_t, wire::request& out, time_point) const {
    client().tracker.write_declaration(out.words, node, sent_at_);
    return true;
}

void declare_operation::on_failure(std::size_t node, std::uint32_t, const wire::failure& why,
                                   time_point now) {
    answered(node, why, now);
}

void declare_operation::answered(std::size_t node, wire::failure what, time_point now) {
    if (over_) return;
    assert(open_ > 0 && node < answers_.size());
    node_vote& v = answers_[node];
    v.answer = what.answer;
    v.error = what.error;
    v.detail = std::move(what.detail);
    v.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(now - sent_at_);
    if (--open_ != 0) return;
    const auto declared = std::count_if(answers_.begin(), answers_.end(), [](const node_vote& a) {
        return a.answer == vote::granted;
    });
    const bool has_quorum = static_cast<std::size_t>(declared) >= quorum_of(answers_.size());
    end(has_quorum ? error_code() : error_code(errc::no_quorum));
}

void declare_operation::cancel(error_code why, time_point) { end(why); }

void declare_operation::end(error_code outcome) {
    if (over_) return;
    over_ = true;
    client().host.finished(*this);
    complete(outcome, std::move(answers_));
}

}  // namespace redlock::detail
