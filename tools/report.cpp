// What the command writes to standard output and standard error.
// SPDX-License-Identifier: MIT
#include "tools/report.hpp"

#include "tools/exit_status.hpp"
#include "tools/signals.hpp"

#include <redlock/detail/printable.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iostream>

namespace redlock::tool {

using namespace std::chrono_literals;

namespace {

bool is_writable(int descriptor, std::chrono::milliseconds limit) {
    pollfd stream{descriptor, POLLOUT, 0};
    return ::poll(&stream, 1, static_cast<int>(limit.count())) > 0;
}

bool write_all(int descriptor, std::string_view text) {
    // A terminal that lets only its foreground write would stop redlock while CMD is there.
    const signals_blocked from_background(SIGTTOU);
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EAGAIN && is_writable(descriptor, -1ms)) continue;
        if (written < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

// What standard error has not taken yet, and how long it is waited for; negative: as long as it
// takes.
struct backlog {
    std::string untold;
    std::chrono::milliseconds limit{-1};
    bool stalls = false;
    bool has_handlers = false;  // of signals, so that none ends the process by itself
};

backlog& kept() {
    static backlog lines;
    return lines;
}

constexpr std::size_t longest_backlog = 1 << 20;
// A pipe that can be written to takes so much without waiting.
constexpr std::size_t chunk = PIPE_BUF;

void write_kept() {
    const signals_blocked from_background(SIGTTOU);
    backlog& lines = kept();
    while (!lines.untold.empty()) {
        std::size_t size = lines.untold.size();
        if (lines.has_handlers) {
            size = std::min(size, chunk);
            const auto limit = lines.stalls ? std::min(lines.limit, 0ms) : lines.limit;
            lines.stalls = !is_writable(STDERR_FILENO, limit);
            // At the end of a run, which waits: a signal is meant for redlock.
            if (lines.stalls && lines.limit < 0ms) lines.untold.clear();
            if (lines.stalls) return;
        }
        const ssize_t written = ::write(STDERR_FILENO, lines.untold.data(), size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EAGAIN && is_writable(STDERR_FILENO, lines.limit)) continue;
        // Where standard error can't be written there is no place to report that.
        if (written < 0) return lines.untold.clear();
        lines.untold.erase(0, static_cast<std::size_t>(written));
    }
}

void write_line(const std::string& line) {
    if (kept().untold.size() < longest_backlog) kept().untold += line;
    write_kept();
}

constexpr std::string_view mark = "://";
constexpr std::string_view token_mark = "redlock1.";  // with which the token of a lease begins

std::vector<std::string>& secrets() {
    static std::vector<std::string> found;
    return found;
}

bool& complains_in_json() noexcept {
    static bool is = false;
    return is;
}

void redact(json_value& what) {
    if (what.is_string()) {
        what = redacted(what.get_ref<const std::string&>());
    } else if (what.is_structured()) {
        for (json_value& part : what) redact(part);
    }
}

// Also with a scope, as in fe80::1%eth0.
bool is_ipv6(std::string_view text) {
    const std::string address(text.substr(0, text.find('%')));
    in6_addr unused{};
    return ::inet_pton(AF_INET6, address.c_str(), &unused) == 1;
}

// "host", "[address]" or an address without brackets; or one of the first two with ":port", and
// what may follow.
bool is_address(std::string_view text) {
    if (is_ipv6(text)) return true;
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == text.npos || !is_ipv6(text.substr(1, end - 1))) return false;
        text.remove_prefix(end + 1);
        if (!text.empty() && std::string_view(":/?").find(text.front()) == text.npos) return false;
    }
    const auto colon = text.rfind(':');
    if (colon == text.npos) return true;
    const auto port = text.substr(colon + 1, text.find_first_of("/?", colon) - colon - 1);
    return !port.empty() && port.find_first_not_of("0123456789") == port.npos;
}

// Finds the word with the "@" of a URI that begins in the word `first`, which has none; returns
// `first` where there is no such word.
std::size_t end_of_split(const std::vector<std::string>& words, std::size_t first) {
    const std::string address = words[first].substr(words[first].find(mark) + mark.size());
    const bool is_whole = is_address(address);
    if (is_whole && address.find(':') != std::string::npos) return first;  // it names its port
    for (std::size_t i = first + 1; i < words.size(); ++i) {
        if (words[i].starts_with('-') || words[i].find(mark) != std::string::npos) break;
        if (words[i].find('@') != std::string::npos) return i;
        if (is_whole) break;  // one that may be complete goes on in the next word at most
    }
    return first;
}

mode_t usual_mode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

}  // namespace

void fill_closed_streams() noexcept {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) >= 0) continue;
        const int wrong_way = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        ::open("/dev/null", wrong_way | O_CLOEXEC);  // takes the lowest number, which is this one
    }
}

void keep_secret(const std::vector<std::string>& words) {
    auto& out = secrets();
    const auto end = std::find(words.begin(), words.end(), "--");
    const auto options = static_cast<std::size_t>(end - words.begin());
    for (std::size_t i = 0; i < words.size(); ++i) {
        // Of CMD only the program is shown, where it can't be run.
        if (i > options && words[i - 1] != "--") continue;
        const auto at = words[i].find(mark);
        if (at == std::string::npos) continue;
        const std::string rest = words[i].substr(at + mark.size());
        if (const auto last = rest.rfind('@'); last != rest.npos) {
            out.push_back(rest.substr(0, last + 1));
            continue;
        }
        const std::size_t last = end_of_split(words, i);
        if (last == i && is_address(rest)) continue;
        if (last == i || !is_address(rest)) out.push_back(rest);
        for (std::size_t j = i + 1; j < last; ++j) out.push_back(words[j]);
        if (last != i) out.push_back(words[last].substr(0, words[last].rfind('@') + 1));
    }
    const auto is_longer = [](const auto& a, const auto& b) { return a.size() > b.size(); };
    std::sort(out.begin(), out.end(), is_longer);
}

std::string redacted(std::string_view text) {
    std::string known(text);
    for (const auto& secret : secrets()) {
        const std::string_view instead = secret.ends_with('@') ? "***@" : "***";
        for (auto at = known.find(secret); !secret.empty() && at != known.npos;
             at = known.find(secret, at + instead.size())) {
            known.replace(at, secret.size(), instead);
        }
    }
    for (auto at = known.find(token_mark); at != known.npos; at = known.find(token_mark, at + 1)) {
        const auto begin = at + token_mark.size();
        const auto end = known.find_first_of(" \t\r\n'\"", begin);
        known.replace(begin, std::min(end, known.size()) - begin, "***");
    }
    std::string out;
    text = known;
    for (;;) {
        const auto at = text.find(mark);
        if (at == text.npos) return out += text;
        out += text.substr(0, at + mark.size());
        text.remove_prefix(at + mark.size());
        // A password may hold any character but white space, also a stray "@" or "/".
        const auto word = text.substr(0, text.find_first_of(" \t\r\n"));
        if (const auto end = word.rfind('@'); end != word.npos) {
            out += "***";
            text.remove_prefix(end);
        }
    }
}

std::string shown(std::string_view text) { return detail::printable(redacted(text)); }

void complain_in_json() noexcept { complains_in_json() = true; }

std::string quoted(const std::vector<std::string>& resources) {
    const std::size_t shown = detail::shown_of(resources.size());
    std::string out;
    for (std::size_t i = 0; i < shown; ++i) out += (out.empty() ? "'" : ", '") + resources[i] + "'";
    if (shown < resources.size()) {
        out += " and " + std::to_string(resources.size() - shown) + " more";
    }
    return out;
}

void hurry(std::chrono::milliseconds limit) noexcept {
    kept().limit = limit;
    kept().has_handlers = true;
}

bool is_behind() noexcept { return !kept().untold.empty(); }

void catch_up() { write_kept(); }

void take_time() {
    kept().limit = -1ms;
    write_kept();
}

void tell(const json_value& what) {
    json_value out = {{"time", utc_text(std::chrono::system_clock::now())}};
    out.update(what);
    redact(out);
    write_line(json_text(out) + '\n');
}

void complain(std::string_view what) {
    if (complains_in_json()) {
        return tell({{"kind", "message"}, {"severity", "info"}, {"text", what}});
    }
    std::string line = "redlock: " + redacted(what);
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    write_line(detail::printable(line) + '\n');
}

void fail(std::string_view what) {
    complain(what);
    throw ending{own_failure};
}

bool print(std::string_view text) {
    if (write_all(STDOUT_FILENO, text)) return true;
    complain("standard output: " + std::string(std::strerror(errno)));
    return false;
}

bool is_confirmed(const std::string& command, const std::string& condition,
                  const std::string& what) {
    if (::isatty(STDIN_FILENO) == 0) {
        fail(command + " asks before it does anything, and there is no terminal to ask on: " +
             condition + ", say --yes");
    }
    std::cerr << what << "\nType yes to go on: " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "yes";
}

void confirm(const std::string& command, const std::string& condition, const std::string& what) {
    if (!is_confirmed(command, condition, what)) fail("nothing was changed");
}

std::string replace_file(const std::string& file, std::string_view text, readers who) {
    struct stat there {};
    if (::lstat(file.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
        return file + ": it is no regular file, and would be one afterwards";
    }
    std::string draft = file + ".XXXXXX";
    const int made = ::mkostemp(draft.data(), O_CLOEXEC);  // which only its owner can read
    if (made < 0) return file + ": " + std::strerror(errno);
    bool is_written = write_all(made, text);
    is_written = is_written && (who == readers::owner || ::fchmod(made, usual_mode()) == 0);
    const bool is_closed = ::close(made) == 0;
    if (is_written && is_closed && ::rename(draft.c_str(), file.c_str()) == 0) return {};
    std::string why = file + ": " + std::strerror(errno);
    ::unlink(draft.c_str());
    return why;
}

}  // namespace redlock::tool
