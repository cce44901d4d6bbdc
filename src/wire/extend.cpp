// Extend, as it is asked for many leases and answered for each.
// SPDX-License-Identifier: MIT
#include "wire/extend.hpp"

#include "wire/keys.hpp"
#include "wire/resp/command.hpp"
#include "wire/words.hpp"

#include <string_view>
#include <vector>

namespace redlock::wire {

using std::chrono::microseconds;
using std::chrono::milliseconds;

tail write_extend(std::string& out, resp::script_form form, std::span<const lease_request> leases,
                  const fence_terms* fencing) {
    const std::size_t n = leases.size();
    const decimal count(n);
    const decimal keys(fencing != nullptr ? 2 * n + 1 : n);
    std::vector<std::string> fences;
    std::vector<decimal> ttls;
    std::vector<std::string_view> words{verb(form), body(form, resp::extend()), keys};
    words.reserve(4 * n + 8);
    fences.reserve(n);
    ttls.reserve(n);
    for (const auto& lease : leases) words.push_back(lease.key);
    if (fencing != nullptr) {
        for (const auto& lease : leases) {
            words.push_back(fences.emplace_back(fence_key(fencing->key_prefix, lease.key)));
        }
        words.push_back(fencing->record_key);
    }
    words.push_back(count);
    for (const auto& lease : leases) words.push_back(lease.value);
    for (const auto& lease : leases)
        words.push_back(ttls.emplace_back(in<milliseconds>(lease.ttl)));
    if (fencing == nullptr) {
        resp::append_command(out, words);
        return tail::none;
    }
    const decimal fence(fencing->fence);
    const decimal tolerance(in<microseconds>(fencing->tolerance));
    const decimal life(in<milliseconds>(fencing->life));
    words.insert(words.end(), {fence, tolerance, life});
    constexpr auto end = tail::epoch_and_limit;
    resp::append_command(out, words, word_count(end));
    return end;
}

compare_answer read_extension(const resp::reply& reply, std::size_t lease) {
    const resp::reply one = reply[lease];
    if (one.type() != resp::reply_type::integer) {
        return {.why = read_failure(reply)};
    }
    if (one.integer() > 1) {
        return {.choice = core::choice::no, .fence = static_cast<std::uint64_t>(one.integer())};
    }
    switch (one.integer()) {
        case 1: return {.choice = core::choice::yes};
        case 0:
        case -1: return {.choice = core::choice::no};
        case -2:
            return {.why = {vote::refused, errc::clock_skew,
                            "the fence is too far ahead of its clock"}};
        case -3:
            return {.why = {vote::refused, errc::foreign_data, "a key holds something else"}};
        default: return {.why = read_failure(reply)};
    }
}

}  // namespace redlock::wire
