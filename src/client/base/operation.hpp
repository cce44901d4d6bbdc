// What every operation of a client has in common; knows none in particular.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/base/call.hpp"
#include "value/node_mask.hpp"

#include <redlock/detail/recycling.hpp>

#include <boost/intrusive/list.hpp>

#include <cassert>
#include <cstdint>

namespace redlock::detail {

struct client_parts;

/// Takes itself out of the list that it is in when it is destroyed.
using list_hook = boost::intrusive::list_member_hook<
    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// One thing that a caller, or the client itself, waits for. It is alive while the engine lists it,
/// which is until the end of the turn in which it finished, while a call of it is on its way, or its
/// caller still may cancel it.
class operation : public call, public recycled {
public:
    /// Begins. Called once, by `engine::begin`.
    virtual void start(time_point now) = 0;
    /// It is known which nodes may vote, as well as it will be: for operations passed to
    /// `operation_host::await_settled`.
    virtual void on_settled(time_point) {}
    /// The client is closed: for operations passed to `operation_host::await_closed`.
    virtual void on_closed(error_code) {}
    /// Our own clock stood still for `gap`: the time since the command was sent is longer by it.
    virtual void shorten(duration /*gap*/) {}
    /// Ends it early, if it has not ended: nothing of it stays behind on the nodes.
    virtual void cancel(error_code why, time_point now) = 0;
    /// Whether a caller waits for it. False for what the client does by itself.
    virtual bool has_caller() const noexcept { return true; }
    /// Drops the completion without calling it: the execution context is gone.
    virtual void discard() noexcept = 0;

protected:
    /// What the operation may use of its client, from `start` on.
    client_parts& client() const noexcept {
        assert(client_ != nullptr);
        return *client_;
    }

private:
    friend class engine;
    client_parts* client_ = nullptr;
    list_hook listed_;
};
using operation_ptr = boost::intrusive_ptr<operation>;

}  // namespace redlock::detail
