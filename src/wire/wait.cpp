// Requests of many waiters in one command, and the answer to each.
// SPDX-License-Identifier: MIT
#include "wire/wait.hpp"

#include "wire/keys.hpp"
#include "wire/owner_value.hpp"
#include "wire/resp/command.hpp"
#include "wire/time.hpp"
#include "wire/words.hpp"

#include <vector>

namespace redlock::wire {

using std::chrono::milliseconds;

void write_wait(std::string& out, resp::script_form form, std::span<const wait_request> waiters,
                std::string_view key_prefix) {
    const std::size_t n = waiters.size();
    const decimal count(n);
    const decimal keys(2 * n);
    std::vector<std::string> names;
    std::vector<decimal> numbers;
    std::vector<std::string_view> words{verb(form), body(form, resp::wait()), keys};
    words.reserve(6 * n + 4);
    names.reserve(2 * n);
    numbers.reserve(3 * n);
    for (const auto& w : waiters) {
        if (w.slots == 0)
            words.push_back(w.key);
        else
            words.push_back(names.emplace_back(std::string_view(slots_of(key_prefix, w.key))));
    }
    for (const auto& w : waiters) {
        words.push_back(names.emplace_back(queue_key(key_prefix, w.key)));
    }
    words.push_back(count);
    for (const auto& w : waiters) words.push_back(w.entry.id);
    for (const auto& w : waiters) words.push_back(numbers.emplace_back(w.entry.ticket));
    for (const auto& w : waiters) {
        words.push_back(numbers.emplace_back(in<milliseconds>(w.entry.life)));
    }
    for (const auto& w : waiters) words.push_back(numbers.emplace_back(w.slots));
    resp::append_command(out, words);
}

std::optional<wait_answer> read_wait(const resp::reply& reply, std::size_t waiter) {
    const resp::reply one = reply[waiter];
    if (one[0].type() != resp::reply_type::integer) return std::nullopt;
    return wait_answer{.left = read_pttl(one[0].integer()),
                       .before = read_pttl(one[1].integer()),
                       .is_foreign = is_foreign(one[2].text())};
}

}  // namespace redlock::wire
