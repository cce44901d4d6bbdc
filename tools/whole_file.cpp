// A file that is replaced as a whole.
// SPDX-License-Identifier: MIT
#include "tools/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace redlock::tool {

namespace {

bool put_all(int to, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(to, bytes.data(), bytes.size());
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

mode_t usual_mode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

}  // namespace

std::string replace_file(const std::string& file, std::string_view text, readers who) {
    struct stat there {};
    if (::lstat(file.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
        return file + ": it is no regular file, and would be one afterwards";
    }
    std::string draft = file + ".XXXXXX";
    const int made = ::mkostemp(draft.data(), O_CLOEXEC);  // which only its owner can read
    if (made < 0) return file + ": " + std::strerror(errno);
    bool is_written = put_all(made, text);
    is_written = is_written && (who == readers::owner || ::fchmod(made, usual_mode()) == 0);
    const bool is_closed = ::close(made) == 0;
    if (is_written && is_closed && ::rename(draft.c_str(), file.c_str()) == 0) return {};
    std::string why = file + ": " + std::strerror(errno);
    ::unlink(draft.c_str());
    return why;
}

}  // namespace redlock::tool
