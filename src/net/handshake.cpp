// What is said to a node before the first command.
// SPDX-License-Identifier: MIT
#include "net/handshake.hpp"

#include "net/answers.hpp"
#include "resp/command.hpp"
#include "resp/scripts.hpp"

#include <algorithm>

namespace redlock::net {

namespace {

// Redis takes no spaces and no control characters in a client's name.
std::string name_without_spaces(std::string_view name) {
    std::string out(name);
    std::replace(out.begin(), out.end(), ' ', '_');
    return out;
}

}  // namespace

void handshake::begin(std::string& out) {
    answered_ = 0;
    why_ = {};
    if (!node_->password.empty()) {
        if (node_->username.empty()) {
            resp::append_command(out, {"AUTH", node_->password});
        } else {
            resp::append_command(out, {"AUTH", node_->username, node_->password});
        }
    }
    if (node_->database != 0) {
        resp::append_command(out, {"SELECT", std::to_string(node_->database)});
    }
    resp::append_command(out, {"CLIENT", "SETNAME", name_without_spaces(client_name_)});
    for (const auto& s : resp::all_scripts()) resp::append_command(out, {"SCRIPT", "LOAD", s.text});
}

handshake::step handshake::current() const noexcept {
    std::size_t n = answered_;
    if (!node_->password.empty() && n-- == 0) return step::auth;
    if (node_->database != 0 && n-- == 0) return step::select;
    return n == 0 ? step::set_name : step::load;
}

handshake::outcome handshake::fail(error_code error, std::string detail) {
    why_ = {vote::refused, error, std::move(detail)};
    return outcome::failed;
}

handshake::outcome handshake::on_reply(const resp::reply& reply) {
    const step at = current();
    const std::size_t before_scripts =
        1U + (node_->password.empty() ? 0U : 1U) + (node_->database != 0 ? 1U : 0U);
    const std::size_t which = answered_ - std::min(answered_, before_scripts);
    ++answered_;
    if (reply.type() == resp::reply_type::error) {
        const failure cause = read_failure(reply);
        if (reply.is_error("NOAUTH")) {
            return fail(errc::auth_failed, "the node asks for a password: " + cause.detail);
        }
        switch (at) {
            case step::auth:
                // A node that is still loading refuses AUTH too; that is not the password's fault.
                // Some servers answer with what they were sent, so only the error's code is told.
                return fail(reply.is_error("LOADING") ? errc::server_error : errc::auth_failed,
                            "the node answered AUTH with " +
                                cause.detail.substr(0, cause.detail.find(' ')));
            case step::select: return fail(errc::server_error, "SELECT: " + cause.detail);
            case step::set_name: break;  // a courtesy: an ACL may forbid it
            case step::load:
                return fail(reply.is_error("NOPERM") ? errc::script_rejected : cause.error,
                            "SCRIPT LOAD: " + cause.detail);
        }
    } else if (at == step::load && reply.text() != resp::all_scripts()[which].sha1) {
        return fail(errc::script_rejected, "the node knows a script by another SHA1 than we do");
    }
    return answered_ == before_scripts + resp::all_scripts().size() ? outcome::done : outcome::more;
}

}  // namespace redlock::net
