// What only operators ask for: the facts of each node, new nodes declared, holders revoked.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/context.hpp"
#include "client/findings.hpp"
#include "client/survey.hpp"
#include "core/release.hpp"
#include "value/nodes.hpp"
#include "wire/failure.hpp"
#include "wire/questions.hpp"
#include "wire/record.hpp"
#include "wire/request.hpp"

#include <redlock/node_report.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/vote.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace redlock::detail {

class probe_operation : public node_survey<std::vector<node_report>>, private timer {
public:
    using node_survey::cancel;

private:
    enum question : std::uint32_t { ask_info, ask_fsync, ask_trial, ask_evalsha, ask_load };
    static constexpr std::size_t questions = ask_load + 1;

    bool begin(time_point now) final;
    bool go_on(time_point now) final;
    bool write(std::size_t node, std::uint32_t question, wire::request& out,
               resp::script_form form) const final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                time_point now) final;
    std::vector<node_report> take_result() final;
    void on_due(time_point now) final { proceed(now); }

    bool is_listened_to(std::size_t node) const;
    void report(std::size_t node, time_point now);

    std::vector<probed> facts_;
    std::array<node_mask, questions> repeated_{};  // the nodes, of each question
    time_point give_up_at_{};
};

/// Completes with one vote per node: granted where it took the declaration. No error if a quorum
/// took it.
class declare_operation : public node_survey<std::vector<node_vote>> {
public:
    explicit declare_operation(const init_options& how = {}) noexcept : how_(how) {}

private:
    bool check() final;
    bool begin(time_point now) final;
    bool go_on(time_point now) final;
    /// It carries what the server says in the handshake.
    bool write(std::size_t node, std::uint32_t question, wire::request& out,
               resp::script_form form) const final;
    void on_reply(std::size_t node, std::uint32_t question, const resp::reply& reply,
                  time_point now) final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t, const wire::failure& why,
                time_point now) final {
        note(node, why, now);
    }

    bool is_taken(std::size_t node) const;
    void note(std::size_t node, const wire::failure& why, time_point now);

    init_options how_;
    std::vector<wire::record_exchange> records_;
    bool writes_again_ = false;
    time_point sent_at_{};
};

/// Carries out `core::revocation`: looks, as an inspection does, and revokes what it saw.
class revoke_operation : public node_survey<revocation> {
public:
    explicit revoke_operation(resource_state shown) : shown_(std::move(shown)) {}

private:
    using phase = core::revocation::phase;

    bool check() final;
    bool begin(time_point now) final;
    bool go_on(time_point now) final;
    bool write(std::size_t node, std::uint32_t question, wire::request& out,
               resp::script_form form) const final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t, const wire::failure& why, time_point) final {
        note(node, why);
    }
    void tell_of_silence();
    void saw(std::size_t node, const wire::resource_view& view, time_point now);
    void saw(std::size_t node, std::uint32_t target, const wire::key_view& key,
             std::vector<std::string> holders, time_point now);
    void note(std::size_t node, const wire::failure& why);

    resource_state shown_;
    core::revocation machine_;
    node_mask failed_;
};

}  // namespace redlock::detail
