// The configurations in files that the tests share; knows no expectation but what they say.
// SPDX-License-Identifier: MIT
#pragma once

#include "support/project.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace samples {

/// Broken configurations; the first line of each names where.
inline std::filesystem::path bad() {
    return redlock::testing::project_folder() / "tests" / "unit" / "config" / "bad";
}

/// The configurations that ship with the project.
inline std::filesystem::path shipped() { return redlock::testing::project_folder() / "config"; }

inline std::string content(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw std::runtime_error("can't read " + file.string());
    return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".json") out.push_back(entry.path());
    }
    std::sort(out.begin(), out.end());
    return out;
}

/// The pointers in the first line, behind the colon; "(document)" is the empty one.
inline std::set<std::string> expected_pointers(const std::string& text) {
    const std::string line = text.substr(0, text.find('\n'));
    std::istringstream words(line.substr(line.find(": ") + 2));
    std::set<std::string> out;
    for (std::string word; words >> word;) out.insert(word == "(document)" ? "" : word);
    return out;
}

}  // namespace samples
