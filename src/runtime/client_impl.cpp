// The Asio side of a client.
// SPDX-License-Identifier: MIT
#include "runtime/client_impl.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace redlock::detail {

namespace asio = boost::asio;

namespace {

std::string default_name() {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const std::string pid = ":" + std::to_string(::getpid());
    std::string name(host.data());
    for (char& c : name) {
        if (c <= 0x20 || c > 0x7e) c = '_';
    }
    name.resize(std::min(name.size(), max_client_name - pid.size()));
    return name + pid;
}

client_options completed(client_options options) {
    if (options.client_name.empty()) options.client_name = default_name();
    return options;
}

}  // namespace

void client_service::add(client_impl& c) {
    const std::lock_guard lock(mutex_);
    clients_.push_back(&c);
}

void client_service::remove(client_impl& c) noexcept {
    const std::lock_guard lock(mutex_);
    clients_.remove(&c);
}

void client_service::shutdown() {
    std::vector<std::shared_ptr<client_impl>> alive;
    {
        const std::lock_guard lock(mutex_);
        for (client_impl* c : clients_) {
            if (auto held = c->weak_from_this().lock()) alive.push_back(std::move(held));
        }
    }
    for (const auto& c : alive) c->discard();
}

client_impl::client_impl(asio::any_io_executor executor, client_options options)
    : executor_(std::move(executor)),
      service_(&asio::use_service<client_service>(
          asio::query(executor_, asio::execution::context))),
      strand_(asio::make_strand(executor_)),
      options_(completed(std::move(options))),
      random_(std::random_device{}()),
      alarm_(strand_) {
    for (std::size_t i = 0; i < options_.nodes.size(); ++i) {
        net::transport_host& host = *this;
        wires_.push_back(std::make_unique<net::asio_transport>(strand_, i, options_.nodes[i], host,
                                                               traffic_));
    }
    engine_host& host = *this;
    engine_ = std::make_unique<engine>(options_, host, traffic_);
    service_->add(*this);
}

client_impl::~client_impl() { service_->remove(*this); }

std::shared_ptr<client_impl> client_impl::make(asio::any_io_executor executor,
                                               client_options options) {
    auto made = std::make_shared<client_impl>(std::move(executor), std::move(options));
    asio::post(made->strand_, [made] { made->start(); });
    return made;
}

void client_impl::start() {
    alarm_.start(shared_from_this(), [this] {
        engine_->on_time(clock::now());
        end_turn();
    });
    engine_->start(clock::now());
    end_turn();
}

std::shared_ptr<net::transport_host> client_impl::keep_alive() noexcept {
    if (is_discarded_) return nullptr;
    auto self = weak_from_this().lock();
    auto* const host = static_cast<net::transport_host*>(self.get());
    return {std::move(self), host};
}

void client_impl::end_turn() {
    const auto now = clock::now();
    for (const auto& w : wires_) w->flush();
    engine_->end_if_idle(now);
    if (engine_->is_over()) {
        alarm_.stop();
    } else {
        alarm_.set(engine_->deadline());
    }
}

bool client_impl::put(mail& m) noexcept {
    switch (mailbox_.put(m)) {
        case mailbox::outcome::queued: return true;
        case mailbox::outcome::closed: m.discard(); return false;
        case mailbox::outcome::first: break;
    }
    asio::post(strand_, [self = shared_from_this()] {
        self->mailbox_.collect();
        self->end_turn();
    });
    return true;
}

void client_impl::close() noexcept {
    std::call_once(closed_, [this] { put(closing_); });
}

void client_impl::discard() noexcept {
    is_discarded_ = true;
    mailbox_.close();
    engine_->discard();
    for (const auto& w : wires_) w->drop();
    alarm_.stop();
}

void client_impl::part(std::shared_ptr<lease_state> state, farewell::kind what) noexcept {
    if (!state->end()) return;
    farewell& goodbye = state->goodbye;
    goodbye.write(std::move(state), *this, what);
    put(goodbye);
}

void client_impl::on_farewell(lease_state& state, farewell::kind what) {
    if (what == farewell::kind::give_back) {
        engine_->give_back(state, clock::now());
    } else {
        engine_->let_go(state, clock::now());
    }
}

}  // namespace redlock::detail
