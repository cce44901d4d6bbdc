// Masters in memory and a clock that the test moves.
// SPDX-License-Identifier: MIT
#include <redlock/client.hpp>
#include <redlock/testing.hpp>

#include "testing/network.hpp"

#include <algorithm>
#include <stdexcept>
#include <variant>
#include <vector>

namespace redlock::testing {

class masters::world final : public network {
public:
    using network::network;
};

masters::masters(std::size_t nodes) {
    if (nodes == 0 || nodes > max_nodes) {
        throw std::invalid_argument("redlock::testing::masters: 1 to " + std::to_string(max_nodes) +
                                    " nodes");
    }
    world_ = std::make_unique<world>(nodes);
    boost::asio::io_context context;
    client first(context, options());
    first.async_init([](error_code, const std::vector<node_vote>&) {});
    advance(context, std::chrono::seconds(1));
    first.close();
    advance(context, std::chrono::seconds(1));
}

masters::~masters() = default;

client_options masters::options() const {
    client_options all;
    for (std::size_t i = 0; i < world_->size(); ++i) {
        node_options node;
        node.host = "node-" + std::to_string(i);
        node.name = node.host;
        all.nodes.push_back(std::move(node));
    }
    all.client_name = "test";
    return all;
}

void masters::advance(boost::asio::io_context& context, clock::duration by) {
    world_->advance(by, [&] {
        context.restart();
        while (context.poll() > 0) {
        }
    });
}

void masters::advance(clock::duration by) {
    world_->advance(by, [&] { world_->await_idle(); });
}

void masters::shut_down(std::size_t node) { world_->set_state(node, network::state::down); }
void masters::hang(std::size_t node) { world_->set_state(node, network::state::hung); }
void masters::resume(std::size_t node) { world_->set_state(node, network::state::up); }

void masters::restart(std::size_t node, data what) {
    world_->restart(
        node, what == data::kept ? fakes::redis_model::data::kept : fakes::redis_model::data::lost);
}

void masters::occupy(const std::string& resource, std::chrono::milliseconds ttl) {
    world_->on_each([&](fakes::redis_model& node, time_point now) {
        node.database().put(resource, {"another program", node.wall.ms(now) + ttl.count()});
    });
}

void masters::vacate(const std::string& resource) {
    world_->on_each([&](fakes::redis_model& node, time_point now) {
        node.database().erase(resource, node.wall.ms(now));
    });
}

std::size_t masters::holding(const std::string& resource) const {
    std::size_t found = 0;
    world_->on_each([&](fakes::redis_model& node, time_point now) {
        if (node.database().find(resource, node.wall.ms(now)) != nullptr) ++found;
    });
    return found;
}

std::size_t masters::waiting(const std::string& resource) const {
    const std::string end = "{" + resource + "}:queue";
    std::size_t most = 0;
    world_->on_each([&](fakes::redis_model& node, time_point now) {
        node.database().sweep(node.wall.ms(now));
        for (const auto& [name, what] : node.database().all()) {
            const auto* const queue = std::get_if<fakes::sorted_set>(&what.value);
            if (queue != nullptr && name.ends_with(end)) most = std::max(most, queue->all().size());
        }
    });
    return most;
}

}  // namespace redlock::testing
