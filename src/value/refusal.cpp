// A refusal as a sentence and as an exception; knows nothing of how it came about.
// SPDX-License-Identifier: MIT
#include <redlock/refusal.hpp>

#include <redlock/detail/section.hpp>

#include "value/quorum.hpp"
#include "value/reasons.hpp"
#include "value/text.hpp"

#include <redlock/detail/shown_of.hpp>

#include <boost/system/system_error.hpp>
#include <boost/throw_exception.hpp>

#include <algorithm>
#include <cstddef>
#include <system_error>

namespace redlock {

namespace {

// All that did not grant: first those that answered.
std::vector<const node_vote*> in_the_way(const std::vector<node_vote>& votes) {
    std::vector<const node_vote*> out;
    for (const bool has_answered : {true, false}) {
        for (const node_vote& v : votes) {
            if (v.answer != vote::granted && (v.answer != vote::pending) == has_answered)
                out.push_back(&v);
        }
    }
    return out;
}

// By the nodes of one list: all but those with that mark.
std::string granted_by(const std::vector<node_vote>& votes, list_change without,
                       std::string_view list) {
    std::size_t nodes = 0;
    std::size_t granted = 0;
    for (const node_vote& v : votes) {
        if (v.change == without && without != list_change::none) continue;
        ++nodes;
        granted += v.answer == vote::granted ? 1U : 0U;
    }
    return std::to_string(granted) + " of " + std::to_string(nodes) +
           (nodes == 1 ? " node" : " nodes") + std::string(list) + " granted, " +
           std::to_string(redlock::quorum(nodes)) + " needed";
}

std::string granted_by(const std::vector<node_vote>& votes) {
    const bool is_joint = std::any_of(votes.begin(), votes.end(), [](const node_vote& v) {
        return v.change != list_change::none;
    });
    if (!is_joint) return granted_by(votes, list_change::none, "");
    return granted_by(votes, list_change::joining, " of the old list") + ", and " +
           granted_by(votes, list_change::leaving, " of the new list");
}

}  // namespace

std::string refusal::message() const {
    const std::string reasons = detail::reasons_of(*this);
    return text::printable(code.message()) + (reasons.empty() ? "" : ": ") + reasons;
}

std::string detail::reasons_of(const refusal& r) {
    std::string out = text::printable(r.detail);
    const auto& votes = r.votes;
    if (votes.empty()) return out;
    out += (out.empty() ? "" : ": ") + granted_by(votes);
    const auto others = in_the_way(votes);
    const std::size_t shown = detail::shown_of(others.size());
    for (std::size_t i = 0; i < shown; ++i) {
        out += "; " + text::printable(others[i]->node) + ": " + text::full_cause(*others[i]);
    }
    if (shown < others.size()) out += "; and " + std::to_string(others.size() - shown) + " more";
    return out;
}

void throw_exception_from_error(const refusal& r, const boost::source_location& where) {
    boost::throw_exception(boost::system::system_error(r.code, r.message()), where);
}

std::exception_ptr detail::as_exception(const refusal& why) {
    // Whose text ends with that of the code.
    return std::make_exception_ptr(boost::system::system_error(why.code, reasons_of(why)));
}

error_code code_of(const std::exception_ptr& why) {
    if (!why) return {};
    try {
        std::rethrow_exception(why);
    } catch (const boost::system::system_error& e) {
        return e.code();
    } catch (const std::system_error& e) {
        return e.code();
    }
}

}  // namespace redlock
