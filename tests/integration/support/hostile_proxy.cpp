// Copies bytes between two sockets over Asio, as far as the harm lets it; reads no protocol.
// SPDX-License-Identifier: MIT
#include "hostile_proxy.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <list>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace redlock::testing {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using kind = harm::kind;

std::size_t at(side s) { return static_cast<std::size_t>(s); }

bool ends_one(kind what) { return what == kind::cut || what == kind::reset; }
bool is_sudden(kind what) {
    return ends_one(what) || what == kind::stall || what == kind::vanish;
}

}  // namespace

class hostile_proxy::impl {
public:
    explicit impl(std::uint16_t server_port)
        : acceptor_(context_, {asio::ip::address_v4::loopback(), 0}), server_port_(server_port) {
        port_ = acceptor_.local_endpoint().port();
        asio::co_spawn(context_, accept(), asio::detached);
        thread_ = std::thread([this] { context_.run(); });
    }
    ~impl() {
        context_.stop();
        thread_.join();
    }

    struct connection {
        connection(tcp::socket c, tcp::socket s)
            : client(std::move(c)), server(std::move(s)), news(client.get_executor()) {
            news.expires_at(asio::steady_timer::time_point::max());
        }
        tcp::socket client;
        tcp::socket server;
        asio::steady_timer news;  // cancelled when what stands still may go on
        std::array<std::size_t, 2> passed{};
        int since = 0;  // the harm that `passed` counts from
        bool listens = false;
        bool stands_still = false;
        bool has_vanished = false;
        bool is_closed = false;
    };
    using connection_ptr = std::shared_ptr<connection>;

    // What may happen to the next bytes of a connection. The lock is held.
    const harm& harm_of(connection& c) {
        static const harm nothing;
        if (c.since != number_) {
            c.since = number_;
            c.passed = {};
            c.stands_still = c.has_vanished;
        }
        if (c.listens != harm_.listeners) return nothing;
        // A later connection finds nobody, either.
        if (has_struck_ && !ends_one(harm_.what) && is_sudden(harm_.what)) freeze(c);
        return harm_;
    }
    void freeze(connection& c) const {
        c.stands_still = true;
        c.has_vanished = c.has_vanished || harm_.what == kind::vanish;
    }

    struct step {
        std::size_t bytes = 0;
        std::chrono::microseconds rest{0};
        bool stands_still = false;
    };

    // How many of the next bytes pass, and after how long a rest.
    step next_step(connection& c, side s, std::size_t size) {
        const std::lock_guard lock(mutex_);
        const harm& h = harm_of(c);
        if (c.stands_still) return {.stands_still = true};
        if (h.what == kind::throttle) return {.bytes = 1};
        if (h.what == kind::delay && h.where == s) return {.bytes = size, .rest = h.by};
        if (!is_sudden(h.what) || h.where != s || has_struck_) return {.bytes = size};
        return {.bytes = std::min(size, h.after - std::min(h.after, c.passed[at(s)]))};
    }

    // Counts what passed. Where this was the last, `has_struck` is true when the harm is done.
    void count(connection& c, side s, std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        const harm& h = harm_of(c);
        c.passed[at(s)] += bytes;
        if (c.listens == harm_.listeners) passed_[at(s)] += bytes;
        if (!is_sudden(h.what) || h.where != s || has_struck_ || c.passed[at(s)] < h.after) return;
        if (h.what == kind::reset) c.client.set_option(asio::socket_base::linger(true, 0));
        if (ends_one(h.what)) close(c);
        else freeze(c);
        has_struck_ = true;
    }

    asio::awaitable<void> pass_on(connection_ptr c, side s, std::string_view data) {
        auto& to = s == side::requests ? c->server : c->client;
        boost::system::error_code error;
        auto token = asio::redirect_error(asio::use_awaitable, error);
        while (!data.empty() && !c->is_closed) {
            const step next = next_step(*c, s, data.size());
            if (next.stands_still) {
                co_await c->news.async_wait(token);
                continue;
            }
            if (next.rest.count() > 0) {
                asio::steady_timer rest(context_, next.rest);
                co_await rest.async_wait(token);
            }
            co_await asio::async_write(to, asio::buffer(data.substr(0, next.bytes)), token);
            if (error) close(*c);
            else count(*c, s, next.bytes);
            data.remove_prefix(next.bytes);
        }
    }

    asio::awaitable<void> pump(connection_ptr c, side s) {
        auto& from = s == side::requests ? c->client : c->server;
        std::string buffer(16 * 1024, '\0');
        boost::system::error_code error;
        auto token = asio::redirect_error(asio::use_awaitable, error);
        while (!c->is_closed) {
            const auto size = co_await from.async_read_some(asio::buffer(buffer), token);
            const std::string_view data(buffer.data(), size);
            if (s == side::requests && data.find("SUBSCRIBE") != data.npos) c->listens = true;
            co_await pass_on(c, s, data);
            if (error) co_await end(c);
        }
    }

    // Hangs up, where nothing is in the way of that.
    asio::awaitable<void> end(connection_ptr c) {
        boost::system::error_code error;
        auto token = asio::redirect_error(asio::use_awaitable, error);
        while (!c->is_closed && next_step(*c, side::requests, 0).stands_still) {
            co_await c->news.async_wait(token);
        }
        close(*c);
    }

    asio::awaitable<void> accept() {
        for (;;) {
            auto client = co_await acceptor_.async_accept(asio::use_awaitable);
            {
                const std::lock_guard lock(mutex_);
                ++accepted_;
            }
            tcp::socket server(context_);
            boost::system::error_code error;
            auto token = asio::redirect_error(asio::use_awaitable, error);
            const tcp::endpoint where(asio::ip::address_v4::loopback(), server_port_);
            co_await server.async_connect(where, token);
            if (error) continue;
            client.set_option(tcp::no_delay(true));
            server.set_option(tcp::no_delay(true));
            auto c = std::make_shared<connection>(std::move(client), std::move(server));
            connections_.push_back(c);
            asio::co_spawn(context_, pump(c, side::requests), asio::detached);
            asio::co_spawn(context_, pump(c, side::replies), asio::detached);
        }
    }

    void close(connection& c) {
        if (std::exchange(c.is_closed, true)) return;
        boost::system::error_code ignored;
        for (auto* socket : {&c.client, &c.server}) {
            socket->shutdown(tcp::socket::shutdown_both, ignored);
            socket->close(ignored);
        }
        c.news.cancel();
        connections_.remove_if([&](const auto& other) { return other.get() == &c; });
    }

    void set(const harm& what) {
        const std::lock_guard lock(mutex_);
        harm_ = what;
        ++number_;
        has_struck_ = false;
        passed_ = {};
        asio::post(context_, [this] {
            for (const auto& c : connections_) c->news.cancel();
        });
    }

    void cut() {
        asio::post(context_, [this] {
            const auto all = connections_;
            for (const auto& c : all) {
                if (!c->has_vanished) close(*c);
            }
        });
    }

    asio::io_context context_{1};
    mutable std::mutex mutex_;
    harm harm_;
    int number_ = 0;  // of the harm
    bool has_struck_ = false;
    std::array<std::size_t, 2> passed_{};
    int accepted_ = 0;
    std::list<connection_ptr> connections_;
    tcp::acceptor acceptor_;
    std::uint16_t server_port_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

hostile_proxy::hostile_proxy(std::uint16_t server_port)
    : impl_(std::make_unique<impl>(server_port)) {}
hostile_proxy::~hostile_proxy() = default;

node_options hostile_proxy::node(const std::string& name) const {
    node_options node;
    node.name = name;
    node.port = impl_->port_;
    return node;
}

void hostile_proxy::set(const harm& what) { impl_->set(what); }
void hostile_proxy::cut() { impl_->cut(); }

bool hostile_proxy::has_struck() const {
    const std::lock_guard lock(impl_->mutex_);
    return impl_->has_struck_;
}

std::size_t hostile_proxy::passed(side where) const {
    const std::lock_guard lock(impl_->mutex_);
    return impl_->passed_[at(where)];
}

int hostile_proxy::connections_accepted() const {
    const std::lock_guard lock(impl_->mutex_);
    return impl_->accepted_;
}

}  // namespace redlock::testing
