// Memory for Lua, whose objects are small, many and soon gone; knows no object.
// SPDX-License-Identifier: MIT
#pragma once

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace redlock::fakes {

/// What one object leaves the next of about its size gets, without a word to malloc, which is dear
/// under the address sanitizer. There nobody may read what is free, or behind an object's end.
class script_memory {
public:
    /// As Lua asks for it. Throws nothing: Lua could not pass that on.
    static void* on_request(void* self, void* old, std::size_t from, std::size_t to) noexcept {
        return static_cast<script_memory*>(self)->resize(old, from, to);
    }

private:
    static constexpr std::size_t step = 16;  // as aligned as malloc's
    static constexpr std::size_t largest = 512;
    static constexpr std::size_t slab_bytes = 32'768;

    static std::size_t steps(std::size_t bytes) noexcept { return (bytes + step - 1) / step; }

    void* resize(void* old, std::size_t from, std::size_t to) {
        if (from > largest && to > largest) return std::realloc(old, to);
        void* const made = to != 0 ? take(to) : nullptr;
        if (made != nullptr && old != nullptr) std::memcpy(made, old, std::min(from, to));
        if (made != nullptr || to == 0) leave(old, from);
        return made;
    }
    void* take(std::size_t bytes) {
        if (bytes > largest) return std::malloc(bytes);
        std::vector<void*>& free = free_[steps(bytes)];
        if (free.empty()) free.push_back(cut(steps(bytes) * step));
        void* const block = free.back();
        free.pop_back();
        ASAN_UNPOISON_MEMORY_REGION(block, bytes);
        return block;
    }
    void leave(void* block, std::size_t bytes) {
        if (bytes > largest) return std::free(block);
        if (block == nullptr) return;
        ASAN_POISON_MEMORY_REGION(block, steps(bytes) * step);
        free_[steps(bytes)].push_back(block);
    }
    void* cut(std::size_t bytes) {
        if (left_ < bytes) {
            slabs_.push_back(std::make_unique<std::byte[]>(slab_bytes));
            ASAN_POISON_MEMORY_REGION(slabs_.back().get(), slab_bytes);
            left_ = slab_bytes;
        }
        left_ -= bytes;
        return slabs_.back().get() + left_;
    }

    std::array<std::vector<void*>, largest / step + 1> free_;  // by their size
    std::vector<std::unique_ptr<std::byte[]>> slabs_;
    std::size_t left_ = 0;  // of the last of them
};

}  // namespace redlock::fakes
