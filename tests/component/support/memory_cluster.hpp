// Masters in memory, with the questions that tests put to real servers, and a client whose time the
// test moves; knows no engine.
// SPDX-License-Identifier: MIT
#pragma once

#include "support/driver.hpp"
#include "support/record_words.hpp"
#include "testing/masters.hpp"

#include <redlock/options.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace redlock::testing {

/// N masters. One object at a time. The clock is moved by its drivers.
class memory_cluster {
public:
    enum class disk {
        always,  ///< Each command is on it before it is answered.
        saves,   ///< What `save` wrote.
    };
    enum class data { keep, empty };

    explicit memory_cluster(std::size_t size, disk has = disk::saves)
        : network_(size), states_(size, state::up), disk_(has) {
        current_ = &network_;
        network_.on_each([has](fakes::redis_model& model, time_point) {
            model.set_durable(has == disk::always);
        });
    }
    ~memory_cluster() { current_ = nullptr; }
    memory_cluster(const memory_cluster&) = delete;
    memory_cluster& operator=(const memory_cluster&) = delete;

    std::size_t size() const noexcept { return states_.size(); }
    void kill(std::size_t i) { set(i, state::down); }
    void stop(std::size_t i) { set(i, state::hung); }
    void cont(std::size_t i) { set(i, state::up); }
    /// Also one that was killed. With what its disk has, or with an empty one.
    void restart(std::size_t i, data what = data::keep) {
        using model = fakes::redis_model;
        const auto on_disk = disk_ == disk::always ? model::data::kept : model::data::saved;
        network_.restart(i, what == data::keep ? on_disk : model::data::lost);
        states_[i] = state::up;
    }
    bool reachable(std::size_t i) const { return states_[i] == state::up; }
    void save(std::size_t i) {
        on(i, [](fakes::redis_model& model, time_point) { model.save(); });
    }

    /// A connection of the test's own to one node, whatever state that is in. Messages of its
    /// subscriptions are lost, and yet count as received.
    class asking {
    public:
        asking(memory_cluster& of, std::size_t node) : of_(&of), node_(node) {}

        fakes::model_reply command(const fakes::command& words) const {
            fakes::model_reply said;
            of_->on(node_, [&](fakes::redis_model& model, time_point now) {
                said = model.execute(*mine_, words, now);
            });
            if (said.is_error()) throw std::runtime_error(said.text);
            return said;
        }
        std::optional<std::string> get(const std::string& key) const {
            const auto said = command({"GET", key});
            if (said.type == fakes::model_reply::kind::nil) return std::nullopt;
            return said.text;
        }
        void set(const std::string& key, const std::string& value) const {
            command({"SET", key, value});
        }
        bool exists(const std::string& key) const { return command({"EXISTS", key}).number == 1; }
        bool del(const std::string& key) const { return command({"DEL", key}).number == 1; }
        /// -2 ms: no such key; -1 ms: no expiry.
        std::chrono::milliseconds pttl(const std::string& key) const {
            return std::chrono::milliseconds(command({"PTTL", key}).number);
        }

    private:
        memory_cluster* of_;
        std::size_t node_;
        std::shared_ptr<fakes::client_state> mine_ = std::make_shared<fakes::client_state>();
    };
    asking ask(std::size_t i) { return {*this, i}; }

    /// On how many of the nodes that run and do not hang a key exists.
    std::size_t holding(const std::string& key) {
        std::size_t found = 0;
        for (std::size_t i = 0; i < size(); ++i) {
            if (reachable(i) && ask(i).exists(key)) ++found;
        }
        return found;
    }

    /// Whether a client has declared the cluster new on every node.
    bool is_founded() {
        for (std::size_t i = 0; i < size(); ++i) {
            const testing::record_words record(ask(i).get("redlock:node").value_or(""));
            if (record["since"] != "0") return false;
        }
        return true;
    }

    /// All nodes, named "n0", "n1", …
    client_options options(bool fencing = true) const {
        client_options all;
        all.fencing = fencing;
        for (std::size_t i = 0; i < size(); ++i) {
            node_options node;
            node.host = "node-" + std::to_string(i);
            node.name = "n" + std::to_string(i);
            all.nodes.push_back(std::move(node));
        }
        all.client_name = "test";
        return all;
    }

    /// The clock moves on, by a millisecond after the other.
    struct moved_time {
        template <class Predicate>
        static bool until(asio::io_context& context, Predicate done,
                          std::chrono::milliseconds limit) {
            for (auto spent = 0ms; !done(); ++spent) {
                if (spent > limit) return false;
                move(context, spent == 0ms ? 0ms : 1ms);
            }
            return true;
        }
        static void finish(asio::io_context& context) { move(context, 0ms); }

    private:
        static void move(asio::io_context& context, clock::duration by) {
            current_->advance(by, [&] {
                context.restart();
                while (context.poll() > 0) {
                }
            });
        }
    };

private:
    using state = network::state;

    template <class What>
    void on(std::size_t i, What what) {
        std::size_t at = 0;
        network_.on_each([&](fakes::redis_model& model, time_point now) {
            if (at++ == i) what(model, now);
        });
    }
    void set(std::size_t i, state to) {
        network_.set_state(i, to);
        states_[i] = to;
    }

    static inline network* current_ = nullptr;  // drivers are made as those of real servers are
    network network_;
    std::vector<state> states_;
    disk disk_;
};

using memory_driver = basic_driver<memory_cluster::moved_time>;

}  // namespace redlock::testing
