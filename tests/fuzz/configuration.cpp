// Fuzzes the JSON configuration; knows no JSON library.
// SPDX-License-Identifier: MIT
//
// Whatever the text: a result or an error, never both; an error names at least one problem with its
// place; and what passes is what `validate()` finds good.
#include "fuzz/require.hpp"

#include <redlock/config.hpp>
#include <redlock/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

using namespace redlock;

namespace {

bool has_error(const std::vector<config_issue>& issues) {
    return std::any_of(issues.begin(), issues.end(), [](const config_issue& i) {
        return i.severity == config_issue::level::error;
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // password_file makes the parser open any path, a FIFO among them; \u could spell that key, too.
    if (text.find("_file") != std::string_view::npos || text.find("\\u") != text.npos) return -1;
    const auto read = parse_configuration(text);
    if (read) {
        fuzz::require(!has_error(validate(read->client)), "what passed is not good");
        return 0;
    }
    fuzz::require(has_error(read.error().issues()), "an error without its reason");
    for (const config_issue& i : read.error().issues()) {
        fuzz::require(!i.message.empty(), "a problem without words");
        fuzz::require(i.where.empty() || i.where.front() == '/', "a place that is no pointer");
    }
    return 0;
}
