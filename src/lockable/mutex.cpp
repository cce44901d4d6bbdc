// Mutexes, guards and sections on a blocking client.
// SPDX-License-Identifier: MIT
#include "lockable/mutex.hpp"

#include "value/error.hpp"
#include "value/text.hpp"

#include <redlock/detail/access.hpp>
#include <redlock/detail/section.hpp>
#include <redlock/detail/waiting_time.hpp>
#include <redlock/guard.hpp>
#include <redlock/mutex.hpp>
#include <redlock/with_lock.hpp>

#include <boost/system/errc.hpp>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <exception>
#include <future>
#include <mutex>
#include <system_error>
#include <utility>

namespace redlock::detail {

thread_number this_thread_number() noexcept {
    static std::atomic<thread_number> last{0};
    thread_local const thread_number mine = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return mine;
}

holds::arrival holds::arrive(thread_number thread) {
    entry* const mine = of(thread);
    if (mine == nullptr) return {standing::free};
    lease ended = find_loss(*mine);
    if (std::exchange(mine->is_unreported, false)) {
        tidy();
        return {standing::lost, std::move(ended)};
    }
    return {mine->levels > 0 ? standing::held : standing::free};
}

void holds::begin(thread_number thread, lease granted) {
    entry& mine = made_for(thread);
    assert(mine.levels == 0);
    mine.held = std::move(granted);
    mine.levels = 1;
}

void holds::deepen(thread_number thread) {
    entry* const mine = of(thread);
    assert(mine != nullptr && mine->levels > 0);
    ++mine->levels;
}

holds::departure holds::depart(thread_number thread, bool may_throw) {
    entry* const mine = of(thread);
    if (mine == nullptr) return {leaving::not_held};
    lease ended = find_loss(*mine);
    if (mine->levels > 1) {
        --mine->levels;
        return {leaving::level};
    }
    departure done{leaving::not_held, std::move(ended)};
    if (mine->levels == 1) {
        mine->levels = 0;
        done = {leaving::hold, std::move(mine->held)};
    } else if (may_throw && mine->is_unreported) {
        mine->is_unreported = false;
        done.what = leaving::lost;
    } else if (mine->excused > 0) {
        --mine->excused;
        done.what = leaving::excused;
    }
    tidy();
    return done;
}

void holds::note_loss(thread_number thread, bool may_throw) {
    entry& mine = made_for(thread);
    if (may_throw) {
        ++mine.excused;  // a guard whose unlock throws will call it again
    } else {
        mine.is_unreported = true;
    }
}

const lease* holds::find(thread_number thread) const noexcept {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const entry& e) {
        return e.thread == thread && e.levels > 0;
    });
    return found == entries_.end() ? nullptr : &found->held;
}

holds::entry* holds::of(thread_number thread) noexcept {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const entry& e) { return e.thread == thread; });
    return found == entries_.end() ? nullptr : &*found;
}

holds::entry& holds::made_for(thread_number thread) {
    if (entry* const known = of(thread)) return *known;
    tidy();
    entry& made = entries_.emplace_back();
    made.thread = thread;
    return made;
}

// Moves the lease out of a hold that is over.
lease holds::find_loss(entry& of) noexcept {
    if (of.levels == 0 || of.held) return {};
    of.excused += std::exchange(of.levels, 0);
    of.is_unreported = true;
    return std::move(of.held);
}

void holds::tidy() noexcept {
    std::erase_if(entries_, [](const entry& e) {
        return e.levels == 0 && e.excused == 0 && !e.is_unreported;
    });
    const auto has_no_lease = [](const entry& e) { return e.levels == 0; };
    if (std::count_if(entries_.begin(), entries_.end(), has_no_lease) >
        static_cast<std::ptrdiff_t>(most_without_lease)) {
        entries_.erase(std::find_if(entries_.begin(), entries_.end(), has_no_lease));
    }
}

void fail(errc why, const std::string& resource, const std::string& detail) {
    throw std::system_error(why,
                            text::lock_named(resource) + (detail.empty() ? "" : ": ") + detail);
}

void fail(const refusal& why, const std::string& resource) {
    const std::string reasons = reasons_of(why);  // what() ends with the text of the code
    throw std::system_error(
        why.code, text::lock_named(resource) + (reasons.empty() ? "" : ": ") + reasons);
}

lease acquire_or_throw(blocking_client& client, const std::string& resource,
                       acquire_options options, std::stop_token stop) {
    if (options.wait == std::chrono::milliseconds(0)) options.wait = longest_wait;
    auto got = client.acquire(resource, options, std::move(stop));
    if (!got) fail(got.error(), resource);
    return std::move(*got);
}

lease acquire_within(std::chrono::milliseconds wait, blocking_client& client,
                     const std::string& resource, acquire_options options, std::stop_token stop) {
    options.wait = wait;
    auto got = client.acquire(resource, options, stop);
    if (got) return std::move(*got);
    if (got.error() == condition::retryable || stop.stop_requested()) return {};
    fail(got.error(), resource);
}

void await_report(const lease& lost) {
    // How long the client's thread may stand still before a loss is thrown ahead of its token.
    constexpr std::chrono::seconds longest_stall{1};
    const std::stop_token token = lost.lost_token();
    if (!token.stop_possible()) return;
    std::promise<void> reported;
    const std::stop_callback on_report(token, [&] { reported.set_value(); });
    reported.get_future().wait_for(longest_stall);
}

bool release_held(blocking_client& client, lease held) {
    return !blocking_section(client, std::move(held)).end().code;
}

blocking_section::~blocking_section() {
    if (has_ended_) return;
    try {
        static_cast<void>(end());
    } catch (...) {
        // Out of memory: the lease's own destructor releases it in the background.
    }
}

refusal blocking_section::end() {
    has_ended_ = true;
    if (!held_) await_report(held_);
    const section_end end(held_);
    const auto released = client_->release(std::move(held_));
    return end.after_release(released ? error_code() : released.error());
}

}  // namespace redlock::detail

namespace redlock {

using detail::holds;

// Threads that wait do so in the client's queue, and hold nothing of this object meanwhile.
struct basic_mutex::state {
    holds::standing arrive();
    void begin(lease granted);
    acquire_options terms(lock_mode mode) const;
    template <class F>
    auto of_hold(F get) const;

    blocking_client* const client;
    const std::string resource;
    const acquire_options options;
    const nesting again;

    mutable std::mutex gate{};  // never held during a call of the client
    holds threads{};
};

// Throws if the thread's last hold was lost. Goes one level deeper where that is allowed.
holds::standing basic_mutex::state::arrive() {
    const auto thread = detail::this_thread_number();
    holds::arrival now = [&] {
        const std::lock_guard lock(gate);
        holds::arrival found = threads.arrive(thread);
        if (found.what == holds::standing::held && again == nesting::counted) {
            threads.deepen(thread);
        }
        return found;
    }();
    if (now.what == holds::standing::lost) {
        detail::await_report(now.ended);
        detail::fail(errc::lost, resource);
    }
    return now.what;
}

void basic_mutex::state::begin(lease granted) {
    const std::lock_guard lock(gate);
    threads.begin(detail::this_thread_number(), std::move(granted));
}

acquire_options basic_mutex::state::terms(lock_mode mode) const {
    acquire_options out = options;
    out.mode = mode;
    return out;
}

// `get` of the lease that the calling thread holds; what stands for nothing if it holds none.
template <class F>
auto basic_mutex::state::of_hold(F get) const {
    const std::lock_guard lock(gate);
    return detail::of_lease(threads.find(detail::this_thread_number()), get);
}

basic_mutex::basic_mutex(blocking_client& client, std::string resource, acquire_options options,
                         nesting again)
    : state_(new state{&client, std::move(resource), options, again}) {}

basic_mutex::~basic_mutex() = default;

void basic_mutex::lock_as(lock_mode mode, std::stop_token stop) {
    const state& s = *state_;
    if (state_->arrive() == holds::standing::held) {
        if (s.again == nesting::counted) return;
        detail::fail(errc::would_deadlock, s.resource, "this thread has locked it already");
    }
    state_->begin(
        detail::acquire_or_throw(*s.client, s.resource, s.terms(mode), std::move(stop)));
}

bool basic_mutex::try_lock_within(std::chrono::milliseconds wait, lock_mode mode) {
    const state& s = *state_;
    if (state_->arrive() == holds::standing::held) return s.again == nesting::counted;
    lease granted = detail::acquire_within(wait, *s.client, s.resource, s.terms(mode));
    if (!granted) return false;
    state_->begin(std::move(granted));
    return true;
}

void basic_mutex::unlock() {
    state& s = *state_;
    const auto thread = detail::this_thread_number();
    const bool may_throw = std::uncaught_exceptions() == 0;
    holds::departure done = [&] {
        const std::lock_guard lock(s.gate);
        return s.threads.depart(thread, may_throw);
    }();
    switch (done.what) {
        case holds::leaving::level:
        case holds::leaving::excused: return;
        case holds::leaving::not_held: detail::fail(errc::not_held, s.resource);
        case holds::leaving::lost:
            detail::await_report(done.ended);
            detail::fail(errc::lost, s.resource);
        case holds::leaving::hold: break;
    }
    if (detail::release_held(*s.client, std::move(done.ended))) return;
    {
        const std::lock_guard lock(s.gate);
        s.threads.note_loss(thread, may_throw);
    }
    if (may_throw) detail::fail(errc::lost, s.resource);
}

void basic_mutex::share() {
    const lease* const held = state_->of_hold([](const lease& of) { return &of; });
    if (held == nullptr) detail::fail(errc::not_held, state_->resource);
    const auto done = state_->client->downgrade(*held);
    // After any other error it is shared, and the client sends the change again, or it is lost.
    for (const errc refusal : {errc::invalid_argument, errc::would_deadlock}) {
        if (!done && done.error() == refusal) detail::fail(refusal, state_->resource);
    }
}

std::uint64_t basic_mutex::fence() const noexcept { return state_->of_hold(&lease::fence); }

std::stop_token basic_mutex::lost_token() const noexcept {
    return state_->of_hold(&lease::lost_token);
}

void basic_mutex::touch() const noexcept { state_->of_hold(&lease::touch); }

guard::guard(blocking_client& client, std::string resource, acquire_options options,
             std::stop_token stop) noexcept
    : client_(&client) {
    try {
        if (auto got = client.acquire(std::move(resource), options, std::move(stop))) {
            lease_ = std::move(*got);
        } else {
            why_ = std::move(got).error();
        }
    } catch (...) {
        // An acquire allocates; it throws nothing but that it could not.
        why_.code = make_error_code(boost::system::errc::not_enough_memory);
    }
}

bool guard::release() noexcept {
    if (!detail::access::state(lease_)) return false;
    try {
        why_ = detail::blocking_section(*client_, std::move(lease_)).end();
    } catch (...) {
        // The lease's own destructor releases it in the background.
        why_.code = make_error_code(boost::system::errc::not_enough_memory);
    }
    const bool was_held = !why_.code;
    if (was_held) why_.code = errc::not_held;
    return was_held;
}

const refusal& guard::why() const noexcept {
    if (!detail::access::state(lease_) || held()) return why_;
    try {
        why_ = detail::why_over(lease_);
    } catch (...) {
        why_.code = errc::lost;  // without memory for the reason
    }
    return why_;
}

}  // namespace redlock
