// A program that answers scrapes: HTTP with the text of a client's counters.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Answers each connection, whatever it asks for, with the counters; one request each.
class metrics_server {
public:
    metrics_server(asio::io_context& io, const redlock::blocking_client& client)
        : acceptor_(io, {asio::ip::address_v4::loopback(), 0}), client_(&client) {
        accept();
    }
    tcp::endpoint where() const { return acceptor_.local_endpoint(); }

private:
    struct request {
        explicit request(tcp::socket s) : socket(std::move(s)) {}
        tcp::socket socket;
        std::string text;
    };

    void accept() {
        acceptor_.async_accept([this](boost::system::error_code ec, tcp::socket socket) {
            if (ec) return;
            read(std::make_shared<request>(std::move(socket)));
            accept();
        });
    }
    void read(std::shared_ptr<request> of) {
        constexpr std::size_t longest = 8'192;
        asio::async_read_until(
            of->socket, asio::dynamic_buffer(of->text, longest), "\r\n\r\n",
            [this, of](boost::system::error_code ec, std::size_t) {
                if (ec) return;
                of->text = "HTTP/1.0 200 OK\r\nContent-Type: application/openmetrics-text; "
                           "version=1.0.0; charset=utf-8\r\n\r\n" +
                           redlock::open_metrics(client_->stats());
                // The end of the connection is the end of the answer.
                asio::async_write(of->socket, asio::buffer(of->text),
                                  [of](boost::system::error_code, std::size_t) {});
            });
    }

    tcp::acceptor acceptor_;
    const redlock::blocking_client* client_;
};

// What Prometheus does every 15 s or so.
std::string scrape(const tcp::endpoint& where) {
    asio::io_context io;
    tcp::socket socket(io);
    socket.connect(where);
    asio::write(socket, asio::buffer("GET /metrics HTTP/1.0\r\n\r\n", 25));
    std::string text;
    boost::system::error_code at_end;
    asio::read(socket, asio::dynamic_buffer(text), at_end);
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    redlock::blocking_client client(example::options(argc, argv));
    asio::io_context io;
    metrics_server server(io, client);
    std::thread serves([&] { io.run(); });
    const auto held = client.acquire("example:metrics");
    const std::string page = scrape(server.where());
    io.stop();
    serves.join();
    std::cout << page.substr(0, 400) << "...\n";
    return example::check(held && page.find("\nredlock_leases 1\n") != page.npos,
                          "a scrape sees the lease that the program holds");
}
