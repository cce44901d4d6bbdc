// The password and the certificates of one node, read again at each connection.
// SPDX-License-Identifier: MIT
#include "asio/node_files.hpp"

#include "value/file.hpp"
#include "value/text.hpp"

#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace redlock::detail {

node_files::node_files(node_options& node) : node_(&node) {
    const std::string complaint = read_password();
    if (!complaint.empty() && node.password.empty()) {
        throw std::invalid_argument("/" + complaint + ": write the password to it");
    }
    if (node.tls) tls_ = make_tls_setup(node);
}

std::string node_files::read_again() {
    std::string complaint = read_password();
    if (!complaint.empty()) {
        complaint += "; the password that was read before is used: write the new one to the file";
    }
    if (!tls_) return complaint;
    const std::string other = read_again_tls(*tls_);
    if (other.empty()) return complaint;
    if (!complaint.empty()) complaint += "; ";
    return complaint + other + "; the files that were read before are used";
}

std::string node_files::read_password() {
    if (node_->password_file.empty()) return {};
    const std::filesystem::path file(node_->password_file);
    // A pipe would be waited for.
    std::error_code ignored;
    const bool may_block = std::filesystem::exists(file, ignored) && !can_be_read_again(file);
    file_secret found = may_block ? file_secret{{}, "is no regular file"} : read_secret(file);
    if (found.why.empty()) {
        node_->password = std::move(found.text);
        return {};
    }
    return "password_file: " + text::printable(node_->password_file) + " " + found.why;
}

}  // namespace redlock::detail
