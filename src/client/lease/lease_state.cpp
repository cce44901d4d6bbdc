// What a lease and its client share about one lock.
// SPDX-License-Identifier: MIT
#include "client/lease/lease_state.hpp"

#include <cassert>

namespace redlock::detail {

void farewell::deliver() {
    assert(about_ && to_ != nullptr);
    const auto about = std::move(about_);
    to_->on_farewell(*about, what_);
}

bool lease_state::is_valid(clock::time_point now) noexcept {
    if (!is_live()) return false;
    auto until = valid_until_.load(std::memory_order_acquire);
    while ((until & seen_over) == 0) {
        if (now.time_since_epoch().count() < until) return true;
        if (valid_until_.compare_exchange_weak(until, until | seen_over,
                                               std::memory_order_acq_rel)) {
            break;
        }
    }
    return false;
}

bool lease_state::set_end(clock::time_point until) noexcept {
    auto before = valid_until_.load(std::memory_order_acquire);
    while ((before & seen_over) == 0) {
        if (valid_until_.compare_exchange_weak(before, as_open(until),
                                               std::memory_order_acq_rel)) {
            return true;
        }
    }
    return false;
}

// It is noted first: a lease that ends meanwhile has either seen the note, or is over here.
std::string lease_state::token() const {
    if (!is_live()) return {};
    const auto before = shown_.fetch_or(token_is_out, std::memory_order_acq_rel);
    if (!is_live()) return {};
    if ((before & says_shared) == 0) return wire::write_token(resources(), fence, proof);
    wire::lease_proof as_reader = proof;
    as_reader.is_shared = true;
    as_reader.min_hold = {};  // that is over: see `downgrade_operation`
    return wire::write_token(resources(), fence, as_reader);
}

bool lease_state::share() noexcept {
    std::uint8_t none = 0;
    return shown_.compare_exchange_strong(none, says_shared, std::memory_order_acq_rel) ||
           (none & says_shared) != 0;
}

bool lease_state::lose(loss why) {
    lost_for_.store(why, std::memory_order_release);
    if (!leave(status::lost)) return false;
    alert();
    return true;
}

std::stop_token lease_state::lost_token() {
    if (born_.is_here()) return bell_.token();
    std::stop_source over;
    over.request_stop();
    return over.get_token();
}

// Callbacks run here, and may ask for the token again.
void loss_bell::ring() noexcept {
    const auto before = word_.fetch_or(rang, std::memory_order_acq_rel);
    if (auto* const source = source_in(before)) source->request_stop();
}

std::stop_token loss_bell::token() {
    auto word = word_.load(std::memory_order_acquire);
    if (source_in(word) == nullptr) {
        auto made = std::make_unique<std::stop_source>();
        const auto mine = reinterpret_cast<std::uintptr_t>(made.get());
        while (source_in(word) == nullptr) {
            if ((word & rang) != 0) made->request_stop();  // before another thread can see it
            if (!word_.compare_exchange_weak(word, mine | word, std::memory_order_acq_rel)) {
                continue;  // it rang meanwhile, or another thread was faster
            }
            word = mine;
            made.release();
        }
    }
    return source_in(word)->get_token();
}

}  // namespace redlock::detail
