// Where a token is kept between two commands.
// SPDX-License-Identifier: MIT
#include "tools/token_file.hpp"

#include "tools/report.hpp"
#include "tools/whole_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace redlock::tool {

namespace {

// Longer than any token, so that a wrong file is not read to its end.
constexpr std::size_t longest = 256 * 1'024;

class open_file {
public:
    explicit open_file(int number) noexcept : number_(number) {}
    ~open_file() {
        if (number_ >= 0) ::close(number_);
    }
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;

    bool is_open() const noexcept { return number_ >= 0; }
    int number() const noexcept { return number_; }

private:
    int number_;
};

bool read_all(int from, std::string& into) {
    char bytes[4'096];
    while (into.size() <= longest) {
        const ssize_t n = ::read(from, bytes, sizeof bytes);
        if (n == 0) return true;
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) into.append(bytes, static_cast<std::size_t>(n));
    }
    return true;
}

std::string trimmed(const std::string& text) {
    constexpr const char* blanks = " \t\r\n";
    const auto begin = text.find_first_not_of(blanks);
    return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

std::optional<std::string> found(const std::string& text, const std::string& where) {
    std::string token = trimmed(text);
    if (!token.empty()) return token;
    complain("there is no token in " + where + ": redlock acquire writes one");
    return std::nullopt;
}

}  // namespace

std::optional<std::string> read_token(const std::string& file) {
    std::string text;
    if (!file.empty() && file != "-") {
        const open_file source(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
        if (!source.is_open() || !read_all(source.number(), text)) {
            complain("--token-file " + file + ": " + std::strerror(errno) +
                     ": name the file that redlock acquire wrote");
            return std::nullopt;
        }
        return found(text, file);
    }
    const char* const variable = std::getenv("REDLOCK_TOKEN");
    if (file.empty() && variable != nullptr && *variable != '\0') {
        return found(variable, "REDLOCK_TOKEN");
    }
    if (::isatty(STDIN_FILENO) != 0) {
        complain("there is no token: name its file with --token-file, or pass it in REDLOCK_TOKEN "
                 "or on standard input");
        return std::nullopt;
    }
    if (!read_all(STDIN_FILENO, text)) {
        complain(std::string("standard input: ") + std::strerror(errno));
        return std::nullopt;
    }
    return found(text, "standard input");
}

bool write_token(const std::string& file, const std::string& token) {
    if (file == "-") {
        complain("--token-file -: leave it out, and the token goes to standard output");
        return false;
    }
    const std::string failed = replace_file(file, token + "\n", readers::owner);
    if (failed.empty()) return true;
    complain("--token-file " + failed + ": name a file in a directory that can be written");
    return false;
}

}  // namespace redlock::tool
