// A value that most owners never change; knows nothing of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/detail/recycling.hpp>

#include <memory>
#include <utility>

namespace redlock::detail {

/// Takes the memory of a pointer until it is changed for the first time.
template <class T>
class rare {
public:
    rare() = default;
    rare(const rare& other)
        : changed_(other.changed_ ? std::make_unique<changed>(*other) : nullptr) {}
    rare(rare&&) noexcept = default;
    rare& operator=(rare other) noexcept {
        changed_ = std::move(other.changed_);
        return *this;
    }

    const T& operator*() const noexcept { return changed_ ? changed_->value : unchanged; }
    const T* operator->() const noexcept { return &**this; }
    T& edit() {
        if (!changed_) changed_ = std::make_unique<changed>(T{});
        return changed_->value;
    }

private:
    struct changed : recycled {
        explicit changed(T first) : value(std::move(first)) {}
        T value;
    };

    inline static const T unchanged{};
    std::unique_ptr<changed> changed_{};
};

}  // namespace redlock::detail
