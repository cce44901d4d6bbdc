// The events of a client in syslog, and so in the journal: an observer, and a check of what it wrote.
// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <redlock/blocking_client.hpp>
#include <redlock/event.hpp>

#include <syslog.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace {

int priority_of(redlock::severity how) {
    switch (how) {
        case redlock::severity::debug: return LOG_DEBUG;
        case redlock::severity::info: return LOG_INFO;
        case redlock::severity::warning: return LOG_WARNING;
        case redlock::severity::error: break;
    }
    return LOG_ERR;
}

/// For `client_options::on_event`. journald takes what syslog(3) gets, with the priority:
/// `journalctl -t PROGRAM -p warning`. In place of `format`, `to_json` gives a line that programs read.
/// syslog(3) waits while the daemon takes nothing: where that may be long, put a queue between.
void to_syslog(const redlock::event& e) {
    ::syslog(priority_of(e.severity), "%s", redlock::format(e).c_str());
}

}  // namespace

int main(int argc, char** argv) {
    redlock::client_options options = example::options(argc, argv);
    // Here the lines also go to standard error, and that to a file, so that the example can look.
    std::string name = (std::filesystem::temp_directory_path() / "redlock-syslog-XXXXXX").string();
    const int made = ::mkstemp(name.data());
    if (made < 0 || std::freopen(name.c_str(), "w", stderr) == nullptr) return 1;
    ::close(made);
    ::openlog("redlock-example", LOG_PERROR | LOG_PID, LOG_USER);
    options.on_event = to_syslog;
    {
        redlock::blocking_client client(options);
        auto held = client.acquire("example:syslog", {.wait = std::chrono::seconds(10)});
        if (held) (void)client.release(*std::move(held));
    }
    ::closelog();
    std::fflush(stderr);
    std::ifstream file(name);
    const std::string lines{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(name);
    std::cout << lines;
    const auto has = [&](const char* text) { return lines.find(text) != lines.npos; };
    const bool is_there = has("redlock-example[") && has(": debug granted \"example:syslog\"") &&
                          has("released \"example:syslog\"");
    return example::check(is_there, "the grant and the release are in the log");
}
