// A node whose name has several addresses, of which not all lead to it; knows no internals.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"

#include <redlock/error.hpp>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

// In place of the system's: a name "127.0.0.2+127.0.0.1.test" has these addresses, in that order.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
    static const auto real =
        reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    std::string addresses = name == nullptr ? "" : name;
    if (!addresses.ends_with(".test")) return real(name, service, hints, found);
    addresses.erase(addresses.size() - 5);
    addrinfo** end = found;
    for (std::size_t at = 0; at < addresses.size();) {
        const std::size_t length = std::min(addresses.find('+', at), addresses.size()) - at;
        const int bad = real(addresses.substr(at, length).c_str(), service, hints, end);
        if (bad != 0) return bad;
        while (*end != nullptr) end = &(*end)->ai_next;
        at += length + 1;
    }
    return 0;
}

namespace {

// A port of 127.0.0.2 to 127.0.0.254 on which nothing answers.
class dead_end {
public:
    enum class kind { drops_packets, says_nothing };

    dead_end(const char* address, std::uint16_t port, kind how) {
        to_.sin_family = AF_INET;
        to_.sin_port = htons(port);
        ::inet_pton(AF_INET, address, &to_.sin_addr);
        const int listening = opened();
        const int yes = 1;
        ::setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        REQUIRE(::bind(listening, where(), sizeof to_) == 0);
        // Connections that are not accepted fill the queue; the system drops further ones.
        REQUIRE(::listen(listening, how == kind::drops_packets ? 0 : 64) == 0);
        if (how == kind::says_nothing) return;
        for (int i = 0; i < 4; ++i) ::connect(opened(), where(), sizeof to_);
    }
    ~dead_end() {
        for (const int fd : sockets_) ::close(fd);
    }
    dead_end(const dead_end&) = delete;
    dead_end& operator=(const dead_end&) = delete;

private:
    int opened() {
        sockets_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        return sockets_.back();
    }
    const sockaddr* where() const { return reinterpret_cast<const sockaddr*>(&to_); }

    sockaddr_in to_{};
    std::vector<int> sockets_;
};

}  // namespace

TEST_CASE("a node is reached by another of its addresses where the first leads nowhere",
          "[addresses]") {
    cluster nodes(1);
    const auto how = GENERATE(dead_end::kind::drops_packets, dead_end::kind::says_nothing);
    const dead_end first("127.0.0.2", nodes[0].port(), how);
    const dead_end second("127.0.0.3", nodes[0].port(), how);
    auto options = nodes.options();
    options.nodes[0].host = GENERATE("127.0.0.2+127.0.0.1.test", "127.0.0.1+127.0.0.2.test",
                                     "127.0.0.2+127.0.0.3+127.0.0.1.test");
    options.connect_timeout = 500ms;
    driver d(options, 0);
    CHECK(d.until([&] { return d.client().stats().connects > 0; }));
    CHECK(d.acquire("r", {.ttl = 20s, .wait = 20s}).value());
}

TEST_CASE("a first address that refuses or hangs costs the node no second try", "[addresses]") {
    cluster nodes(1);
    const dead_end hangs("127.0.0.2", nodes[0].port(), dead_end::kind::drops_packets);
    auto options = nodes.options();
    // Nobody listens at 127.0.0.4.
    options.nodes[0].host = GENERATE("127.0.0.4+127.0.0.1.test", "127.0.0.2+127.0.0.1.test");
    driver d(options, 0);
    REQUIRE(d.until([&] { return d.client().stats().connects > 0; }));
    for (const auto& e : d.log().all()) {
        INFO(e.text);
        CHECK(e.kind != event_kind::node_down);
    }
}
