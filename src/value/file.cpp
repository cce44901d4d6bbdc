// Whole small files; knows nothing of what stands in them.
// SPDX-License-Identifier: MIT
#include "value/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace redlock::detail {

namespace {

constexpr std::size_t max_secret_bytes = 4096;

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

file_secret read_secret(const std::filesystem::path& path) {
    if (path.native().find('\0') != std::string::npos) return {{}, "is no file name"};
    auto content = read_file(path, max_secret_bytes);
    if (!content) return {{}, "can't be read: " + content.error().message()};
    if (content->size() > max_secret_bytes) return {{}, "is longer than 4096 bytes"};
    if (content->starts_with("\xff\xfe") || content->starts_with("\xfe\xff")) {
        return {{}, "is in UTF-16: save it in UTF-8, or as plain ASCII"};
    }
    if (content->starts_with("\xef\xbb\xbf")) content->erase(0, 3);  // a byte order mark
    if (content->ends_with('\n')) content->pop_back();
    if (content->ends_with('\r')) content->pop_back();
    if (content->empty()) return {{}, "is empty"};
    return {std::move(*content), {}};
}

bool can_be_read_again(const std::filesystem::path& path) noexcept {
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

}  // namespace redlock::detail
