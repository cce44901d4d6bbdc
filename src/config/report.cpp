// The list of problems of one configuration; knows no option and no format.
// SPDX-License-Identifier: MIT
#include "config/report.hpp"

#include "value/text.hpp"

namespace redlock::config {

namespace {
// A reader of more than that mends the first ones and tries again.
constexpr std::size_t max_errors = 100;
}  // namespace

void report::error(const std::string& where, std::string message) {
    add({config_issue::level::error, where, std::move(message)});
}

void report::add(config_issue issue) {
    if (issue.severity == config_issue::level::error) {
        failed_ = true;
        if (places_.size() > max_errors || !places_.insert(issue.where).second) return;
        if (places_.size() > max_errors) {
            issue = {config_issue::level::error, "", "has more problems, which are not listed"};
        }
    }
    issues_->push_back(std::move(issue));
}

std::string step(std::string_view base, std::string_view name) {
    std::string out(base);
    out += '/';
    for (const char c : text::printable(name, 80)) {
        if (c == '~') {
            out += "~0";
        } else if (c == '/') {
            out += "~1";
        } else {
            out += c;
        }
    }
    return out;
}

std::string step(std::string_view base, std::size_t index) {
    return std::string(base) + '/' + std::to_string(index);
}

}  // namespace redlock::config
