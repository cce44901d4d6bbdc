// A story in a text file: commands to a machine, and under each what it answered; knows no machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::testing {

/// One line of a story: a word, plain arguments, and named ones (`until=300ms`).
class trace_command {
public:
    explicit trace_command(std::string_view line);

    const std::string& word() const noexcept { return word_; }
    /// The plain argument of that index; throws where there is none.
    const std::string& at(std::size_t index) const { return plain_.at(index); }
    std::size_t number_at(std::size_t index) const { return std::stoul(at(index)); }
    bool has(const std::string& name) const { return named_.contains(name); }
    /// All but the first word.
    std::size_t words() const noexcept { return plain_.size() + named_.size(); }
    std::string text(const std::string& name, const std::string& otherwise = "") const;
    std::size_t number(const std::string& name, std::size_t otherwise = 0) const;
    std::chrono::milliseconds time(const std::string& name,
                                   std::chrono::milliseconds otherwise = {}) const;

private:
    std::string word_;
    std::vector<std::string> plain_;
    std::map<std::string, std::string> named_;
};

/// "300ms", "2s".
std::chrono::milliseconds trace_time(std::string_view text);
std::string trace_text(std::chrono::nanoseconds time);

/// Runs the story: `answer` says what the machine does at each command, in one line; empty: nothing.
/// Lines that begin with '#' are for readers. Returns the story with these answers: the
/// test compares it with the file. With REDLOCK_WRITE_TRACES=1 in the environment the file is written.
std::string run_trace(const std::filesystem::path& file,
                      const std::function<std::string(const trace_command&)>& answer);
/// The whole file.
std::string read_trace(const std::filesystem::path& file);
/// All stories of a folder, in the order of their names.
std::vector<std::filesystem::path> traces_of(const std::filesystem::path& folder);

}  // namespace redlock::testing
