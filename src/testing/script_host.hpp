// Runs scripts in an embedded Lua 5.1 as a server does, within its memory.
// SPDX-License-Identifier: MIT
#pragma once

#include "testing/keyspace.hpp"

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct lua_State;

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

/// In 40 lower-case hex digits.
std::string sha1_of(std::string_view text);

class script_host {
public:
    /// Executes the commands that a script calls. Throws nothing: Lua could not pass that on.
    class caller {
    public:
        virtual model_reply on_call(const std::vector<std::string>& words) noexcept = 0;

    protected:
        ~caller() = default;
    };

    /// The one that all servers share whose commands this thread carries out: a script can't change
    /// what later ones see. To compile scripts for each server would cost more than to run them,
    /// and so would the memory of a Lua for each.
    static script_host& of_this_thread();

    script_host();
    ~script_host();
    script_host(const script_host&) = delete;
    script_host& operator=(const script_host&) = delete;

    /// Compiles it, once for all times. Returns its SHA1, or an error reply.
    model_reply compile(const std::string& text);
    /// Runs a script with this SHA1, which can be compiled.
    model_reply run(const std::string& sha1, const std::string& text,
                    std::span<const std::string> keys, std::span<const std::string> args,
                    caller& by);

private:
    struct closing {
        void operator()(lua_State* lua) const noexcept;
    };

    void set_list(const char* name, std::span<const std::string> values);
    void protect_globals();

    script_memory memory_;
    std::unique_ptr<lua_State, closing> lua_;
    std::map<std::string, int, std::less<>> compiled_;    // to references in Lua's registry
    std::unordered_map<std::string, std::string> known_;  // texts to their SHA1
};

}  // namespace redlock::fakes
