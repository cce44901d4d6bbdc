// Whole small files; knows nothing of what stands in them.
// SPDX-License-Identifier: MIT
#include "config/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace redlock::config {

namespace {

error_code last_error() { return {errno, boost::system::system_category()}; }

struct descriptor {
    int fd;
    ~descriptor() {
        if (fd >= 0) ::close(fd);
    }
};

}  // namespace

result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
    const descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.fd < 0) return last_error();
    std::string out;
    while (out.size() <= limit) {
        char chunk[4096];
        const std::size_t wanted = std::min(sizeof chunk, limit + 1 - out.size());
        const auto got = ::read(file.fd, chunk, wanted);
        if (got == 0) break;
        if (got > 0) {
            out.append(chunk, static_cast<std::size_t>(got));
        } else if (errno != EINTR) {
            return last_error();
        }
    }
    return out;
}

}  // namespace redlock::config
