// Lua 5.1 as Redis embeds it: compiles and runs scripts; knows no command, no key and no time.
// SPDX-License-Identifier: MIT
#pragma once

#include "testing/redis_model/model_reply.hpp"
#include "testing/redis_model/script_memory.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct lua_State;

namespace redlock::fakes {

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
