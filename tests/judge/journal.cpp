// The lines of a contending program's file.
// SPDX-License-Identifier: MIT
#include "journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace redlock::judge {
namespace {

clock::time_point time_of(clock::rep count) { return clock::time_point(clock::duration(count)); }

std::optional<part> parse_part(const std::string& text) {
    part p;
    if (text.empty() || std::string_view("XRK").find(text.front()) == std::string_view::npos) {
        return std::nullopt;
    }
    p.what = static_cast<part::kind>(text.front());
    std::istringstream rest(text.substr(1));
    char slash = 0;
    if (p.is_slot() && !(rest >> p.slot >> slash >> p.of && slash == '/')) return std::nullopt;
    if (rest.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
    return p;
}

}  // namespace

std::vector<std::string> names_of(const std::string& resource) {
    std::vector<std::string> names;
    std::istringstream in(resource);
    for (std::string name; std::getline(in, name, '+');) names.push_back(name);
    return names;
}

std::string to_text(const part& p) {
    std::string text(1, static_cast<char>(p.what));
    if (p.is_slot()) text += std::to_string(p.slot) + "/" + std::to_string(p.of);
    return text;
}

std::string to_line(const entry& e) {
    std::ostringstream line;
    line << static_cast<char>(e.what) << ' ' << e.section << ' ' << e.contender << ' ' << e.resource
         << ' ' << to_text(e.of) << ' ' << e.owner << ' ' << e.fence << ' '
         << e.at.time_since_epoch().count() << ' ' << e.valid_until.time_since_epoch().count()
         << ' ' << e.kept_until.time_since_epoch().count() << ' '
         << e.asked_at.time_since_epoch().count() << ' ' << e.text << '\n';
    return line.str();
}

std::optional<entry> parse(const std::string& line) {
    std::istringstream in(line);
    entry e;
    char what = 0;
    clock::rep at = 0;
    clock::rep valid_until = 0;
    clock::rep kept_until = 0;
    clock::rep asked_at = 0;
    std::string of;
    in >> what >> e.section >> e.contender >> e.resource >> of >> e.owner >> e.fence >> at >>
        valid_until >> kept_until >> asked_at >> std::ws;
    if (!in || !std::getline(in, e.text)) return std::nullopt;
    if (std::string_view("GSENQLIV").find(what) == std::string_view::npos) return std::nullopt;
    const auto what_of = parse_part(of);
    if (!what_of) return std::nullopt;
    e.what = static_cast<entry::kind>(what);
    e.of = *what_of;
    e.at = time_of(at);
    e.valid_until = time_of(valid_until);
    e.kept_until = time_of(kept_until);
    e.asked_at = time_of(asked_at);
    return e;
}

journal::journal(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
    if (file_ < 0) throw std::runtime_error("cannot write " + path.string());
}

journal::~journal() { ::close(file_); }

void journal::write(const entry& e) {
    const auto line = to_line(e);
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        throw std::runtime_error("the history cannot be written: disk full?");
    }
}

void journal_reader::read(const std::function<void(const entry&)>& take) {
    std::ifstream file(path_);
    if (!file) return;  // the program has not begun
    file.seekg(offset_);
    std::string line;
    while (std::getline(file, line) && !file.eof()) {
        offset_ += static_cast<std::streamoff>(line.size() + 1);
        const auto e = parse(line);
        if (!e) throw std::runtime_error(path_.string() + ": not understood: " + line);
        take(*e);
    }
}

}  // namespace redlock::judge
