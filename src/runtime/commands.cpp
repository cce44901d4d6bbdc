// The commands of the protocol, formatted.
// SPDX-License-Identifier: MIT
#include "runtime/commands.hpp"

#include "resp/command.hpp"
#include "resp/scripts.hpp"

#include <array>
#include <charconv>
#include <chrono>

namespace redlock::detail {

namespace {

class milliseconds_text {
public:
    explicit milliseconds_text(core::duration d) {
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
        end_ = std::to_chars(text_.data(), text_.data() + text_.size(), ms).ptr;
    }
    operator std::string_view() const noexcept {
        return {text_.data(), static_cast<std::size_t>(end_ - text_.data())};
    }

private:
    std::array<char, 24> text_;
    char* end_;
};

std::string_view verb(script_form form) {
    return form == script_form::whole ? "EVAL" : "EVALSHA";
}

std::string_view body(script_form form, const resp::script& s) {
    return form == script_form::whole ? s.text : s.sha1;
}

}  // namespace

void write_set(std::string& out, std::string_view key, std::string_view value, core::duration ttl) {
    resp::append_command(out, {"SET", key, value, "NX", "PX", milliseconds_text(ttl)});
}

void write_compare_delete(std::string& out, script_form form, std::string_view key,
                          std::string_view value) {
    const auto& script = resp::compare_delete();
    resp::append_command(out, {verb(form), body(form, script), "1", key, value});
}

void write_compare_expire(std::string& out, script_form form, std::string_view key,
                          std::string_view value, core::duration ttl) {
    const auto& script = resp::compare_expire();
    resp::append_command(
        out, {verb(form), body(form, script), "1", key, value, milliseconds_text(ttl)});
}

void write_get(std::string& out, std::string_view key) {
    resp::append_command(out, {"GET", key});
}

void write_pttl(std::string& out, std::string_view key) {
    resp::append_command(out, {"PTTL", key});
}

}  // namespace redlock::detail
