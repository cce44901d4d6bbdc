// Masters in memory: their network, and the commands that arrive there.
// SPDX-License-Identifier: MIT
#pragma once

#include "asio/performers.hpp"
#include "testing/keyspace.hpp"
#include "testing/model.hpp"
#include "value/clock.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace redlock::testing {

class command_reader {
public:
    command_reader();
    /// The commands that are complete with these bytes. Throws `std::runtime_error` where they are
    /// none.
    std::vector<fakes::command> feed(std::string_view bytes);

private:
    std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
};

/// What happens is posted to the strand of the client to which it happens; a ticket that goes with
/// it tells when it is over, with all that it set off. Nothing is posted while the mutex is held:
/// `post` takes locks of the context, and may destroy the handler at once.
class network : public detail::performer_source {
public:
    enum class state { up, hung, down };

    /// Real time.
    using real_clock = std::chrono::steady_clock;
    /// When a handler has waited in a context for so long, `await_idle` concludes that no thread
    /// runs that context.
    static constexpr real_clock::duration longest_rest = std::chrono::seconds(30);

    /// Throws `std::logic_error` while there is another one.
    explicit network(std::size_t nodes);
    /// Aborts the program where clients are left, since these would use what is gone.
    ~network();
    network(const network&) = delete;
    network& operator=(const network&) = delete;

    std::unique_ptr<detail::wire_performer> make_wire(const detail::io_strand& on,
                                                      std::size_t index, const node_options& node,
                                                      detail::wire_owner& owner) override;
    std::unique_ptr<detail::alarm_performer> make_alarm(const detail::io_strand& on) override;

    std::size_t size() const noexcept { return nodes_.size(); }
    time_point now() const noexcept { return time_point(std::chrono::nanoseconds(now_.load())); }
    /// Moves the clock, from alarm to alarm. `settle` has all happen that is to happen at an
    /// instant. Throws `std::logic_error` while another call is under way.
    void advance(duration by, const std::function<void()>& settle);
    /// Until nothing is left to happen at this instant. Throws `std::runtime_error` where a handler
    /// did not run for `limit` meanwhile.
    void await_idle(real_clock::duration limit = longest_rest);

    void set_state(std::size_t node, state to);
    void restart(std::size_t node, fakes::redis_model::data what);
    /// `what(model, now)`, on each node.
    void on_each(const std::function<void(fakes::redis_model&, time_point)>& what);

private:
    class memory_wire;
    class memory_alarm;
    class closable_strand;
    class section;
    class ticket;
    struct delayed_post;

    // One connection, as the server has it.
    struct link : fakes::client_state {
        command_reader reader{};
        memory_wire* answers_to = nullptr;  // null once the client has closed it
    };
    // Bytes that came while the node hung. They stay in its socket when the client ends.
    struct unread {
        std::shared_ptr<link> from;
        std::string bytes;
    };
    struct node {
        explicit node(std::size_t i) : model(i) { model.set_durable(true); }
        fakes::redis_model model;
        state is = state::up;
        std::vector<unread> received{};
    };

    bool move_on(time_point limit);
    void open(memory_wire& what, const std::shared_ptr<void>& keep);
    void drop(memory_wire& what) noexcept;
    void forget(memory_wire& what) noexcept;
    void flush(memory_wire& what);
    void set(memory_alarm& what, time_point when);

    // With the mutex held.
    void execute(std::size_t node, link& from, const std::string& bytes);
    void break_links(std::size_t node);
    static void end_by_server(memory_wire& what);
    static void unlink(memory_wire& what) noexcept;

    // Of all that follows, and of what wires and alarms say of themselves.
    mutable std::mutex mutex_;
    std::condition_variable is_idle_;
    std::list<real_clock::time_point> tickets_;  // when each was made
    std::uint64_t idle_times_ = 0;               // how often none was left
    std::vector<delayed_post> delayed_;          // to be posted when the mutex is released
    bool is_moving_ = false;
    detail::moved_clock now_;
    std::deque<node> nodes_;
    // As they were made, so that what is due at one instant has the same order in each run.
    std::vector<memory_wire*> wires_;
    std::vector<memory_alarm*> alarms_;
};

}  // namespace redlock::testing
