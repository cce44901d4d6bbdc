// Acquiring a lease: carries out what its machine decides; knows no connection.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/operation.hpp"
#include "client/base/owner_claims.hpp"
#include "client/base/timers.hpp"
#include "client/lease/lease_state.hpp"
#include "client/operation/acquire_request.hpp"
#include "client/operation/acquire_try.hpp"
#include "client/wait/remote_queue.hpp"
#include "core/load/admission.hpp"
#include "core/lock/acquisition.hpp"
#include "wire/acquire.hpp"
#include "wire/failure.hpp"
#include "wire/request.hpp"
#include "wire/wait.hpp"

#include <redlock/options.hpp>
#include <redlock/resource_list.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::detail {

class acquire_operation : public remote_waiter, private timer, private core::applicant {
public:
    acquire_operation(std::string resource, const acquire_options& options)
        : request_(std::move(resource), options) {}
    /// All at once.
    acquire_operation(resource_list resources, const acquire_options& options)
        : request_(std::move(resources), options) {}

    void start(time_point now) final;
    /// The first attempt goes out, unless the nodes have too much to answer; of one that may wait,
    /// when it is its turn.
    void on_settled(time_point now) final;
    void cancel(error_code why, time_point now) final;
    void shorten(duration gap) final { machine_.shorten(gap); }
    void on_wake(std::size_t node, std::string_view resource, std::optional<std::uint16_t> slot,
                 time_point now) final;
    std::size_t keys() const noexcept final { return request_.keys(); }
    wire::wait_request request(std::size_t key) const final { return try_.query(key); }
    void entered(node_mask nodes) final { machine_.entered(nodes); }
    void queried(node_mask nodes) final { machine_.queried(nodes); }
    void answered(std::size_t node, const core::outlook& what, bool has_vote,
                  time_point now) final {
        carry_out(machine_.answered(node, what, has_vote, now), now);
    }

protected:
    /// Exactly once. The state is live without an error; with one it carries the votes.
    virtual void complete(error_code outcome, std::shared_ptr<lease_state> state) = 0;

private:
    using action = core::acquisition::action;

    void on_reply(std::size_t node, std::uint32_t round, const resp::reply& reply,
                  time_point now) final;
    void on_failure(std::size_t node, std::uint32_t round, const wire::failure& why,
                    time_point now) final;
    bool is_wanted(std::uint32_t round) const noexcept final {
        return machine_.is_wanted(round, granted_ && granted_->is_held());
    }
    duration lease_ttl(std::uint32_t) const noexcept final { return machine_.ttl(); }
    bool begins_lease() const noexcept final { return true; }
    bool write_again(std::size_t node, std::uint32_t round, wire::request& out,
                     time_point now) const final;
    void on_due(time_point now) final;
    void on_turn(time_point now) final;
    void on_admitted(time_point now) final;

    void carry_out(const core::acquisition::actions& what, time_point now);
    void carry_out(action what, time_point now);

    std::string check();
    void apply(time_point now);
    void join();
    void stand_aside(time_point now);
    void turn_away(time_point now);
    void begin_try(time_point now);
    void send_round(time_point now);
    void send_to(node_mask nodes, bool is_entered, std::uint32_t round, time_point now);
    void cast(std::size_t node, const wire::acquire_answer& answer, time_point now);
    void granted_too(std::size_t node, const resp::reply& reply);
    void learn_after(std::size_t node, const resp::reply& reply, time_point now);
    void refused(error_code why, time_point now);
    bool is_for_a_change(error_code why) const noexcept;
    void ask_again(time_point now);
    void give_back(bool leaves, time_point now);
    void arm() noexcept;
    void take(time_point now);
    void end(error_code outcome, time_point now, std::string_view detail = {});

    acquire_request request_;
    core::acquisition machine_;
    acquire_try try_{request_, machine_};
    time_point begun_{};
    owner_claims::claim claim_;  // on the owner that the caller gave; passes to the lease
    std::shared_ptr<lease_state> granted_;
    std::uint64_t span_ = 0;     // 0 where nobody traces
    bool is_counted_ = false;    // among the acquires that wait

    std::uint64_t steps_ = 0;   // of changes of the list, when the present try began
    unsigned asked_again_ = 0;  // since the list changed during a try
};

}  // namespace redlock::detail
