// The commands of the protocol, formatted.
// SPDX-License-Identifier: MIT
#include "wire/commands.hpp"

#include "wire/resp/command.hpp"

#include <boost/container/small_vector.hpp>

#include <array>
#include <charconv>
#include <concepts>
#include <vector>

namespace redlock::wire {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class decimal {
public:
    explicit decimal(std::integral auto number) {
        end_ = std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr;
    }
    operator std::string_view() const noexcept {
        return {text_.data(), static_cast<std::size_t>(end_ - text_.data())};
    }

private:
    std::array<char, 24> text_;
    char* end_;
};

template <class Unit>
auto in(duration d) {
    return std::chrono::duration_cast<Unit>(d).count();
}

/// The name of a key that belongs to another. Allocates only for very long ones.
class companion_key {
public:
    companion_key(std::string_view key_prefix, std::string_view key, std::string_view what) {
        for (const std::string_view part :
             {key_prefix, std::string_view("{"), key, std::string_view("}:"), what}) {
            text_.insert(text_.end(), part.begin(), part.end());
        }
    }
    operator std::string_view() const noexcept { return {text_.data(), text_.size()}; }

private:
    boost::container::small_vector<char, 128> text_;
};

companion_key fence_of(std::string_view key_prefix, std::string_view key) {
    return {key_prefix, key, "fence"};
}

companion_key queue_of(std::string_view key_prefix, std::string_view key) {
    return {key_prefix, key, "queue"};
}

}  // namespace

std::string fence_key(std::string_view key_prefix, std::string_view key) {
    return std::string(std::string_view(fence_of(key_prefix, key)));
}

std::string queue_key(std::string_view key_prefix, std::string_view key) {
    return std::string(std::string_view(queue_of(key_prefix, key)));
}

tail write_acquire(std::string& out, script_form form, const lease_request& lease,
                        const fence_terms* fencing, const queue_entry* entry) {
    const decimal ttl(in<milliseconds>(lease.ttl));
    if (fencing == nullptr) {
        resp::append_command(out, {"SET", lease.key, lease.value, "NX", "PX", ttl});
        return tail::none;
    }
    const auto fence = fence_of(fencing->key_prefix, lease.key);
    const auto queue = queue_of(fencing->key_prefix, lease.key);
    const decimal proposed(fencing->fence);
    const decimal tolerance(in<microseconds>(fencing->tolerance));
    const decimal fence_life(in<milliseconds>(fencing->life));
    const queue_entry place = entry != nullptr ? *entry : queue_entry{};
    const decimal ticket(place.ticket);
    const decimal entry_life(in<milliseconds>(place.life));
    const std::array<std::string_view, 15> words{verb(form), body(form, resp::acquire()),
                                                 "4",        lease.key,
                                                 fence,      fencing->record_key,
                                                 queue,      lease.value,
                                                 ttl,        proposed,
                                                 tolerance,  fence_life,
                                                 place.id,   ticket,
                                                 entry_life};
    const std::size_t of_place = entry != nullptr ? 0 : 3;
    constexpr auto end = tail::epoch_and_limit;
    resp::append_command(out, std::span(words).first(words.size() - of_place),
                         word_count(end));
    return end;
}

tail write_extend(std::string& out, script_form form, std::span<const lease_request> leases,
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

tail write_release(std::string& out, script_form form, const release_request& what) {
    const std::string_view text = body(form, resp::release());
    if (!what.key_prefix) {
        resp::append_command(out, {verb(form), text, "1", what.key, what.value});
        return tail::none;
    }
    const std::string_view prefix = *what.key_prefix;
    const auto queue = queue_of(prefix, what.key);
    const queue_entry entry = what.entry != nullptr ? *what.entry : queue_entry{};
    const decimal ticket(entry.ticket);
    const decimal life(in<milliseconds>(entry.life));
    if (what.raise == nullptr) {
        resp::append_command(out, {verb(form), text, "2", what.key, queue, what.value, prefix,
                                   entry.id, ticket, life});
        return tail::none;
    }
    resp::append_command(
        out,
        {verb(form), text, "4", what.key, queue, fence_of(prefix, what.key), what.raise->record_key,
         what.value, prefix, entry.id, ticket, life, decimal(what.raise->fence),
         decimal(in<microseconds>(what.raise->tolerance)),
         decimal(in<milliseconds>(what.raise->life))},
        word_count(tail::epoch));
    return tail::epoch;
}

void write_wait(std::string& out, script_form form, std::span<const wait_request> waiters,
                std::string_view key_prefix) {
    const std::size_t n = waiters.size();
    const decimal count(n);
    const decimal keys(2 * n);
    std::vector<std::string> queues;
    std::vector<decimal> numbers;
    std::vector<std::string_view> words{verb(form), body(form, resp::wait()), keys};
    words.reserve(5 * n + 4);
    queues.reserve(n);
    numbers.reserve(2 * n);
    for (const auto& w : waiters) words.push_back(w.key);
    for (const auto& w : waiters) {
        words.push_back(queues.emplace_back(queue_key(key_prefix, w.key)));
    }
    words.push_back(count);
    for (const auto& w : waiters) words.push_back(w.entry.id);
    for (const auto& w : waiters) words.push_back(numbers.emplace_back(w.entry.ticket));
    for (const auto& w : waiters) {
        words.push_back(numbers.emplace_back(in<milliseconds>(w.entry.life)));
    }
    resp::append_command(out, words);
}

void write_get_front(std::string& out, std::string_view key) {
    resp::append_command(out, {"GETRANGE", key, "0", "127"});
}

void write_pttl(std::string& out, std::string_view key) {
    resp::append_command(out, {"PTTL", key});
}

void write_get_queue(std::string& out, std::string_view queue, std::size_t most) {
    const decimal last(most - 1);
    resp::append_command(out, {"ZRANGE", queue, "0", last});
}

}  // namespace redlock::wire
