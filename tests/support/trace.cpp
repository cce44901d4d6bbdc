// A story in a text file.
// SPDX-License-Identifier: MIT
#include "tests/support/trace.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace redlock::testing {

trace_command::trace_command(std::string_view line) {
    std::istringstream words{std::string(line)};
    words >> word_;
    for (std::string one; words >> one;) {
        const auto sign = one.find('=');
        if (sign == std::string::npos)
            plain_.push_back(one);
        else
            named_[one.substr(0, sign)] = one.substr(sign + 1);
    }
}

std::string trace_command::text(const std::string& name, const std::string& otherwise) const {
    const auto at = named_.find(name);
    return at == named_.end() ? otherwise : at->second;
}

std::size_t trace_command::number(const std::string& name, std::size_t otherwise) const {
    return has(name) ? std::stoul(text(name)) : otherwise;
}

std::chrono::milliseconds trace_command::time(const std::string& name,
                                              std::chrono::milliseconds otherwise) const {
    return has(name) ? trace_time(text(name)) : otherwise;
}

std::chrono::milliseconds trace_time(std::string_view text) {
    std::size_t digits = 0;
    const auto number = std::stoll(std::string(text), &digits);
    const std::string_view unit = text.substr(digits);
    if (unit == "ms") return std::chrono::milliseconds(number);
    if (unit == "s") return std::chrono::seconds(number);
    throw std::invalid_argument("no time: " + std::string(text));
}

std::string trace_text(std::chrono::nanoseconds time) {
    const auto ms = std::chrono::floor<std::chrono::milliseconds>(time).count();
    return ms != 0 && ms % 1000 == 0 ? std::to_string(ms / 1000) + "s" : std::to_string(ms) + "ms";
}

std::string read_trace(const std::filesystem::path& file) {
    std::ifstream in(file);
    if (!in) throw std::runtime_error("can't read " + file.string());
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string run_trace(const std::filesystem::path& file,
                      const std::function<std::string(const trace_command&)>& answer) {
    std::istringstream lines(read_trace(file));
    std::string out;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("    ")) continue;  // the earlier answers
        out += line + "\n";
        if (line.empty() || line.front() == '#') continue;
        if (const auto said = answer(trace_command(line)); !said.empty()) {
            out += "    " + said + "\n";
        }
    }
    if (std::getenv("REDLOCK_WRITE_TRACES") != nullptr) std::ofstream(file) << out;
    return out;
}

std::vector<std::filesystem::path> traces_of(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".txt") all.push_back(entry.path());
    }
    std::sort(all.begin(), all.end());
    return all;
}

}  // namespace redlock::testing
