// What crosses the C interface in both directions.
// SPDX-License-Identifier: MIT
#include "c/objects.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

namespace redlock::c {

namespace {

int new_eventfd() {
    const int made = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    return made;
}

}  // namespace

stop_signal::owned_descriptor::~owned_descriptor() { ::close(number); }

void stop_signal::writer::operator()() const noexcept {
    const std::uint64_t once = 1;
    // To a counter that stands at 0 a write can't fail.
    static_cast<void>(!::write(descriptor, &once, sizeof once));
}

stop_signal::stop_signal(std::stop_token of)
    : descriptor_{new_eventfd()},
      process_(::getpid()),
      on_stop_(std::make_unique<std::stop_callback<writer>>(std::move(of),
                                                            writer{descriptor_.number})) {}

// In a child process a callback that another thread was inside of at the fork never ends: to wait
// for it would hang.
stop_signal::~stop_signal() {
    if (process_ != ::getpid()) static_cast<void>(on_stop_.release());
}

char* copied(const std::string& text) {
    auto* const out = static_cast<char*>(std::malloc(text.size() + 1));
    if (out == nullptr) throw std::bad_alloc();
    std::memcpy(out, text.c_str(), text.size() + 1);
    return out;
}

std::stop_token token_of(redlock_cancel* cancel) {
    return cancel == nullptr ? std::stop_token() : cancel->source.get_token();
}

}  // namespace redlock::c

void redlock_text_free(char* text) { std::free(text); }
