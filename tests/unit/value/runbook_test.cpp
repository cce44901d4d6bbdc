// The runbook has a line for every kind of event and every alert, and no other.
// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "unit/config/samples.hpp"

#include <redlock/event.hpp>

#include <set>
#include <string>
#include <string_view>

using namespace redlock;

namespace {

// The names with which the rows of its tables begin.
std::set<std::string> rows_of(const std::string& text) {
    std::set<std::string> names;
    constexpr std::string_view begin = "\n| `";
    for (auto at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
        const auto name = at + begin.size();
        names.insert(text.substr(name, text.find('`', name) - name));
    }
    return names;
}

}  // namespace

TEST_CASE("the runbook names every event and every alert", "[runbook]") {
    std::set<std::string> expected;
    for (int kind = 0; kind <= static_cast<int>(event_kind::loop_lag); ++kind) {
        expected.emplace(to_string(static_cast<event_kind>(kind)));
    }
    CHECK(expected.size() == 14);
    const std::string alerts = samples::content(samples::shipped() / "prometheus" / "alerts.yml");
    constexpr std::string_view begin = "- alert: ";
    for (auto at = alerts.find(begin); at != alerts.npos; at = alerts.find(begin, at + 1)) {
        const auto name = at + begin.size();
        expected.insert(alerts.substr(name, alerts.find('\n', name) - name));
    }
    CHECK(expected.size() > 15);
    CHECK(rows_of(samples::content(redlock::testing::project_folder() / "docs" / "runbook.md")) == expected);
}
