// Declaring the nodes new.
// SPDX-License-Identifier: MIT
#include "client/operation/declare.hpp"

#include "value/lease_terms.hpp"
#include "wire/node_record.hpp"

#include <cassert>
#include <chrono>

namespace redlock::detail {

error_code declare_operation::check() {
    const bool may =
        is_guarded(client().shared.options()) && !client().shared.lists().is_joint();
    return may ? error_code() : error_code(errc::invalid_argument);
}

// By then the clocks are known, as far as the nodes can be reached.
bool declare_operation::go_on(time_point now) {
    if (result_.empty()) {
        sent_at_ = now;
        result_.resize(client().shared.size());
        for (std::size_t i = 0; i < result_.size(); ++i) result_[i].node = client().shared.name(i);
        for (const std::size_t i : client().nodes.all()) {
            wire::request& wire = client().nodes.blank();
            client().tracker.write_declaration(wire.words, i, sent_at_);
            ask(0, wire, node_mask::only(i), now);
        }
        return true;
    }
    node_mask declared;
    for (std::size_t i = 0; i < result_.size(); ++i) {
        declared.set(i, result_[i].answer == vote::granted);
    }
    end(client().shared.lists().is_quorum(declared) ? error_code() : error_code(errc::no_quorum));
    return false;
}

// A declaration that is taken changes the record, even if no caller waits for it any more.
void declare_operation::on_reply(std::size_t node, std::uint32_t question,
                                 const resp::reply& reply, time_point now) {
    if (reply.type() == resp::reply_type::integer) client().tracker.greet_again(node, now);
    node_survey::on_reply(node, question, reply, now);
}

void declare_operation::read(std::size_t node, std::uint32_t, const resp::reply& reply,
                             time_point now) {
    const bool is_taken = reply.type() == resp::reply_type::integer;
    note(node, is_taken ? wire::failure{vote::granted, {}, {}} : wire::read_failure(reply), now);
}

bool declare_operation::write_again(std::size_t node, std::uint32_t, wire::request& out,
                                    time_point) const {
    client().tracker.write_declaration(out.words, node, sent_at_);
    return true;
}

void declare_operation::note(std::size_t node, const wire::failure& why, time_point now) {
    assert(node < result_.size());
    node_vote& v = result_[node];
    v.answer = why.answer;
    v.error = why.error;
    v.detail = why.detail;
    v.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(now - sent_at_);
}

}  // namespace redlock::detail
