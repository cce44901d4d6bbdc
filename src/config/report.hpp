// The list of problems of one configuration; knows no option and no format.
// SPDX-License-Identifier: MIT
#pragma once

#include <redlock/options.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::config {

/// Appends problems to somebody's list: one error for each place, and a bounded number of them.
class report {
public:
    explicit report(std::vector<config_issue>& issues) : issues_(&issues) {}

    void error(const std::string& where, std::string message);
    /// A finding of somebody else; an error is dropped where this place has one already.
    void add(config_issue issue);

    bool failed() const noexcept { return failed_; }
    bool failed_at(const std::string& where) const { return places_.count(where) != 0; }

private:
    std::vector<config_issue>* issues_;
    std::set<std::string> places_;
    bool failed_ = false;
};

/// `base` and one more step of a JSON pointer (RFC 6901). Names are escaped, and long ones cut.
std::string step(std::string_view base, std::string_view name);
std::string step(std::string_view base, std::size_t index);

}  // namespace redlock::config
