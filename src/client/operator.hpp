// What only operators ask for: the facts of each node, new nodes declared, holders revoked.
// SPDX-License-Identifier: MIT
#pragma once

#include "client/context.hpp"
#include "client/findings.hpp"
#include "client/survey.hpp"
#include "core/release.hpp"
#include "value/nodes.hpp"
#include "value/options.hpp"
#include "wire/failure.hpp"
#include "wire/questions.hpp"
#include "wire/record.hpp"
#include "wire/request.hpp"
#include "wire/resp/reply.hpp"

#include <redlock/node_report.hpp>
#include <redlock/resource_state.hpp>
#include <redlock/vote.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::detail {

/// First it is shown some pages of the names of all keys: SCAN names them in the order of their
/// hashes, so the first pages are a fair sample. Then what a few of each kind take.
class key_census {
public:
    /// Of each kind so many keys are measured.
    static constexpr std::size_t most_measured = 8;
    /// Of 300 names each.
    static constexpr std::size_t most_pages = 30;

    /// The cursor of the page to read next; empty where there is none, or enough were read.
    std::string on_page(const resp::reply& reply, std::string_view prefix);
    /// The keys to be measured.
    std::vector<std::string> chosen() const;
    /// About the i-th of these.
    void on_usage(std::size_t i, const resp::reply& reply);

    /// `keys`: that the server has in all. Where locks have fences, keys are no locks beyond these.
    key_memory result(std::uint64_t keys, bool has_fences) const;

private:
    struct kind {
        std::uint64_t count = 0;
        std::vector<std::string> chosen{};
        std::uint64_t measured = 0;
        std::uint64_t bytes = 0;
    };
    key_usage usage_of(key_role role, double scale) const;

    std::array<kind, key_roles> kinds_{};
    std::uint64_t seen_ = 0;  // keys, of others too
    std::size_t pages_ = 0;
    bool is_complete_ = false;
    std::string missing_right_{};
};

class probe_operation : public node_survey<std::vector<node_report>>, private timer {
public:
    using node_survey::cancel;

private:
    // The last one and those behind it are about its keys: a page of their names, and what the i-th
    // of those that are measured takes.
    enum question : std::uint32_t {
        ask_info, ask_fsync, ask_trial, ask_evalsha, ask_load, ask_page, ask_usage
    };
    static constexpr std::size_t questions = ask_page;

    bool go_on(time_point now) final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t question, const wire::failure& why,
                time_point now) final;
    std::vector<node_report> take_result() final;
    void on_due(time_point now) final { proceed(now); }

    void begin(time_point now);
    void ask_for_page(std::size_t node, std::string_view cursor, time_point now);
    void on_page(std::size_t node, const resp::reply& reply, time_point now);
    wire::request write(std::uint32_t question) const;
    bool is_listened_to(std::size_t node) const;
    void report(std::size_t node, time_point now);

    std::vector<probed> facts_;
    std::vector<key_census> censuses_;
    std::vector<std::uint64_t> keys_;  // of each node, in all
    time_point no_more_pages_at_{};
    std::array<node_mask, questions> repeated_{};  // the nodes, of each question
    time_point give_up_at_{};
};

/// Completes with one vote per node: granted where it took the declaration. No error if a quorum
/// took it.
class declare_operation : public node_survey<std::vector<node_vote>> {
private:
    error_code check() final;
    bool go_on(time_point now) final;
    void on_reply(std::size_t node, std::uint32_t question, const resp::reply& reply,
                  time_point now) final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t, const wire::failure& why,
                time_point now) final {
        note(node, why, now);
    }
    /// It carries what the server says in the handshake.
    bool write_again(std::size_t node, std::uint32_t question, wire::request& out,
                     time_point now) const final;

    void write(std::size_t node, time_point now);
    bool is_taken(std::size_t node) const;
    void note(std::size_t node, const wire::failure& why, time_point now);

    std::vector<wire::record_exchange> records_;
    bool writes_again_ = false;
    time_point sent_at_{};
};

/// Carries out `core::revocation`: looks, as an inspection does, and revokes what it saw.
class revoke_operation : public node_survey<revocation> {
public:
    explicit revoke_operation(resource_state shown) : shown_(std::move(shown)) {}

private:
    using phase = core::revocation::phase;

    error_code check() final;
    bool go_on(time_point now) final;
    void read(std::size_t node, std::uint32_t question, const resp::reply& reply,
              time_point now) final;
    void failed(std::size_t node, std::uint32_t, const wire::failure& why, time_point) final {
        note(node, why);
    }

    bool write_again(std::size_t node, std::uint32_t question, wire::request& out,
                     time_point now) const final;
    void begin();
    void write_look(wire::request& out, resp::script_form form) const;
    void write(std::uint32_t target, wire::request& out, resp::script_form form) const;
    void saw(std::size_t node, const wire::resource_view& view, time_point now);
    void saw(std::size_t node, std::uint32_t target, const wire::key_view& key,
             std::vector<std::string> holders, time_point now);
    void note(std::size_t node, const wire::failure& why);
    void conclude();

    resource_state shown_;
    core::revocation machine_;
    node_mask failed_;
};

}  // namespace redlock::detail
