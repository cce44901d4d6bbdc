// The requests of one turn to one node, as one command.
// SPDX-License-Identifier: MIT
#include "wire/batch.hpp"

#include "wire/resp/command.hpp"
#include "wire/words.hpp"

#include <cassert>
#include <chrono>

namespace redlock::wire {

using std::chrono::microseconds;
using std::chrono::milliseconds;

void batch::add(const request& what) {
    assert(has_room_for(what) && !what.is_command());
    keys_.append(what.keys);
    queues_.append(what.queues);
    sets_.append(what.set);
    if (!what.set.empty()) ++set_count_;
    words_.append(what.words);
    word_count_ += what.count;
    ++size_;
    locks_ += what.locks;
}

void batch::write(std::string& out, resp::script_form form, const batch_conditions& when,
                  const core::fence_limits& limits) {
    assert(!empty());
    if (record_key_.empty()) {
        resp::append_command(out, {verb(form), body(form, resp::plain()), decimal(locks_)},
                             locks_ + word_count_);
        out.append(keys_);
    } else {
        constexpr std::size_t conditions = 5;
        const std::size_t companions = 3 * locks_ + set_count_;
        resp::append_command(
            out, {verb(form), body(form, resp::requests()), decimal(1 + companions), record_key_},
            companions + conditions + word_count_);
        out.append(keys_).append(queues_).append(sets_);
        resp::append_words(out, {when.epoch,
                                 when.until ? std::string_view(decimal(*when.until)) : "",
                                 decimal(in<microseconds>(limits.tolerance)),
                                 decimal(in<milliseconds>(limits.life)), decimal(locks_)});
    }
    out.append(words_);
    clear();
}

void batch::clear() noexcept {
    keys_.clear();
    queues_.clear();
    sets_.clear();
    words_.clear();
    size_ = 0;
    locks_ = 0;
    word_count_ = 0;
    set_count_ = 0;
}

}  // namespace redlock::wire
