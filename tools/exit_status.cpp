// The exit statuses of the command, and the line and status that a refused acquire comes to.
// SPDX-License-Identifier: MIT
#include "tools/exit_status.hpp"

#include "tools/report.hpp"

#include <algorithm>

namespace redlock::tool {

namespace {

// Whether so many votes are like that that the others are no quorum.
template <class Predicate>
bool decides(const std::vector<node_vote>& votes, Predicate is_so) {
    const auto those = static_cast<std::size_t>(std::count_if(votes.begin(), votes.end(), is_so));
    return those > 0 && those > votes.size() - redlock::quorum_of(votes.size());
}

bool stands_for_ever(const node_vote& v) {
    return v.answer == vote::held && v.retry_in.count() < 0;
}

bool is_other_data(const node_vote& v) { return has_other_data(v.error, v.detail); }

bool has_no_descriptor(const node_vote& v) { return !remedy_of_limit(v.error).empty(); }

bool is_forbidden(const node_vote& v) { return lacks_right(v.error, v.detail); }

// How a caller that waits for it gets the lock in the end.
std::string remedy_of_contention(const refusal& why, const std::vector<std::string>& resources) {
    if (!decides(why.votes, stands_for_ever)) {
        return "wait longer (--wait), or find the holder with redlock inspect";
    }
    const auto one = std::find_if(why.votes.begin(), why.votes.end(), stands_for_ever);
    const std::string name = one->resource.empty() ? resources.front() : std::string(one->resource);
    return remedy_of_no_expiry(name);
}

// Whether some lack a vote, and all of these for this reason.
bool are_all(const refusal& why, const error_code& reason) {
    const auto has_it = [&](const node_vote& v) { return v.error == reason; };
    return std::any_of(why.votes.begin(), why.votes.end(), has_it) &&
           std::all_of(why.votes.begin(), why.votes.end(), [&](const node_vote& v) {
               return v.answer == vote::granted || v.answer == vote::pending || has_it(v);
           });
}

}  // namespace

std::string remedy_of_no_expiry(const std::string& resource) {
    return "the key has no expiry, so waiting can't help: where nobody needs it any more, take it "
           "away with redlock release --force '" + resource + "', else choose another RESOURCE";
}

std::string remedy_of_nodes(const refusal& why) {
    if (are_all(why, errc::in_quarantine)) {
        // A reason that the node has beside that, or a joint list, is no case for init.
        const bool is_plain =
            std::all_of(why.votes.begin(), why.votes.end(), [](const node_vote& v) {
                return v.detail.empty() && v.change == list_change::none;
            });
        return std::string("they vote again by themselves when that is over") +
               (is_plain ? "; if no earlier lock can be held, redlock init gives them their vote "
                           "at once"
                         : "");
    }
    if (decides(why.votes, has_no_descriptor)) return "the nodes may be well";
    // With --node there is no configuration that could name a file.
    const bool is_about_files = std::any_of(why.votes.begin(), why.votes.end(), [](const auto& v) {
        const std::string said = v.error.message() + v.detail;
        return said.find("ca_file") != said.npos || said.find("cert_file") != said.npos;
    });
    return std::string("fix these nodes, or their entries in the configuration") +
           (is_about_files ? "; with --node, ca_file, cert_file and key_file are --tls-ca, "
                             "--tls-cert and --tls-key"
                           : "");
}

bool lacks_right(const error_code& why, std::string_view detail) {
    return why == errc::missing_right ||
           (why == errc::script_rejected && detail.find("NOPERM") != detail.npos);
}

// The record of the node itself is another matter.
bool has_other_data(const error_code& why, std::string_view detail) {
    return why == errc::foreign_data && detail.find("node record") == detail.npos;
}

std::string_view remedy_of_limit(const error_code& why) {
    return why == boost::system::errc::too_many_files_open ? ": raise ulimit -n" : "";
}

bool is_ordinary_contention(const refusal& why) {
    return why.code == errc::contended && !decides(why.votes, stands_for_ever);
}

int explain(const refusal& why, const std::vector<std::string>& resources, std::string_view detail,
            int contended) {
    const auto end = [](const std::string& line, int status) {
        complain(line);
        return status;
    };
    const std::string name = quoted(resources);
    const std::string line = name + ": " + why.message();
    if (why.code == errc::contended) {
        return end(line + ": " + remedy_of_contention(why, resources), contended);
    }
    if (why.code == errc::validity_exhausted) {
        return end(line + ": lengthen --ttl, or look for slow nodes", no_quorum);
    }
    if (why.code == errc::invalid_argument) {
        return end(name + ": " + (detail.empty() ? why.code.message() : std::string(detail)),
                   own_failure);
    }
    if (decides(why.votes, is_other_data)) {
        return end(line + ": " + used_for_something_else, own_failure);
    }
    if (decides(why.votes, is_forbidden)) {
        const refusal told{errc::missing_right, why.votes, why.detail};
        return end(name + ": " + told.message() + ": this user may not lock here: " +
                       remedy_of_rights,
                   no_quorum);
    }
    if (why.code == errc::no_quorum || why.code == condition::unreachable ||
        why.code == condition::configuration) {
        return end(line + ": " + remedy_of_nodes(why), no_quorum);
    }
    return end(line, own_failure);
}

}  // namespace redlock::tool
