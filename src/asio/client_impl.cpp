// The Asio side of a client.
// SPDX-License-Identifier: MIT
#include "asio/client_impl.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <atomic>
#include <stdexcept>
#include <utility>

namespace redlock::detail {

namespace asio = boost::asio;

namespace {

client_options completed(client_options options) {
    if (options.client_name.empty()) options.client_name = default_client_name();
    return options;
}

std::atomic<performer_source*> performers_of_tests{nullptr};

// One for each node; null for a node that needs none.
std::vector<std::shared_ptr<node_files>> files_of(client_options& options) {
    std::vector<std::shared_ptr<node_files>> made(options.nodes.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
        node_options& node = options.nodes[i];
        if (!node.tls && node.password_file.empty() && !asks_for_password(node)) continue;
        try {
            made[i] = std::make_shared<node_files>(node);
        } catch (const std::invalid_argument& e) {
            throw std::invalid_argument("redlock::client_options: /nodes/" + std::to_string(i) +
                                        e.what());
        }
    }
    return made;
}

}  // namespace

void use_performers(performer_source* from) noexcept { performers_of_tests.store(from); }

void client_service::add(client_impl& c) {
    const std::lock_guard lock(mutex_);
    clients_.push_back(&c);
}

void client_service::remove(client_impl& c) noexcept {
    const std::lock_guard lock(mutex_);
    clients_.remove(&c);
}

// An io_context of Boost 1.83 and newer calls it twice.
void client_service::shutdown() {
    std::vector<std::shared_ptr<client_impl>> alive;
    {
        const std::lock_guard lock(mutex_);
        for (client_impl* c : clients_) {
            if (auto held = c->weak_from_this().lock()) alive.push_back(std::move(held));
        }
        clients_.clear();
    }
    for (const auto& c : alive) c->discard();
}

void client_service::notify_fork(asio::execution_context::fork_event event) {
    if (event != asio::execution_context::fork_child) return;
    for (client_impl* c : clients_) c->abandon();  // no other thread runs in the child
}

client_impl::client_impl(const asio::any_io_executor& executor, client_options options)
    : io_(std::make_unique<performers>(executor)),
      service_(nullptr),
      options_(completed(std::move(options))),
      random_(std::random_device{}()) {
    make_performers();
    service_ = &asio::use_service<client_service>(asio::query(executor, asio::execution::context));
    engine_host& host = *this;
    engine_ = std::make_unique<engine>(options_, host, traffic_);
    service_->add(*this);
}

void client_impl::make_performers() {
    const std::size_t nodes = options_.nodes.size();
    const std::size_t connections = connections_per_node * nodes;
    if (performer_source* const from = performers_of_tests.load()) {
        for (std::size_t i = 0; i < connections; ++i) {
            io_->wires.push_back(from->make_wire(io_->strand, i, options_.nodes[i % nodes], *this));
        }
        io_->alarm = from->make_alarm(io_->strand);
        return;
    }
    const auto files = files_of(options_);
    for (std::size_t i = 0; i < connections; ++i) {
        wire_owner& owner = *this;
        io_->wires.push_back(std::make_unique<asio_transport>(
            io_->strand, i, options_.nodes[i % nodes], options_.connect_timeout, owner, traffic_,
            files[i % nodes]));
    }
    io_->alarm = make_system_alarm(io_->strand);
}

client_impl::~client_impl() {
    // A context that is destroyed drops the collector, and with it perhaps the last of us, before
    // it reaches its services.
    mailbox_.close();
    if (service_ != nullptr) service_->remove(*this);
}

std::shared_ptr<client_impl> client_impl::make(const asio::any_io_executor& executor,
                                               client_options options) {
    auto made = std::make_shared<client_impl>(executor, std::move(options));
    asio::post(made->io_->strand, [made] { made->start(); });
    return made;
}

asio::any_io_executor client_impl::executor() const noexcept {
    return io_ ? io_->strand.get_inner_executor().inner() : asio::any_io_executor();
}

void client_impl::start() {
    io_->alarm->start(shared_from_this(), [this] {
        engine_->on_time(clock::now());
        end_turn();
    });
    engine_->start(clock::now());
    end_turn();
}

std::shared_ptr<wire_owner> client_impl::keep_alive() noexcept {
    if (!io_) return nullptr;
    auto self = weak_from_this().lock();
    auto* const owner = static_cast<wire_owner*>(self.get());
    return {std::move(self), owner};
}

void client_impl::end_turn() {
    const auto now = clock::now();
    engine_->end_turn(now);
    for (const auto& w : io_->wires) w->flush();
    engine_->end_if_idle(now);
    if (engine_->is_over()) {
        io_->alarm->stop();
    } else {
        io_->alarm->set(engine_->deadline());
    }
}

void client_impl::put(mail& m) noexcept {
    if (is_inherited()) return m.discard();
    const bool taken = mailbox_.put(m, [this] {
        asio::post(io_->strand, [self = shared_from_this()] {
            self->mailbox_.collect();
            self->end_turn();
        });
    });
    if (!taken) m.discard();
}

void client_impl::close() noexcept {
    if (!is_inherited()) std::call_once(closed_, [this] { put(closing_); });
}

void client_impl::cancel() {
    // One message for each call: it cancels what was put before it, and nothing later.
    put(*new single_mail(
        [this] { engine_->cancel(asio::error::operation_aborted, clock::now()); }));
}

void client_impl::discard() noexcept {
    mailbox_.close();
    engine_->discard();
    io_.reset();
    service_ = nullptr;
}

void client_impl::abandon() noexcept {
    if (!io_) return;
    mailbox_.close();
    io_->alarm->abandon();
    for (const auto& w : io_->wires) w->abandon();
    engine_->discard();
}

void client_impl::part(std::shared_ptr<lease_state> state, farewell::kind what) noexcept {
    if (state->part()) send_farewell(std::move(state), what);
}

void client_impl::send_farewell(std::shared_ptr<lease_state> state, farewell::kind what) noexcept {
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
