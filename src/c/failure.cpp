// The last error of each thread.
// SPDX-License-Identifier: MIT
#include "c/failure.hpp"

#include <redlock/error.hpp>
#include <redlock/json.hpp>

#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <variant>

namespace redlock::c {

namespace {

struct no_memory {};

// The reason as it came. Few callers read it: it becomes text where one does.
struct last_failure {
    std::variant<std::monostate, refusal, config_error, no_memory> why;
    std::string text;
    std::string json;
};

last_failure& last() noexcept {
    thread_local last_failure of_this_thread;
    return of_this_thread;
}

constexpr const char* out_of_memory = "out of memory";
constexpr const char* out_of_memory_json = R"({"message":"out of memory"})";

int number_of(const error_code& why) noexcept {
    if (why.category() == category()) return why.value();
    return why == boost::system::errc::operation_canceled ? REDLOCK_CANCELLED
                                                          : REDLOCK_SYSTEM_ERROR;
}

// what() of the standard's exceptions ends with the text of the code, as that of a refusal begins.
int fail_with(const error_code& why, std::string_view what) {
    const std::string end = ": " + why.message();
    if (what.ends_with(end)) what.remove_suffix(end.size());
    return fail(refusal{why, {}, std::string(what)});
}

int fail_for_memory() noexcept {
    last().why = no_memory{};
    return REDLOCK_NO_MEMORY;
}

// Writes the reason to `kept` by `text_of`, and shows it.
template <class F>
const char* shown(std::string& kept, const char* without_memory, F&& text_of) noexcept {
    const auto& why = last().why;
    try {
        kept.clear();
        if (std::holds_alternative<no_memory>(why)) return without_memory;
        if (const auto* const r = std::get_if<refusal>(&why)) kept = text_of(*r);
        if (const auto* const e = std::get_if<config_error>(&why)) kept = text_of(*e);
        return kept.c_str();
    } catch (...) {
        return without_memory;
    }
}

}  // namespace

void begin() noexcept { last().why = std::monostate{}; }

void note(refusal why) noexcept { last().why = std::move(why); }

int fail(refusal why) noexcept {
    const int number = number_of(why.code);
    note(std::move(why));
    return number;
}

int fail(config_error why) noexcept {
    const int number = number_of(why.code());
    last().why = std::move(why);
    return number;
}

int refuse(std::string what) { return fail(refusal{errc::invalid_argument, {}, std::move(what)}); }

int fail_by_exception() noexcept {
    try {
        try {
            throw;
        } catch (const std::bad_alloc&) {
            return fail_for_memory();
        } catch (const boost::system::system_error& e) {
            return fail_with(e.code(), e.what());
        } catch (const std::system_error& e) {
            return fail_with(e.code(), e.what());
        } catch (const std::invalid_argument& e) {
            return fail_with(errc::config_invalid, e.what());
        } catch (const std::exception& e) {
            return fail_with(make_error_code(boost::system::errc::io_error), e.what());
        }
    } catch (...) {
        return fail_for_memory();  // for the text
    }
}

}  // namespace redlock::c

using namespace redlock;

const char* redlock_last_error(void) {
    return c::shown(c::last().text, c::out_of_memory,
                    [](const auto& why) { return why.message(); });
}

const char* redlock_last_error_json(void) {
    return c::shown(c::last().json, c::out_of_memory_json,
                    [](const auto& why) { return to_json(why); });
}
