// A program that holds one lease, or asks for votes, and tells of it; knows no fault.
// SPDX-License-Identifier: MIT
#include "inside.hpp"
#include "judge/journal.hpp"

#include <redlock/client.hpp>
#include <redlock/config.hpp>
#include <redlock/error.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <csignal>

#include <algorithm>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::failover {

namespace asio = boost::asio;
namespace {

using namespace std::chrono_literals;
using judge::entry;
using std::chrono::milliseconds;

constexpr auto usage =
    R"(usage: redlock_failover_client hold|watch NAME RESOURCE TTL_MS MARGIN_MS TTL_MAX_MS
       CONNECT_TIMEOUT_MS HISTORY HOST:PORT...|LIST
       redlock_failover_client inside NAME HISTORY SECTION MS

hold   Stands in line for RESOURCE and keeps it, renewed, until it is lost or a signal asks it to
       end; then stands in line again.
watch  Takes RESOURCE, looks which nodes have the key, gives it back, and so on.
inside Is run by `redlock run`: writes that it runs under the lease, for so long.

The first two write a history of their leases, and one JSON object per event on the standard output,
with times in ns of the suspend-proof clock. SIGTERM ends them, after what they hold is given back.
LIST is a configuration file, of which the nodes are taken.
)";

constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

std::int64_t count(clock::time_point at) { return at.time_since_epoch().count(); }

struct orders {
    std::string name;
    std::string resource;
    acquire_options terms;
    milliseconds ttl_max{0};
    milliseconds connect_timeout{0};
    std::string history;
    client_options client;

    explicit orders(const std::vector<std::string>& words)
        : name(words.at(0)), resource(words.at(1)), history(words.at(6)) {
        terms.ttl = milliseconds(std::stoll(words.at(2)));
        terms.loss_margin = milliseconds(std::stoll(words.at(3)));
        ttl_max = milliseconds(std::stoll(words.at(4)));
        connect_timeout = milliseconds(std::stoll(words.at(5)));
        if (words.size() == 8 && words[7].ends_with(".json")) {
            client = load_options(words[7]).value();
            return;
        }
        client.cluster = "under test";  // inside its network a node has another address
        for (std::size_t i = 7; i < words.size(); ++i) {
            const auto colon = words[i].rfind(':');
            node_options node;
            node.host = words[i].substr(0, colon);
            node.port = static_cast<std::uint16_t>(std::stoul(words[i].substr(colon + 1)));
            client.nodes.push_back(std::move(node));
        }
    }

    client_options for_client() const {
        client_options all = client;
        all.ttl_max = ttl_max;
        // All nodes share this machine and its disk: what stalls one of them may stall the others.
        all.node_timeout = 250ms;
        all.connect_timeout = connect_timeout;
        all.client_name = name;
        return all;
    }
};

/// When the client reported a loss, and why.
struct told_loss {
    clock::time_point at;
    loss why;
};

class program {
public:
    explicit program(const orders& o)
        : orders_(o),
          history_(o.history),
          client_(context_.get_executor(), o.for_client()),
          timer_(context_),
          signals_(context_, SIGTERM, SIGINT) {}

    int run(bool only_watches) {
        signals_.async_wait([this](error_code, int) {
            is_ending_ = true;
            timer_.cancel();
        });
        asio::co_spawn(context_, work(only_watches), [this](const std::exception_ptr& failure) {
            if (failure) std::rethrow_exception(failure);
            signals_.cancel();
            client_.close();
        });
        context_.run();
        return 0;
    }

private:
    asio::awaitable<void> work(bool only_watches) {
        while (!is_ending_) {
            if (only_watches) {
                co_await watch();
            } else {
                co_await hold();
            }
        }
    }

    asio::awaitable<void> hold() {
        auto terms = orders_.terms;
        terms.wait = 1s;
        auto [error, held] = co_await client_.async_acquire(orders_.resource, terms, awaited);
        if (error) {
            std::cout << R"({"event": "refused", "at": )" << count(clock::now()) << R"(, "why": ")"
                      << error.message() << "\"}" << std::endl;
            co_return;
        }
        auto section = begin(held);
        std::cout << R"({"event": "granted", "at": )" << count(section.at) << R"(, "fence": )"
                  << section.fence << '}' << std::endl;
        told_.reset();
        ran_at_ = section.at;
        client_.async_lost(held, [this](error_code failed, loss why) {
            if (failed) return;
            note_sleep();
            told_ = told_loss{ran_at_, why};
            timer_.cancel();
        });
        while (!is_ending_ && !told_) {
            co_await pause(20ms);
            note_sleep();
            if (held) trust(section, held);
        }
        if (told_) {
            end_lost(section, held);
        } else {
            co_await give_back(section, std::move(held));
        }
    }

    asio::awaitable<void> watch() {
        auto terms = orders_.terms;
        terms.renew = false;
        const auto asked_at = clock::now();
        auto [error, held] = co_await client_.async_acquire(orders_.resource, terms, awaited);
        const auto at = clock::now();
        const bool is_granted = static_cast<bool>(held);
        entry section;
        if (is_granted) section = begin(held);
        auto [failed, state] = co_await client_.async_inspect(orders_.resource, awaited);
        std::cout << R"({"event": "watch", "asked_at": )" << count(asked_at) << R"(, "at": )"
                  << count(at) << R"(, "granted": )"
                  << (is_granted ? "true" : "false") << R"(, "why": ")" << error.message()
                  << R"(", "nodes": [)";
        const char* separator = "";
        for (const auto& node : state.nodes) {
            std::cout << separator << '"' << to_string(node.state);
            if (node.error) std::cout << ": " << node.error.message();
            std::cout << '"';
            separator = ", ";
        }
        std::cout << "]}" << std::endl;
        if (is_granted) co_await give_back(section, std::move(held));
        co_await pause(20ms);
    }

    entry begin(const lease& held) {
        entry section;
        section.section = ++sections_;
        section.resource = orders_.resource;
        section.owner = held.owner().to_string() + "@" + orders_.name;
        section.fence = held.fence();
        section.at = clock::now();
        section.valid_until = held.valid_until();
        section.what = entry::kind::granted;
        history_.write(section);
        return section;
    }

    void trust(entry& section, const lease& held) {
        section.at = clock::now();
        section.valid_until = held.valid_until();
        section.what = entry::kind::trusted;
        // The clock may have passed it since it was read of `held`.
        if (section.at < section.valid_until) history_.write(section);
    }

    // The lease object was false from the validity's end on, whenever its holder could hear of it.
    void end_lost(entry& section, const lease& held) {
        section.what = entry::kind::ended;
        section.valid_until = held.valid_until();
        section.at = std::min(told_->at, section.valid_until);
        section.text = "lost";
        history_.write(section);
        section.what = entry::kind::told;
        section.at = told_->at;
        section.text = held ? "trusted" : to_string(told_->why);
        history_.write(section);
        std::cout << R"({"event": "lost", "at": )" << count(told_->at) << R"(, "valid_until": )"
                  << count(held.valid_until()) << R"(, "slept": [)" << count(slept_from_) << ", "
                  << count(slept_until_) << R"(], "why": ")" << to_string(told_->why) << "\"}"
                  << std::endl;
    }

    asio::awaitable<void> give_back(entry& section, lease held) {
        section.valid_until = held.valid_until();
        section.at = std::min(clock::now(), section.valid_until);
        section.what = entry::kind::ended;
        section.text = "released";
        history_.write(section);
        std::cout << R"({"event": "released", "at": )" << count(section.at) << '}' << std::endl;
        co_await client_.async_release(std::move(held), awaited);
    }

    // It does something every 20 ms, if the machine lets it.
    void note_sleep() {
        const auto now = clock::now();
        if (now > ran_at_ + 200ms) {
            slept_from_ = ran_at_;
            slept_until_ = now;
            entry idle;
            idle.what = entry::kind::idle;
            idle.asked_at = slept_from_;
            idle.at = slept_until_;
            history_.write(idle);
        }
        ran_at_ = now;
    }

    asio::awaitable<void> pause(milliseconds time) {
        if (is_ending_) co_return;
        timer_.expires_after(time);
        co_await timer_.async_wait(awaited);
    }

    orders orders_;
    judge::journal history_;
    asio::io_context context_;
    client client_;
    asio::steady_timer timer_;
    asio::signal_set signals_;
    std::optional<told_loss> told_;
    clock::time_point ran_at_{};
    clock::time_point slept_from_{};  // the last time that it was kept from running
    clock::time_point slept_until_{};
    std::uint64_t sections_ = 0;
    bool is_ending_ = false;
};

}  // namespace
}  // namespace redlock::failover

int main(int argc, char** argv) try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    const std::string role = words.empty() ? "--help" : words.front();
    if (role == "inside") {
        return redlock::failover::run_inside({words.begin() + 1, words.end()});
    }
    if (role != "hold" && role != "watch") {
        std::cout << redlock::failover::usage;
        return role == "--help" ? 0 : 2;
    }
    redlock::failover::program one(redlock::failover::orders({words.begin() + 1, words.end()}));
    return one.run(role == "watch");
} catch (const std::exception& failure) {
    std::cerr << "failover: " << failure.what() << '\n';
    return 2;
}
