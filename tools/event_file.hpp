// The events of a client as JSON lines in a file; knows no command.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/event.hpp>

#include <string>

namespace redlock::tool {

/// Appends a line per event, by one write: lines of several processes do not mix.
class event_file {
public:
    /// Empty: events are not written. Throws `std::runtime_error`, with the cause and the remedy,
    /// where the file can't be opened.
    explicit event_file(const std::string& name);
    ~event_file();
    event_file(const event_file&) = delete;
    event_file& operator=(const event_file&) = delete;

    /// Where a line can't be written it is left out. The first time, redlock says so.
    void add(const event& e);

private:
    const std::string name_;
    int descriptor_ = -1;
    bool has_failed_ = false;
};

}  // namespace redlock::tool
