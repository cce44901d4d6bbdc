// docs/errors.md has a row for every code, vote, loss, status, event and problem, with its text, and no other.
// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "unit/config/samples.hpp"

#include "value/text.hpp"

#include <redlock/error.hpp>
#include <redlock/event.hpp>
#include <redlock/loss.hpp>
#include <redlock/node_report.hpp>
#include <redlock/vote.hpp>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;

namespace {

using names = std::set<std::string>;

std::string file(std::string_view name) {
    return samples::content(redlock::testing::project_folder() / name);
}

std::vector<std::string> matches(const std::string& text, const char* pattern) {
    std::vector<std::string> out;
    const std::regex expression(pattern);
    for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) {
        out.push_back((*at)[1].str());
    }
    return out;
}

names quoted(const std::string& text) {
    const auto found = matches(text, "`([^`]+)`");
    return {found.begin(), found.end()};
}

// The cells of each row of a section's tables, but for their heads.
std::vector<std::vector<std::string>> rows_of(std::string_view section) {
    static const std::string page = file("docs/errors.md");
    const auto begin = page.find("\n## " + std::string(section) + "\n");
    REQUIRE(begin != page.npos);
    const std::string text = page.substr(begin, page.find("\n## ", begin + 1) - begin);
    std::vector<std::vector<std::string>> rows;
    bool is_head = true;
    for (std::size_t at = 0; at != text.npos; at = text.find('\n', at + 1)) {
        const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
        if (!line.starts_with("| ")) {
            is_head = !line.starts_with("|---");
        } else if (!is_head) {
            rows.push_back(matches(line, "\\| ([^|]*) (?=\\|)"));
        }
    }
    return rows;
}

// Of each row the words in backquotes of one cell.
names column(std::string_view section, std::size_t cell) {
    names out;
    for (const auto& row : rows_of(section)) out.merge(quoted(row.at(cell)));
    return out;
}

template <class Enum>
names all_of() {
    names out;
    for (int i = 0; to_string(static_cast<Enum>(i)) != "unknown"; ++i) {
        out.emplace(to_string(static_cast<Enum>(i)));
    }
    return out;
}

}  // namespace

TEST_CASE("the page of errors has every code, with its number and the text that is printed", "[errors_page]") {
    std::string header = file("include/redlock/error.hpp");
    header.resize(header.find("};", header.find("enum class errc {")));
    names expected;
    for (const auto& line : matches(header, "\n    (\\w+ = \\d+),")) {
        const auto equals = line.find(" = ");
        const int number = std::stoi(line.substr(equals + 3));
        const std::string text = category().message(number);
        expected.insert("`" + text + "` `" + line.substr(0, equals) + "`, " + std::to_string(number));
    }
    for (int number = 0; number < 1'000; ++number) {  // also of lines that the pattern does not fit
        const std::string text = category().message(number);
        if (text == "unknown error") continue;
        INFO(text);
        CHECK(std::any_of(expected.begin(), expected.end(), [&](const std::string& row) {
            return row.starts_with("`" + text + "`");
        }));
    }
    names found;
    for (const auto& row : rows_of("Error codes")) found.insert(row.at(0) + ' ' + row.at(1));
    CHECK(found == expected);
}

TEST_CASE("the page of errors has every vote as it is printed", "[errors_page]") {
    names expected;
    for (int i = 0; to_string(static_cast<vote>(i)) != "unknown"; ++i) {
        node_vote one;
        one.answer = static_cast<vote>(i);
        expected.insert("`" + text::cause(one) + "` `" + std::string(to_string(one.answer)) + "`");
    }
    names found;
    for (const auto& row : rows_of("Votes")) found.insert(row.at(0) + ' ' + row.at(1));
    CHECK(found == expected);
}

TEST_CASE("the page of errors has every loss, event and problem, and every status", "[errors_page]") {
    CHECK(column("Losses", 0) == all_of<loss>());
    CHECK(column("Events", 0) == all_of<event_kind>());
    CHECK(column("Findings of doctor", 1) == all_of<node_problem>());
    names statuses{"0", "1, 2"};
    for (const auto& number : matches(file("tools/exit_status.hpp"), " = (\\d+),")) statuses.insert(number);
    names found;
    for (const auto& row : rows_of("Exit statuses")) found.insert(row.at(0));
    CHECK(found == statuses);
}
