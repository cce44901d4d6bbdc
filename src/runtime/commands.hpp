// The commands of the protocol, formatted; knows no answers.
// SPDX-License-Identifier: MIT
#pragma once

#include "core/quorum.hpp"
#include "net/call.hpp"

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace redlock::detail {

/// How a script is named on the wire: by its SHA1, or with its whole text for a node that lost it.
enum class script_form : bool { by_hash, whole };

/// What a fenced command says of fences, and where they are kept.
struct fence_terms {
    std::uint64_t fence = 0;             ///< That is proposed.
    core::duration tolerance{};          ///< `core::fence_tolerance`.
    core::duration life{};               ///< Of a fence on a node after its last use.
    std::string_view key_prefix;
    std::string_view record_key;
};

/// One lease in a command that prolongs many.
struct lease_request {
    std::string_view key;
    std::string_view value;
    core::duration ttl{};
};

// Each returns what the session has to put behind it. Without `fence_terms` they are the plain
// commands of every Redlock, and touch no other key.
net::tail write_acquire(std::string& out, script_form form, const lease_request& lease,
                        const fence_terms* fencing);
net::tail write_extend(std::string& out, script_form form, std::span<const lease_request> leases,
                       const fence_terms* fencing);
/// With `raise`: so that nothing below that fence can take the key any more.
net::tail write_release(std::string& out, script_form form, std::string_view key,
                        std::string_view value, const fence_terms* raise);
/// What a key holds, 128 bytes of it at most: foreign values have no limit. Empty where there is none.
void write_get_front(std::string& out, std::string_view key);
void write_pttl(std::string& out, std::string_view key);

/// Where the fence of a key is kept.
std::string fence_key(std::string_view key_prefix, std::string_view key);

}  // namespace redlock::detail
