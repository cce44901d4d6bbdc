// What is said to a node before the first command.
// SPDX-License-Identifier: MIT
#include "client/node/handshake.hpp"

#include "value/lease_terms.hpp"
#include "wire/auth.hpp"
#include "wire/failure.hpp"
#include "wire/info.hpp"
#include "wire/resp/command.hpp"
#include "wire/resp/scripts.hpp"
#include "wire/rights.hpp"
#include "wire/time.hpp"

#include <string>
#include <utility>

namespace redlock::detail {

namespace {

// A replica that became a master may lack what its old master had granted last.
bool was_replica(std::string_view info) {
    const std::string_view before = wire::field(info, "master_replid2");
    return before.find_first_not_of('0') != before.npos;
}

bool has_settled_log(std::string_view info) {
    return wire::field(info, "aof_enabled") == "1" &&
           wire::field(info, "aof_rewrite_in_progress") == "0" &&
           // until then nothing is written down
           wire::field(info, "aof_rewrite_scheduled") == "0" &&
           wire::field(info, "aof_last_write_status") == "ok" &&
           wire::field(info, "aof_last_bgrewrite_status") == "ok";
}

void append_search(std::string& out) {
    std::vector<std::string_view> words{"SCRIPT", "EXISTS"};
    for (const auto& s : resp::all_scripts()) words.push_back(s.sha1);
    resp::append_command(out, words);
}

}  // namespace

// As a user is given the right to it.
std::string_view handshake::command_of(step what) noexcept {
    switch (what) {
        case step::auth: return "auth";
        case step::select: return "select";
        case step::set_name: return "client|setname";
        case step::info: return "info";
        case step::durability: return "config|get";
        case step::time: return "time";
        case step::find: return "script|exists";
        case step::load: return "script|load";
        case step::record: return "get +set +time";  // of its script: older servers name none
    }
    return {};
}

void read_replication(std::string_view info, core::server_facts& to) {
    const std::string_view replicas = wire::field(info, "connected_slaves");
    to.replid = wire::field(info, "master_replid");
    to.is_master = wire::field(info, "role") != "slave";
    to.has_replicas = !replicas.empty() && replicas != "0";
}

void handshake::say(std::string& out, step what, std::initializer_list<std::string_view> words) {
    said_.push_back(what);
    resp::append_command(out, words);
}

void handshake::begin(std::string& out) {
    said_.clear();
    answered_ = 0;
    scripts_ = {};
    result_ = {};
    why_ = {};
    if (wire::append_auth(out, *node_)) said_.push_back(step::auth);
    if (node_->database != 0) say(out, step::select, {"SELECT", std::to_string(node_->database)});
    wire::append_name(out, *client_);
    said_.push_back(step::set_name);
    say(out, step::info, {"INFO"});
    if (is_guarded(*client_)) say(out, step::durability, {"CONFIG", "GET", "*appendfsync*"});
    say(out, step::time, {"TIME"});
    append_search(out);
    said_.push_back(step::find);
}

// What a replica keeps guards no vote: it has none.
bool handshake::wants_record() const noexcept {
    return client_->fencing && result_.server.is_master;
}

void handshake::ask_more(std::string& out, const wire::record_request& r) {
    for (const std::size_t i : scripts_.missing()) {
        say(out, step::load, {"SCRIPT", "LOAD", resp::all_scripts()[i].text});
    }
    if (!wants_record()) return;
    said_.push_back(step::record);
    const auto form = scripts_.sends_text() ? resp::script_form::whole : resp::script_form::by_hash;
    wire::write_record_call(out, form, r, core::bootstrap::task::look, result_.server);
}

handshake::outcome handshake::fail(wire::failure why) {
    why_ = std::move(why);
    return outcome::failed;
}

handshake::outcome handshake::fail(error_code error, std::string detail) {
    return fail({vote::refused, error, std::move(detail)});
}

handshake::outcome handshake::on_reply(const resp::reply& reply) {
    const step at = said_[answered_++];
    const outcome verdict =
        reply.type() == resp::reply_type::error ? on_error(at, reply) : on_answer(at, reply);
    if (verdict != outcome::more || answered_ < said_.size()) return verdict;
    const bool wants_more = at == step::find && (scripts_.lacks_any() || wants_record());
    return wants_more ? outcome::ask_more : outcome::done;
}

// The scripts were flushed since the node was queried for them: the record is read with the text.
bool handshake::is_flushed(const resp::reply& reply) {
    return reply.is_error("NOSCRIPT") && scripts_.lost();
}

// `found`: what SCRIPT EXISTS answers. After an error nothing is known to be there.
void handshake::note_missing(const resp::reply& found) {
    for (std::size_t i = 0; i < resp::all_scripts().size(); ++i) {
        scripts_.note(i < found.size() && found[i].integer() == 1);
    }
}

handshake::outcome handshake::on_error(step at, const resp::reply& reply) {
    wire::failure cause = wire::read_failure(reply);
    if (cause.error == errc::missing_right) {
        cause.detail += ": " + wire::remedy_for(cause.detail, client_->key_prefix, command_of(at));
    }
    if (reply.is_error("NOAUTH")) return fail(wire::read_auth_refusal(reply));
    switch (at) {
        case step::auth: return fail(wire::read_auth_refusal(reply));
        case step::select: return fail(errc::server_error, "SELECT: " + cause.detail);
        case step::set_name:
            if (auto away = wire::read_turned_away(reply)) return fail(std::move(*away));
            break;
        case step::durability: result_.server.is_durable = false; break;
        case step::info:
            if (!is_guarded(*client_)) break;
            return fail(cause.error, "INFO, which the restart guard needs: " + cause.detail);
        case step::time:
            if (!client_->fencing) break;
            return fail(cause.error, "TIME, which the fences need: " + cause.detail);
        // Perhaps this user may load scripts, and not look for them: what else is wrong with the
        // node, it says of a load, too.
        case step::find: note_missing(reply); break;
        case step::load:
            return fail(cause.error == errc::missing_right ? errc::script_rejected : cause.error,
                        "SCRIPT LOAD: " + cause.detail);
        case step::record:
            if (is_flushed(reply)) return outcome::ask_more;
            if (!is_guarded(*client_)) break;
            return fail(cause.error, "the node record: " + cause.detail);
    }
    return outcome::more;
}

handshake::outcome handshake::on_answer(step at, const resp::reply& reply) {
    switch (at) {
        case step::auth:
        case step::select:
        case step::set_name: break;
        case step::info:
            result_.server.run_id = wire::field(reply.text(), "run_id");
            read_replication(reply.text(), result_.server);
            // A replica's files may be started at its address, and lack the last writes.
            result_.server.is_durable = has_settled_log(reply.text()) &&
                                      !was_replica(reply.text()) && !result_.server.has_replicas;
            result_.settings = read_settings(reply.text());
            if (is_guarded(*client_) && result_.server.run_id.empty()) {
                return fail(errc::protocol_error, "INFO names no run_id");
            }
            break;
        case step::durability:
            add_fsync(result_.settings, reply);
            result_.server.is_durable &= result_.settings.syncs_always();
            break;
        case step::time:
            result_.time_us = wire::read_time(reply);
            if (client_->fencing && !result_.time_us) {
                return fail(errc::protocol_error, "TIME is answered with no time");
            }
            break;
        case step::find:
            if (reply.size() != resp::all_scripts().size()) {
                return fail(errc::protocol_error, "SCRIPT EXISTS is answered with no such list");
            }
            note_missing(reply);
            break;
        case step::load:
            if (reply.text() != resp::all_scripts()[scripts_.loaded()].sha1) {
                return fail(errc::script_rejected,
                            "the node knows a script by another SHA1 than we do");
            }
            break;
        case step::record: {
            auto answer = wire::read_record(reply);
            if (!answer.record) {
                return fail(answer.why.error, "the node record: " + answer.why.detail);
            }
            result_.record = std::move(*answer.record);
            break;
        }
    }
    return outcome::more;
}

}  // namespace redlock::detail
