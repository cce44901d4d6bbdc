// The events of a client as JSON lines in a file.
// SPDX-License-Identifier: MIT
#include "tools/event_file.hpp"

#include "tools/report.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace redlock::tool {

event_file::event_file(const std::string& name) : name_(name) {
    if (name.empty()) return;
    // A pipe that no program reads, or that is full, must not hold up the lock.
    constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK;
    descriptor_ = ::open(name.c_str(), flags, 0666);
    if (descriptor_ >= 0) return;
    const std::string why = errno == ENXIO ? "it is a pipe that no program reads: start the reader "
                                             "first"
                                           : std::string(std::strerror(errno)) +
                                                 ": name a file that can be written";
    throw std::runtime_error("--events " + name + ": " + why);
}

event_file::~event_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void event_file::add(const event& e) {
    if (descriptor_ < 0) return;
    const std::string resource = redacted(e.resource);
    const std::string detail = redacted(e.detail);
    event shown = e;
    shown.resource = resource;
    shown.detail = detail;
    const std::string line = to_json(shown) + '\n';
    const auto written = ::write(descriptor_, line.data(), line.size());
    if (written == static_cast<ssize_t>(line.size()) || std::exchange(has_failed_, true)) return;
    complain("--events " + name_ + ": " + (written < 0 ? std::strerror(errno) : "it is full") +
             ": events are missing there");
}

}  // namespace redlock::tool
