// The resources that a client watches: looks at all of them together, inspects those that may have
// changed.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/call.hpp"
#include "client/context.hpp"
#include "core/watched.hpp"
#include "value/clock.hpp"
#include "value/nodes.hpp"

#include <redlock/error.hpp>
#include <redlock/resource_state.hpp>

#include <boost/intrusive/list.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::detail {

/// What is sent `watches` sends, for all of them.
class watch_operation : public quiet_operation {
public:
    watch_operation(std::string resource, resource_state last)
        : resource_(std::move(resource)), last_(std::move(last)) {}
    void start(time_point now) final;
    void on_settled(time_point now) final;
    void cancel(error_code why, time_point) final { end(why, {}); }

protected:
    /// Called exactly once.
    virtual void complete(error_code outcome, resource_state state) = 0;

private:
    friend class watches;
    /// What enough nodes agree on, by an inspection that began after `watches::add`.
    void showed(const resource_state& state);
    void end(error_code outcome, resource_state state);

    std::string resource_;
    resource_state last_;
    list_hook watching_;
};

/// While anything is watched, one command per node, or one for every 64 resources, goes out about
/// eight times in a second, four times where nothing changes. A resource for which a node's answer
/// is another one than before is inspected, and the watchers get what a quorum says. While no
/// quorum votes nothing is inspected.
/// Not thread-safe: like the engine that it is a part of.
class watches {
public:
    explicit watches(client_parts& client) : client_(&client) {}
    watches(const watches&) = delete;
    watches& operator=(const watches&) = delete;

    void add(watch_operation& one, time_point now);
    /// Does nothing if it is not listed.
    void remove(watch_operation& one) noexcept;
    /// The client itself has just taken the resource or given it back, or was woken for it: it is
    /// inspected in this turn if it is watched.
    void changed(std::string_view resource) noexcept;
    /// Sends what the facts of this turn call for.
    void end_turn(time_point now);
    /// Sends nothing any more.
    void close() noexcept;

private:
    using watchers = boost::intrusive::list<
        watch_operation,
        boost::intrusive::member_hook<watch_operation, list_hook, &watch_operation::watching_>,
        boost::intrusive::constant_time_size<false>>;
    /// A resource, and those that watch it.
    struct entry : std::enable_shared_from_this<entry> {
        std::string resource;
        std::string key;
        core::watched state{};
        watchers fresh{};  // since the inspection that is under way began, if one is
        watchers known{};  // since before
        list_hook due{};
    };
    using entry_ptr = std::shared_ptr<entry>;
    class look;
    class inspection;

    /// Inspections that are under way at the same time.
    static constexpr std::size_t most_at_once = 32;

    void on_tick(time_point now);
    void arm(time_point now);
    void look_at(const std::vector<entry_ptr>& what, node_mask nodes, time_point now);
    void note(entry& what) noexcept;
    bool can_decide(time_point now) const;
    void inspect(entry& what, time_point now);
    void inspected(entry& what, bool is_conclusive, const resource_state& state);
    void drop_if_idle(const entry& what) noexcept;

    client_parts* client_;
    std::map<std::string, entry_ptr, std::less<>> all_;
    std::vector<entry_ptr> fresh_;  // of which no look was sent yet
    boost::intrusive::list<entry, boost::intrusive::member_hook<entry, list_hook, &entry::due>,
                           boost::intrusive::constant_time_size<false>>
        due_;  // that are to be inspected, in this order
    std::array<std::size_t, max_nodes> open_{};  // looks that a node has not answered
    std::array<time_point, max_nodes> looked_at_{};  // when the first of those went out
    node_mask silent_;  // nodes that take long over a look, or failed the last
    std::uint64_t last_look_ = 0;   // the numbers of looks rise
    time_point changed_at_{};       // the last look before which one was to be inspected
    bool has_changed_ = false;      // one was to be, since
    std::size_t inspections_ = 0;   // under way: at most `most_at_once`
    bool is_closed_ = false;
    alarm<watches> tick_{*this, &watches::on_tick};
};

}  // namespace redlock::detail
