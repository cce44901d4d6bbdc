// The reasons why a configuration can't be used, as a text and as an exception; reads none.
// SPDX-License-Identifier: MIT
#include <redlock/config.hpp>

#include "value/text.hpp"

#include <boost/throw_exception.hpp>

#include <stdexcept>

namespace redlock {

namespace {
constexpr std::size_t longest_source = 4096;  // a path
}  // namespace

std::string config_error::message() const {
    std::string out = text::printable(source_, longest_source);
    const char* between = source_.empty() ? "" : ": ";
    for (const config_issue& issue : issues_) {
        if (issue.severity != config_issue::level::error) continue;
        out += between + issue.where + (issue.where.empty() ? "" : ": ") + issue.message;
        between = "; ";
    }
    return out;
}

void throw_exception_from_error(const config_error& e, const boost::source_location& where) {
    boost::throw_exception(std::invalid_argument(e.message()), where);
}

}  // namespace redlock
