// A value that most owners never change; knows nothing of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

namespace redlock::detail {

/// Takes the memory of a pointer until it is changed for the first time.
template <class T>
class rare {
public:
    rare() = default;
    rare(const rare& other) : value_(other.value_ ? std::make_unique<T>(*other) : nullptr) {}
    rare(rare&&) noexcept = default;
    rare& operator=(rare other) noexcept {
        value_ = std::move(other.value_);
        return *this;
    }

    const T& operator*() const noexcept { return value_ ? *value_ : unchanged; }
    const T* operator->() const noexcept { return &**this; }
    T& edit() {
        if (!value_) value_ = std::make_unique<T>();
        return *value_;
    }

private:
    inline static const T unchanged{};
    std::unique_ptr<T> value_{};
};

}  // namespace redlock::detail
