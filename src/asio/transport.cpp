// A stream to one node over TCP, TLS or a UNIX socket, and the files that opening one reads.
// SPDX-License-Identifier: MIT
#include "asio/transport.hpp"

#include "value/error.hpp"
#include "value/file.hpp"
#include "value/platform.hpp"
#include "value/text.hpp"

#include <redlock/detail/recycling.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/errc.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <unistd.h>
#include <utility>

namespace redlock::detail {

node_files::node_files(node_options& node) : node_(&node), username_(node.username) {
    const std::string complaint = read_password();
    if (!complaint.empty() && node.password.empty()) {
        throw std::invalid_argument("/" + complaint + ": write the password to it");
    }
    if (node.tls) tls_ = make_tls_setup(node);
}

std::string node_files::read_again() {
    std::string complaint = read_password();
    if (!complaint.empty()) {
        complaint += "; the password that was read before is used: write the new one to the file";
    }
    if (!tls_) return complaint;
    const std::string other = read_again_tls(*tls_);
    if (other.empty()) return complaint;
    if (!complaint.empty()) complaint += "; ";
    return complaint + other + "; the files that were read before are used";
}

std::string node_files::read_password() {
    if (node_->password_file.empty()) return {};
    const std::filesystem::path file(node_->password_file);
    // A pipe would be waited for.
    std::error_code ignored;
    const bool may_block = std::filesystem::exists(file, ignored) && !can_be_read_again(file);
    file_secret found = may_block ? file_secret{{}, "is no regular file"} : read_secret(file);
    if (found.why.empty()) {
        node_->password = std::move(found.text);
        return {};
    }
    return "password_file: " + text::printable(node_->password_file) + " " + found.why;
}

void node_files::ask(const credentials_request& to) const {
    try {
        if (!node_->credentials) return run_password_command(node_->password_command, to);
        node_->credentials(to);
    } catch (const std::exception& e) {
        to.fail(whom() + " failed: " + text::printable(e.what()));
    } catch (...) {
        to.fail(whom() + " failed");
    }
}

std::string node_files::whom() const {
    return node_->credentials ? "the credentials callback"
                              : name_of_command(node_->password_command);
}

void node_files::use(credentials_answer what) {
    node_->password = std::move(what.password);
    node_->username = what.username.empty() ? username_ : std::move(what.username);
}

namespace asio = boost::asio;
using boost::system::error_code;

asio_transport::asio_transport(io_strand on, std::size_t index, const node_options& node,
                               clock::duration connect_timeout, wire_owner& owner,
                               traffic& counts, std::shared_ptr<node_files> files)
    : strand_(std::move(on)),
      index_(index),
      node_(&node),
      owner_(&owner),
      counts_(&counts),
      socket_(strand_),
      resolver_(strand_),
      address_timer_(strand_),
      connect_timeout_(connect_timeout),
      files_(std::move(files)) {
    if (files_ && files_->tls()) tls_.emplace(files_->tls());
}

// What is under way keeps the owner, and with it the transport, alive; the owner's end cancels it.
// So there is no cycle: the reactor owns the handler.
template <class F>
struct asio_transport::handler {
    using allocator_type = detail::recycling_memory<void>;

    allocator_type get_allocator() const noexcept { return {}; }

    template <class... Results>
    void operator()(error_code ec, Results&&... results) {
        if (generation != wire->generation_) return;
        then(ec, std::forward<Results>(results)...);
        keep->end_turn();
    }

    asio_transport* wire;
    std::shared_ptr<wire_owner> keep;
    std::uint64_t generation;
    F then;
};

template <class F>
auto asio_transport::step(F&& then) {
    return handler<std::decay_t<F>>{this, owner_->keep_alive(), generation_, std::forward<F>(then)};
}

void asio_transport::open() {
    if (!owner_->keep_alive()) return;
    ++generation_;
    endpoints_.clear();
    tried_ = 0;
    ++opens_;
    give_up_at_ = clock::now() + connect_timeout_;
    if (!node_->unix_socket.empty()) {
        endpoints_.emplace_back(asio::local::stream_protocol::endpoint(node_->unix_socket));
        return connect_next();
    }
    error_code not_literal;
    const auto address = asio::ip::make_address(node_->host, not_literal);
    if (not_literal) return resolve();
    endpoints_.emplace_back(asio::ip::tcp::endpoint(address, node_->port));
    connect_next();
}

void asio_transport::resolve() {
    using found_addresses = asio::ip::tcp::resolver::results_type;
    auto on_end = step([this](error_code ec, const found_addresses& found) {
        if (ec) return tell_down(ec);
        for (const auto& entry : found) endpoints_.emplace_back(entry.endpoint());
        connect_next();
    });
    // The first one of a context begins a thread, which the machine may not have.
    try {
        resolver_.async_resolve(node_->host, std::to_string(node_->port), std::move(on_end));
    } catch (const boost::system::system_error& e) {
        fail(e.code());
    }
}

void asio_transport::connect_next() {
    error_code ignored;
    socket_.close(ignored);
    address_timer_.cancel();
    ++generation_;
    const endpoint& to = endpoints_[(opens_ - 1 + tried_++) % endpoints_.size()];
    auto on_end = step([this](error_code ec) { on_connect(ec); });
    if (const error_code ec = open_socket(to)) {
        asio::post(strand_, [on_end = std::move(on_end), ec]() mutable { on_end(ec); });
    } else {
        socket_.async_connect(to, std::move(on_end));
    }
    if (has_next()) limit_this_address();
}

// Not Asio's `open`, which does not set close-on-exec: an executed program must not inherit a
// connection that is logged in.
error_code asio_transport::open_socket(const endpoint& to) {
    const auto protocol = to.protocol();
    const int made = beside_standard_streams(
        platform::new_socket(protocol.family(), protocol.type(), protocol.protocol()));
    if (made < 0) return {errno, boost::system::system_category()};
    error_code ec;
    socket_.assign(protocol, made, ec);
    if (ec) ::close(made);
    return ec;
}

// It gets half of the time that is left: the other addresses and the handshake need the rest.
void asio_transport::limit_this_address() {
    address_timer_.expires_after((give_up_at_ - clock::now()) / 2);
    address_timer_.async_wait(step([this](error_code ec) {
        if (!ec) connect_next();
    }));
}

void asio_transport::on_connect(error_code ec) {
    if (!ec) socket_.non_blocking(true, ec);
    if (ec) {
        if (has_next()) return connect_next();
        return tell_down(ec);
    }
    ++generation_;  // the address timer may have fired already, and its handler be queued
    address_timer_.cancel();
    if (node_->unix_socket.empty()) {
        error_code not_serious;
        socket_.set_option(asio::ip::tcp::no_delay(true), not_serious);
        socket_.set_option(asio::socket_base::keep_alive(true), not_serious);
    }
    if (asks_for_password(*node_)) return ask();
    begin();
}

// Of a server that is reached, so that no command runs in vain.
void asio_transport::ask() {
    const auto now = clock::now();
    owner_->user_of(index_).on_asking(files_->whom(), now);
    credentials_user& self = *this;
    const auto question = std::make_shared<credentials_question>(
        display_name(*node_), now + connect_timeout_, owner_->keep_alive(), self, generation_);
    asked_ = question;
    files_->ask(credentials_request(question));
}

void asio_transport::on_credentials(std::uint64_t question, credentials_answer what) {
    if (question != generation_) return;
    if (!what.why.empty()) {
        owner_->user_of(index_).on_files(std::move(what.why));
        return tell_down(errc::no_credentials);
    }
    files_->use(std::move(what));
    begin();
}

void asio_transport::withdraw() noexcept {
    if (const auto question = asked_.lock()) question->abandon();
    asked_.reset();
}

void asio_transport::begin() {
    is_connected_ = true;
    written_ = 0;
    if (files_) owner_->user_of(index_).on_files(files_->read_again());
    if (tls_) {
        owner_->user_of(index_).on_reached(clock::now());
        begin_tls();
    } else {
        is_open_ = true;
        owner_->user_of(index_).on_open(clock::now());
    }
    await_bytes();
}

// The connection is open when the handshake is over.
void asio_transport::begin_tls() {
    carries_plain_ = false;
    if (const error_code ec = tls_->begin()) fail(ec);
}

// False where the connection has ended.
bool asio_transport::on_cipher(std::string_view bytes) {
    plain_.clear();
    const error_code ec = tls_->feed(bytes, plain_);
    // Where a write has failed, its report is still on the way.
    if (is_connected_ && !is_open_ && tls_->is_ready()) {
        is_open_ = true;
        owner_->user_of(index_).on_open(clock::now());
    }
    const std::uint64_t generation = generation_;
    if (!plain_.empty()) owner_->user_of(index_).on_bytes(plain_, clock::now());
    if (generation != generation_) return false;
    if (!ec) return true;
    if (!waits_for_room_) send(tls_->to_send());  // an alert that says why
    tell_down(ec);
    return false;
}

// Not by waiting until it is readable: to wait, Asio arms the socket again in epoll, which wakes
// it once more for nothing. To read, it does not.
void asio_transport::await_bytes() {
    socket_.async_read_some(asio::buffer(received_),
                            step([this](error_code ec, std::size_t n) { on_received(ec, n); }));
}

void asio_transport::on_received(error_code ec, std::size_t n) {
    const std::uint64_t generation = generation_;
    // A short read means that the socket is empty; the bound keeps one busy node from starving
    // the others.
    for (int reads = 1;; ++reads) {
        if (ec == asio::error::would_block) break;
        if (ec) return tell_down(tls_ ? tls_->at_end(ec) : ec);
        counts_->reads.add();
        if (tls_) {
            if (!on_cipher({received_.data(), n})) return;
        } else {
            owner_->user_of(index_).on_bytes({received_.data(), n}, clock::now());
        }
        if (generation != generation_) return;
        if (n < received_.size() || reads == 8) break;
        n = socket_.read_some(asio::buffer(received_), ec);
    }
    await_bytes();
}

void asio_transport::flush() {
    if (!is_connected_ || waits_for_room_) return;
    if (tls_) return flush_tls();
    send(owner_->user_of(index_).outgoing());
}

// What was encrypted goes first, and as long as it waits nothing more is: the connection bounds
// what it keeps, and knows what has left.
void asio_transport::flush_tls() {
    std::string& plain = owner_->user_of(index_).outgoing();
    for (;;) {
        if (!send(tls_->to_send())) return;
        if (std::exchange(carries_plain_, false)) owner_->user_of(index_).on_written();
        if (!is_open_ || plain.empty()) return;
        if (const error_code ec = tls_->encrypt(plain)) return fail(ec);
        plain.clear();
        carries_plain_ = true;
    }
}

// As far as the socket takes it. False where something is left, or the connection has ended.
bool asio_transport::send(std::string& bytes) {
    while (written_ < bytes.size()) {
        error_code ec;
        const std::size_t n = socket_.write_some(asio::buffer(bytes) + written_, ec);
        if (ec == asio::error::would_block) {
            // What has left makes room, so that a slow node's buffer does not keep what it has
            // taken.
            bytes.erase(0, std::exchange(written_, 0));
            await_room();
            return false;
        }
        if (ec) {
            fail(tls_ ? tls_->at_end(ec) : ec);
            return false;
        }
        counts_->writes.add();
        written_ += n;
        if (!tls_) owner_->user_of(index_).on_written();
    }
    bytes.clear();
    written_ = 0;
    return true;
}

void asio_transport::await_room() {
    waits_for_room_ = true;
    socket_.async_wait(asio::socket_base::wait_write, step([this](error_code ec) {
                           waits_for_room_ = false;
                           if (ec) tell_down(ec);
                       }));
}

void asio_transport::fail(error_code ec) {
    // Found while flushing: reported in a turn of its own, since this one is about to end.
    asio::post(strand_, [tell = step([this](error_code why) { tell_down(why); }), ec]() mutable {
        tell(ec);
    });
    is_connected_ = false;
    is_open_ = false;
}

void asio_transport::tell_down(error_code ec) { owner_->user_of(index_).on_down(ec, clock::now()); }

void asio_transport::drop() {
    ++generation_;
    withdraw();
    if (tls_ && is_open_ && !waits_for_room_) {
        tls_->end();
        error_code too_late;
        socket_.write_some(asio::buffer(tls_->to_send()) + written_, too_late);
    }
    is_connected_ = false;
    is_open_ = false;
    waits_for_room_ = false;
    written_ = 0;
    resolver_.cancel();
    address_timer_.cancel();
    // The releases that were written still have to be read by the server: shut down, not reset.
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
    socket_.close(ignored);
}

// Not by closing the socket: Asio would leave it to the system to forget it in epoll, which the
// parent's copy of it prevents.
void asio_transport::abandon() noexcept {
    ++generation_;
    asked_.reset();
    is_connected_ = false;
    is_open_ = false;
    resolver_.cancel();
    address_timer_.cancel();
    if (!socket_.is_open()) return;
    error_code ignored;
    const int descriptor = socket_.release(ignored);
    if (!ignored) ::close(descriptor);
}

bool is_broken_connection(const error_code& code) noexcept {
    if (code.category() == category()) return false;  // contention may count as a std timeout
    namespace sys = boost::system::errc;
    static constexpr std::array conditions = {
        sys::broken_pipe,          sys::connection_aborted,   sys::connection_refused,
        sys::connection_reset,     sys::host_unreachable,     sys::network_down,
        sys::network_reset,        sys::network_unreachable,  sys::not_connected,
        sys::timed_out,            sys::address_not_available};
    namespace net = boost::asio::error;
    return std::any_of(conditions.begin(), conditions.end(),
                       [&](sys::errc_t c) { return code == c; }) ||
           code == net::eof || code == net::host_not_found ||
           code == net::host_not_found_try_again || code == net::no_data ||
           code == net::no_recovery;
}

}  // namespace redlock::detail
