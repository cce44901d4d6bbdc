// One connection to a node, opened again whenever it ends, and what is said there before the first
// command.
// SPDX-License-Identifier: MIT
#include "client/connection.hpp"

#include "value/error.hpp"
#include "value/options.hpp"
#include "value/text.hpp"
#include "wire/login.hpp"
#include "wire/request.hpp"

#include <algorithm>
#include <cassert>

namespace redlock::detail {

connection::connection(std::size_t index, const client_options& options, transport& wire,
                       connection_owner& owner, resp::parser_limits limits)
    : index_(index),
      options_(&options),
      wire_(&wire),
      owner_(&owner),
      link_(options.connect_timeout),
      parser_(limits) {
    assert(index < options.nodes.size());
}

void connection::start(time_point now) {
    if (link_.start(now) == action::open) open(now);
}

// The node is not silent meanwhile, but it has no more time in all for that.
void connection::on_asking(std::string whom, time_point now) {
    asked_ = std::move(whom);
    asked_at_ = now;
    link_.answered(now);
}

// What that took says nothing of the node.
void connection::end_asking(time_point now) noexcept {
    if (asked_.empty()) return;
    asked_.clear();
    opening_since_ += now - asked_at_;
}

void connection::on_reached(time_point now) {
    end_asking(now);
    is_reached_ = true;
    link_.answered(now);
}

void connection::on_open(time_point now) {
    end_asking(now);
    link_.opened(now);
    connecting_took_ = now - opening_since_;
    parser_.reset();
    round_trip_.begin();
    queried(now);
    greet(now);
}

void connection::on_bytes(std::string_view bytes, time_point now) {
    std::string_view first = std::exchange(has_bytes_, true) ? std::string_view() : bytes;
    last_bytes_ = now;
    // It may be stopped, and even started again, by what is called from here.
    while (link_.state() == phase::greeting || link_.state() == phase::ready) {
        resp::reply reply;
        switch (parser_.feed(bytes, reply)) {
            case resp::parser::outcome::need_more: return;
            case resp::parser::outcome::broken:
                return give_up({vote::unreachable, errc::protocol_error, tell_of_bytes(first)},
                               true, now);
            case resp::parser::outcome::complete: first = {};
        }
        if (link_.is_ready()) {
            on_reply(reply, now);
        } else {
            link_.answered(now);
            round_trip_.answered(now);
            on_greeting(reply, now);
        }
    }
}

// Of bytes that are no reply; `first`: those with which the server began, if they are these.
std::string connection::tell_of_bytes(std::string_view first) const {
    const bool is_first = !first.empty() && link_.state() == phase::greeting;
    return is_first ? wire::tell_of_other_server(first, parser_.error())
                    : text::printable(parser_.error());
}

void connection::on_down(error_code why, time_point now) {
    const bool is_hung_up = link_.state() == phase::greeting && is_broken_connection(why);
    const auto* detail = "";
    if (is_hung_up && !options_->nodes[index_].tls) {
        detail = "the server hung up before it answered: if it expects TLS, use rediss://; if it "
                 "is a proxy that refuses commands, name the servers behind it";
    }
    if (why == boost::system::errc::too_many_files_open) {
        detail = "this program has no descriptor left: raise ulimit -n";
    }
    give_up({vote::unreachable, why, detail}, false, now);
}

void connection::greeted(time_point now) noexcept {
    assert(link_.state() == phase::greeting);
    link_.greeted(now);
    was_ready_ = true;
}

void connection::give_up(wire::failure why, bool stalled, time_point now) {
    if (link_.state() == phase::closed) return;
    // Perhaps it failed for want of the new ones.
    if (!link_.is_ready() && !files_complaint_.empty()) {
        why.detail += (why.detail.empty() ? "" : "; ") + files_complaint_;
    }
    hang_up();
    opens_again_ = link_.down(now, stalled, owner_->random_word()) == action::open;
    on_end(why, now);  // it may be stopped there, and even started
    if (std::exchange(opens_again_, false)) open(now);
}

time_point connection::link_deadline() const noexcept {
    return link_.state() == phase::resting ? link_.deadline() : extended(link_.deadline());
}

void connection::on_link_time(time_point now) {
    if (now < link_deadline()) return;
    switch (link_.on_time(now)) {
        case action::none: break;
        case action::give_up:
            return give_up(tell_of_silence(now), true, now);
        case action::open: open(now); break;
    }
}

wire::failure connection::tell_of_silence(time_point now) const {
    if (asked_.empty()) return {vote::timed_out, errc::timed_out, tell_of_distance(now)};
    const auto limit = options_->connect_timeout.count();
    return {vote::unreachable, errc::no_credentials,
            asked_ + " gave no password within connect_timeout_ms, which is " +
                std::to_string(limit) + ": have it answer sooner, or set that to " +
                std::to_string(2 * limit) + " or more"};
}

// One that is near and hangs answers no sooner with more time: only where what was measured is long
// is the server far away. Then the longest of that counts, or of what was waited for in vain.
std::string connection::tell_of_distance(time_point now) const {
    using std::chrono::milliseconds;
    const duration measured = std::max(connecting_took_, round_trip_.get());
    std::string out = "could not connect in time: ";
    if (core::round_trips_to_connect * measured > options_->connect_timeout) {
        const duration waited = std::max(measured, now - opening_since_ - connecting_took_);
        const auto enough = std::chrono::ceil<milliseconds>(std::max<duration>(
            core::round_trips_to_connect * waited, 2 * options_->connect_timeout));
        out += "if the server is only far away, set connect_timeout_ms, which is " +
               std::to_string(options_->connect_timeout.count()) + ", to " +
               std::to_string(enough.count());
    } else if (link_.state() == phase::greeting || is_reached_) {
        out += "the server took the connection, and then answered nothing";
        const bool may_lack_tls = link_.state() == phase::connecting && !was_ready_;
        if (may_lack_tls) out += "; if it expects no TLS, use redis://";
    } else {
        out += "nothing answered at its address";
    }
    return out;
}

void connection::open(time_point now) {
    assert(outgoing_.empty() && link_.state() == phase::connecting);
    opening_since_ = now;
    connecting_took_ = {};
    is_reached_ = false;
    has_bytes_ = false;
    files_complaint_.clear();
    asked_.clear();
    wire_->open();
}

void connection::stop() {
    hang_up();
    link_ = core::reconnection(options_->connect_timeout);
}

void connection::stop_for_good() {
    hang_up();
    link_.close();
}

void connection::hang_up() {
    wire_->drop();
    outgoing_.clear();
    opens_again_ = false;
}

duration connection::node_timeout(duration ttl) const noexcept {
    const duration given = options_->node_timeout;
    if (given == duration::zero() && !round_trip_.is_known() && is_untried()) {
        return std::clamp<duration>(options_->connect_timeout, core::least_node_timeout(ttl),
                                    core::longest_node_timeout);
    }
    return core::node_timeout(given, round_trip_.get(), ttl);
}

duration connection::shortest_timeout() const noexcept {
    return core::shortest_timeout(options_->node_timeout, round_trip_.get());
}

duration connection::longest_silence() const noexcept {
    return std::max<duration>(options_->connect_timeout, 10 * shortest_timeout());
}

namespace {

std::uint64_t number(std::string_view from) noexcept {
    return text::whole_number<std::uint64_t>(from).value_or(0);
}

std::uint64_t major_version(std::string_view text) noexcept {
    return number(text.substr(0, text.find('.')));
}

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
        case step::delifeq: return "delifeq";
        case step::peek:
        case step::record: return "get +set +time";  // of its script: older servers name none
    }
    return {};
}

server_settings read_settings(std::string_view info) {
    server_settings s;
    s.eviction_policy = wire::field(info, "maxmemory_policy");
    s.memory_limit = number(wire::field(info, "maxmemory"));
    s.memory_used = number(wire::field(info, "used_memory"));
    s.has_failed_save = wire::field(info, "rdb_last_bgsave_status") == "err";
    s.has_failed_log = wire::field(info, "aof_last_write_status") == "err";
    s.good_replicas = wire::field(info, "min_slaves_good_slaves");
    if (const auto log = wire::field(info, "aof_enabled"); !log.empty()) s.has_log = log == "1";
    return s;
}

void add_fsync(server_settings& to, const resp::reply& config) {
    for (std::size_t i = 0; i + 1 < config.size(); i += 2) {
        if (config[i].text() == "appendfsync") to.fsync = config[i + 1].text();
        if (config[i].text() == "no-appendfsync-on-rewrite") {
            to.skips_fsync = config[i + 1].text() != "no";
        }
    }
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

void handshake::begin(std::string& out, std::string_view files_complaint) {
    said_.clear();
    answered_ = 0;
    scripts_ = {};
    peeked_ = {};
    record_.reset();
    may_be_durable_ = is_of_valkey_9_ = false;
    result_ = {};
    result_.files_complaint = files_complaint;
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
    if (!client_->fencing) return;
    said_.push_back(step::peek);
    wire::record_exchange(wire::record_key(client_->key_prefix), {}, core::greeted)
        .write(out, resp::script_form::by_hash);
}

// What a replica keeps guards no vote: it has none.
bool handshake::wants_record() const noexcept {
    return client_->fencing && result_.server.is_master;
}

handshake::outcome handshake::ask_more(std::string& out, const core::record_terms& known) {
    bool is_read = !wants_record();
    if (!record_) {
        for (const std::size_t i : scripts_.missing()) {
            say(out, step::load, {"SCRIPT", "LOAD", resp::all_scripts()[i].text});
        }
        // The server may have it by another name, or forbid it to this user: a release that finds
        // that out would go out again behind the next acquire.
        if (wants_delifeq()) {
            say(out, step::delifeq, {"DELIFEQ", wire::record_key(client_->key_prefix), "-"});
        }
    }
    if (!record_ && wants_record()) {
        core::record_terms terms = known;
        terms.server = result_.server;
        record_.emplace(wire::record_key(client_->key_prefix), std::move(terms), core::greeted);
        is_read = peeked_.record && !record_->take(std::move(peeked_));
        if (is_read) result_.record = *record_->answer().record;
    }
    if (!is_read) {
        said_.push_back(step::record);
        record_->write(out, scripts_.sends_text() ? resp::script_form::whole
                                                  : resp::script_form::by_hash);
    }
    return answered_ < said_.size() ? outcome::more : outcome::done;
}

handshake::outcome handshake::fail(wire::failure why) {
    assert(why.error);
    why_ = std::move(why);
    return outcome::failed;
}

handshake::outcome handshake::fail(error_code error, std::string detail) {
    return fail({vote::refused, error, std::move(detail)});
}

handshake::outcome handshake::fail_of_record(const wire::failure& why, bool is_of_later_version) {
    std::string detail = "the node record: " + why.detail;
    if (why.error == errc::foreign_data && !is_of_later_version) {
        detail += ": if nothing else uses it, delete its key " +
                  wire::record_key(client_->key_prefix) +
                  ", and the node votes again after ttl_max";
    }
    return fail(why.error, std::move(detail));
}

handshake::outcome handshake::on_reply(const resp::reply& reply) {
    assert(answered_ < said_.size());
    const step at = said_[answered_++];
    const outcome verdict =
        reply.type() == resp::reply_type::error ? on_error(at, reply) : on_answer(at, reply);
    if (verdict != outcome::more || answered_ < said_.size()) return verdict;
    const bool is_first_write = at == step::find || at == step::peek;
    const bool wants_more =
        is_first_write && (scripts_.lacks_any() || wants_record() || wants_delifeq());
    return wants_more ? outcome::ask_more : outcome::done;
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
    } else if (const auto what = wire::remedy_for_unknown_command(cause.detail); !what.empty()) {
        cause.detail.append(": ").append(what);
    }
    if (reply.is_error("NOAUTH")) return fail(wire::read_auth_refusal(reply));
    switch (at) {
        case step::auth: return fail(wire::read_auth_refusal(reply));
        case step::select: return fail(errc::server_error, "SELECT: " + cause.detail);
        case step::set_name:
            if (auto away = wire::read_turned_away(reply)) return fail(std::move(*away));
            break;
        case step::durability: result_.server.is_durable = is_durable_by_word(); break;
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
        case step::peek:
        case step::delifeq: break;
        case step::record:
            // Flushed since the node was queried for its scripts: it is read with the text.
            if (reply.is_error("NOSCRIPT") && scripts_.lost()) return outcome::ask_more;
            if (!is_guarded(*client_)) break;
            return fail_of_record(cause);
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
            if (wire::field(reply.text(), "redis_mode") == "sentinel") {
                return fail(errc::not_master, "it is a Sentinel, which keeps no keys: name the "
                                              "master itself that it watches");
            }
            // While it loads its append-only file INFO says that it has none.
            if (wire::field(reply.text(), "loading") == "1") {
                return fail(errc::server_error, "LOADING: the server reads its files");
            }
            read_replication(reply.text(), result_.server);
            is_of_valkey_9_ = major_version(wire::field(reply.text(), "valkey_version")) >= 9;
            // A replica's files may be started at its address, and lack the last writes.
            may_be_durable_ = !was_replica(reply.text()) && !result_.server.has_replicas;
            result_.server.is_durable = may_be_durable_ && has_settled_log(reply.text());
            result_.settings = read_settings(reply.text());
            if (is_guarded(*client_) && result_.server.run_id.empty()) {
                return fail(errc::protocol_error,
                            "INFO names no run_id: it may be a proxy: name the Redis servers "
                            "behind it");
            }
            break;
        case step::durability:
            add_fsync(result_.settings, reply);
            result_.server.is_durable &=
                result_.settings.syncs_always() && node_->durable != false;
            if (result_.settings.fsync.empty()) result_.server.is_durable = is_durable_by_word();
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
        case step::delifeq:
            result_.has_delifeq = reply.type() == resp::reply_type::integer;
            break;
        // What is wrong with it, it says again.
        case step::peek: peeked_ = wire::read_record(reply); break;
        case step::record: {
            if (record_->read(reply)) return outcome::ask_more;
            const wire::record_answer& answer = record_->answer();
            if (answer.record) {
                result_.record = *answer.record;
            } else if (is_guarded(*client_) || answer.needs_later_version ||
                       answer.why.error != errc::foreign_data) {
                return fail_of_record(answer.why, answer.needs_later_version);
            }
        }
    }
    return outcome::more;
}

}  // namespace redlock::detail
