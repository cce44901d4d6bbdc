// The set of nodes that one list names.
// SPDX-License-Identifier: MIT
#include "wire/node_set.hpp"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <algorithm>
#include <vector>

namespace redlock::wire {

namespace {

// Each name ends with a byte that no name contains.
std::string sorted_names(const client_options& options) {
    std::vector<std::string> names;
    for (const node_options& node : options.nodes) names.push_back(display_name(node));
    std::sort(names.begin(), names.end());
    std::string all;
    for (const std::string& name : names) all.append(name).push_back('\0');
    return all;
}

}  // namespace

std::string node_set(const client_options& options) {
    // Two name spaces, so that no cluster's name gives the fingerprint of a list of nodes.
    const bool is_named = !options.cluster.empty();
    const boost::uuids::name_generator_sha1 of(is_named ? boost::uuids::ns::oid()
                                                        : boost::uuids::ns::dns());
    const auto id = boost::uuids::to_string(of(is_named ? options.cluster : sorted_names(options)));
    return std::to_string(options.nodes.size()) + ":" + id.substr(0, 8) + id.substr(9, 4);
}

}  // namespace redlock::wire
