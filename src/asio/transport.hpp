// A stream to one node over TCP, TLS or a UNIX socket, and what opening one reads or asks for.
// SPDX-License-Identifier: MIT
#pragma once

#include "asio/credentials.hpp"
#include "asio/performers.hpp"
#include "asio/tls.hpp"
#include "client/connection.hpp"
#include "client/context.hpp"

#include <redlock/clock.hpp>
#include <redlock/options.hpp>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// Shared by the connections to one node. Used on one strand. Reads small files there: a file
/// system that hangs holds up the client.
class node_files {
public:
    /// Writes the password that it reads to `node`, which outlives it. Throws
    /// `std::invalid_argument` where a file can't be used and nothing stands in for it, with the
    /// field that names it.
    explicit node_files(node_options& node);

    /// Reads what has changed, and keeps what it had where that can't be used. Returns which file
    /// that is, why, and the remedy; else nothing.
    std::string read_again();

    /// For a node of which `asks_for_password` is true: has the request answered.
    void ask(const credentials_request& to) const;
    /// How messages name what answers it.
    std::string whom() const;
    /// From now on connections log in with that.
    void use(credentials_answer what);

    /// Null for a node without TLS.
    const std::shared_ptr<tls_setup>& tls() const noexcept { return tls_; }

private:
    std::string read_password();

    node_options* node_;
    const std::string username_;  // as the options have it
    std::shared_ptr<tls_setup> tls_;
};

/// Whether something has to be run or called for it at each connection.
inline bool asks_for_password(const node_options& node) noexcept {
    return !node.password_command.empty() || node.credentials;
}

/// Runs on one strand. Writes go straight to the socket, once per turn, and wait only where the
/// socket is full; so a client that closes knows which bytes have left.
class asio_transport final : public wire_performer, private credentials_user {
public:
    /// Where a name has several addresses, each `open` begins with the next one. Only the last that
    /// it tries may take all that is left of `connect_timeout`.
    /// `files` is null for a node without TLS and without a password that is read or requested.
    asio_transport(io_strand on, std::size_t index, const node_options& node,
                   clock::duration connect_timeout, wire_owner& owner, traffic& counts,
                   std::shared_ptr<node_files> files = nullptr);
    ~asio_transport() override { withdraw(); }
    asio_transport(const asio_transport&) = delete;
    asio_transport& operator=(const asio_transport&) = delete;

    void open() override;
    void drop() override;
    void flush() override;
    void abandon() noexcept override;

private:
    using socket =
        boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, io_strand>;
    using resolver = boost::asio::ip::basic_resolver<boost::asio::ip::tcp, io_strand>;
    using endpoint = boost::asio::generic::stream_protocol::endpoint;

    void resolve();
    bool has_next() const noexcept { return tried_ < endpoints_.size(); }
    void connect_next();
    boost::system::error_code open_socket(const endpoint& to);
    void limit_this_address();
    void on_connect(boost::system::error_code ec);
    void ask();
    void on_credentials(std::uint64_t question, credentials_answer what) override;
    void withdraw() noexcept;
    void begin();
    void await_bytes();
    void on_received(boost::system::error_code ec, std::size_t n);
    bool send(std::string& bytes);
    void begin_tls();
    bool on_cipher(std::string_view bytes);
    void flush_tls();
    void await_room();
    void fail(boost::system::error_code ec);
    void tell_down(boost::system::error_code ec);
    /// Wraps a member so that it runs only if the connection is still the one it was started for,
    /// and ends the turn afterwards.
    template <class F>
    auto step(F&& then);
    template <class F>
    struct handler;

    io_strand strand_;
    std::size_t index_;
    const node_options* node_;
    wire_owner* owner_;
    traffic* counts_;
    socket socket_;
    resolver resolver_;
    boost::asio::basic_waitable_timer<
        std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, io_strand>
        address_timer_;  // limits the try of one address
    clock::duration connect_timeout_;
    clock::time_point give_up_at_{};
    std::vector<endpoint> endpoints_;
    std::size_t tried_ = 0;            // of them, by this `open`
    std::size_t opens_ = 0;
    std::uint64_t generation_ = 0;     // counts tries: completions of earlier ones are ignored
    bool is_connected_ = false;
    bool is_open_ = false;             // connected, and with TLS the handshake is over
    bool waits_for_room_ = false;
    std::size_t written_ = 0;          // bytes of what is to be sent that have left
    std::shared_ptr<node_files> files_;
    std::weak_ptr<credentials_question> asked_;
    std::optional<tls_stream> tls_;
    std::string plain_;                // that was decrypted
    bool carries_plain_ = false;       // what TLS has to send holds bytes of the connection
    std::array<char, 16'384> received_;
};

}  // namespace redlock::detail
