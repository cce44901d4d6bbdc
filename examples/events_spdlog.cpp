// The events of a client in spdlog: an observer, and a check of what it wrote.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/event.hpp>

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

namespace {

spdlog::level::level_enum level_of(redlock::severity how) {
    switch (how) {
        case redlock::severity::debug: return spdlog::level::debug;
        case redlock::severity::info: return spdlog::level::info;
        case redlock::severity::warning: return spdlog::level::warn;
        case redlock::severity::error: break;
    }
    return spdlog::level::err;
}

/// For `client_options::on_event`. In place of `format`, `to_json` gives a line that programs read.
/// An asynchronous logger (spdlog/async.h) writes on a thread of its own, so that a slow disk does not
/// hold up the client.
class to_spdlog {
public:
    explicit to_spdlog(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}

    void operator()(const redlock::event& e) const {
        const auto level = level_of(e.severity);
        if (logger_->should_log(level)) logger_->log(level, "{}", redlock::format(e));
    }

private:
    std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace

int main(int argc, char** argv) {
    redlock::client_options options = example::options(argc, argv);
    std::ostringstream log;  // here a text, so that the example can look at it
    const auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(log);
    const auto logger = std::make_shared<spdlog::logger>("redlock", sink);
    logger->set_level(spdlog::level::debug);  // grants and releases are of that level
    logger->set_pattern("%n %l %v");
    options.on_event = to_spdlog(logger);
    {
        redlock::blocking_client client(options);
        auto held = client.acquire("example:spdlog", {.wait = std::chrono::seconds(10)});
        if (held) (void)client.release(*std::move(held));
    }
    const std::string lines = log.str();
    std::cout << lines;
    const auto has = [&](const char* text) { return lines.find(text) != lines.npos; };
    const bool is_there = has("redlock debug debug granted \"example:spdlog\"") &&
                          has("released \"example:spdlog\"");
    return example::check(is_there, "the grant and the release are in the log");
}
