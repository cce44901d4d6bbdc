// Identities from the operating system's random numbers; knows neither keys nor nodes.
// SPDX-License-Identifier: MIT
#include "value/owner_id.hpp"

#include "value/clock.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace redlock {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// One system call serves 16 identities: getentropy gives up to 256 bytes.
struct reserve {
    std::array<std::uint8_t, 256> bytes;
    std::size_t left = 0;
    detail::birthplace drawn;

    void refill() {
        const detail::birthplace here;
        if (const int failed = detail::watch_forks(); failed != 0) {
            throw std::system_error(failed, std::generic_category(), "pthread_atfork");
        }
        left = 0;
        if (::getentropy(bytes.data(), bytes.size()) != 0) {
            throw std::system_error(errno, std::generic_category(), "getentropy");
        }
        left = bytes.size();
        drawn = here;
    }
};

}  // namespace

owner_id owner_id::random() {
    thread_local reserve stock;
    owner_id id;
    // A child of fork() must not repeat what its parent draws: it drops what was drawn ahead.
    if (stock.left < id.bytes.size() || !stock.drawn.is_here()) stock.refill();
    stock.left -= id.bytes.size();
    std::memcpy(id.bytes.data(), stock.bytes.data() + stock.left, id.bytes.size());
    return id;
}

owner_id text::read_whole(std::string_view text) noexcept {
    owner_id id;
    auto at = id.bytes.begin();
    std::uint32_t pending = 0;
    unsigned bits = 0;
    for (const char c : text) {
        const auto digit = alphabet.find(c);
        pending = (pending << 6U) | (digit == alphabet.npos ? 0U : static_cast<unsigned>(digit));
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        if (at == id.bytes.end()) break;
        *at++ = static_cast<std::uint8_t>(pending >> bits);
    }
    return id;
}

std::array<char, 22> text::whole(const owner_id& id) noexcept {
    std::array<char, 22> out;
    auto at = out.begin();
    std::uint32_t pending = 0;
    unsigned bits = 0;
    for (const std::uint8_t byte : id.bytes) {
        pending = (pending << 8U) | byte;
        bits += 8;
        while (bits >= 6) {
            bits -= 6;
            *at++ = alphabet[(pending >> bits) & 0x3fU];
        }
    }
    *at = alphabet[(pending << (6U - bits)) & 0x3fU];  // the last two bits of the 128
    return out;
}

std::string owner_id::to_string() const {
    const auto all = text::whole(*this);
    return {all.data(), all.size()};
}

std::string owner_id::abbreviated() const { return to_string().substr(0, 6) + "…"; }

}  // namespace redlock
