// What a brief process does.
// SPDX-License-Identifier: MIT
#include "simulation/visitor.hpp"

#include "client/adopt.hpp"
#include "client/commit.hpp"
#include "client/inspect.hpp"
#include "client/operator.hpp"
#include "client/release.hpp"
#include "simulation/program.hpp"
#include "simulation/watched.hpp"
#include "wire/owner_value.hpp"

#include <redlock/clock.hpp>
#include <redlock/detail/access.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace redlock::simulation {

using namespace std::chrono_literals;

struct visitor::adopting final : watched<detail::adopt_operation, visitor> {
    using watched::watched;
    void complete(error_code outcome, std::shared_ptr<detail::lease_state> state) override {
        ended().on_adopted(outcome, std::move(state));
    }
};
struct visitor::releasing final : watched<detail::release_operation, visitor> {
    using watched::watched;
    void complete(error_code outcome) override { ended().on_released(outcome); }
};
struct visitor::declaring final : watched<detail::declare_operation, visitor> {
    using watched::watched;
    void complete(error_code outcome, std::vector<node_vote>) override {
        ended().on_declared(outcome);
    }
};
struct visitor::inspecting final : watched<detail::inspect_operation, visitor> {
    using watched::watched;
    void complete(error_code outcome, resource_state found) override {
        ended().on_inspected(outcome, found);
    }
};
struct visitor::listing final : watched<detail::list_operation, visitor> {
    using watched::watched;
    void complete(error_code outcome, std::vector<std::string>) override {
        ended().on_listed(outcome);
    }
};
struct visitor::revoking final : watched<detail::revoke_operation, visitor> {
    using watched::watched;
    void complete(error_code outcome, revocation done) override {
        ended().on_revoked(outcome, done);
    }
};

struct visitor::committing final : watched<detail::commit_operation, visitor> {
    using watched::watched;
    void complete(error_code outcome, commit_report report) override {
        ended().on_committed(outcome, report);
    }
};

namespace {

// The holders that it names, abbreviated.
std::set<std::string> named_in(const resource_state& found) {
    std::set<std::string> out{found.owner};
    out.insert(found.readers.begin(), found.readers.end());
    for (const node_state& node : found.nodes) {
        out.insert(node.owner);
        out.insert(node.readers.begin(), node.readers.end());
    }
    for (const slot_state& slot : found.slots) out.insert(slot.owner);
    out.erase("");
    return out;
}

std::string with_fence_ahead(const std::string& token) {
    auto known = wire::read_token(token);
    constexpr auto hour_us = std::chrono::duration_cast<std::chrono::microseconds>(1h).count();
    known->fence += static_cast<std::uint64_t>(hour_us);
    return wire::write_token(known->resources, known->fence, known->proof);
}

}  // namespace

visitor::visitor(program& in, chance dice) : in_(&in), dice_(dice) {}
visitor::~visitor() = default;

template <class F>
void visitor::tell(F&& say) const {
    in_->around().log.tell(in_->around().when.now(), [&] { return in_->name() + "  " + say(); });
}

template <class Operation, class... Args>
void visitor::begin(Args&&... args) {
    began_ = clock::now();
    in_->begin(detail::operation_ptr(new Operation(*in_, *this, std::forward<Args>(args)...)));
}

void visitor::begin() {
    switch (in_->terms().does) {
        case errand::none: return;
        case errand::token: return use_token();
        case errand::init: return begin<declaring>();
        case errand::revoke: resource_ = dice_.below(in_->around().in.resources); return inspect();
        case errand::look:
        case errand::watch: return inspect();
        case errand::commit:
            return begin<committing>(commit_options{.despite_old_programs = true,
                                                    .gives_up = in_->terms().gives_up});
    }
}

void visitor::use_token() {
    auto token = in_->around().tokens.take(dice_);
    if (!token) return in_->leave();
    token_ = std::move(*token);
    if (in_->terms().changes_tokens) token_.text = with_fence_ahead(token_.text);
    releases_ = dice_.happens(0.6);
    const milliseconds most = in_->around().in.ttl_max;
    how_.renew = false;
    // A release needs the lease for as long as the nodes take to answer.
    how_.ttl = releases_ ? std::min(most, std::max<milliseconds>(
                                              4 * in_->around().in.longest_node_timeout(), 1s))
                         : std::chrono::ceil<milliseconds>(dice_.between_orders(20ms, most));
    tell([&] { return std::string(releases_ ? "releases" : "extends") + " by its token " +
                      token_.keys.front() + " of " + token_.value; });
    begin<adopting>(token_.text, how_);
}

void visitor::on_adopted(error_code outcome, std::shared_ptr<detail::lease_state> state) {
    lease_checker& judge = in_->around().judge;
    if (outcome) {
        tell([&] { return "can't take it over: " + outcome.message(); });
        judge.not_adopted(*in_, token_.value, began_, outcome);
        return in_->leave();
    }
    held_ = state;
    lease_ = detail::access::lease_of(std::move(state));
    judge.adopted(*in_, held_, began_, how_);
    if (!releases_) {
        tell([] { return std::string("has extended it"); });
        held_.reset();
        lease_.detach();
        return in_->leave();
    }
    judge.begins_release(token_.value);
    judge.ended(*held_);
    held_.reset();
    begin<releasing>(detail::access::surrender(std::move(lease_)));
}

void visitor::on_released(error_code outcome) {
    tell([&] { return outcome ? "released it: " + outcome.message() : "has released it"; });
    if (!outcome) in_->around().judge.released(token_.value);
    in_->leave();
}

void visitor::on_declared(error_code outcome) {
    tell([&] { return outcome ? "declared not all nodes new" : "has declared the nodes new"; });
    in_->leave();
}

void visitor::inspect() {
    begin<inspecting>(resource_name(resource_));
}

void visitor::on_inspected(error_code outcome, const resource_state& found) {
    tell([&] {
        return "sees " + found.resource + (outcome      ? ": " + outcome.message()
                                           : found.held ? " held by " + found.owner
                                                        : " held by nobody");
    });
    if (!outcome) in_->around().judge.shown(*in_, found, began_);
    if (in_->terms().does == errand::revoke) return outcome ? in_->leave() : revoke(found);
    look_again();
}

// All resources once, and their names; or one after the other until the process ends.
void visitor::look_again() {
    const bool is_last = ++resource_ == in_->around().in.resources;
    if (is_last) resource_ = 0;
    if (in_->terms().does == errand::watch) {
        return in_->after(500ms, [this] { inspect(); });
    }
    if (is_last) return begin<listing>(std::string());
    inspect();
}

void visitor::on_listed(error_code outcome) {
    tell([&] { return outcome ? "sees no list: " + outcome.message() : "has seen the list"; });
    in_->leave();
}

void visitor::revoke(const resource_state& found) {
    in_->around().judge.begins_revocation(found.resource, named_in(found));
    begin<revoking>(found);
}

void visitor::on_revoked(error_code outcome, const revocation& done) {
    tell([&] {
        return "took it from " + std::to_string(done.revoked.size()) +
               (outcome ? ": " + outcome.message() : "");
    });
    if (!outcome) {
        in_->around().judge.revoked(resource_name(resource_), {done.revoked.begin(), done.revoked.end()});
    }
    in_->leave();
}

void visitor::on_committed(error_code outcome, const commit_report& report) {
    tell([&] {
        std::string all;
        for (const list_standing& n : report.nodes) {
            all += ' ' + std::string(to_string(n.state)) + '/' + std::to_string(n.number);
        }
        return (outcome ? "ended no change: " + outcome.message()
                        : std::string("has ended the change")) + ":" + all + " " + report.detail;
    });
    in_->around().judge.require(!outcome, "available", [&] {
        return in_->name() + " could not end a change of the list: " + outcome.message();
    });
    in_->leave();
}

void visitor::vanish() {
    if (held_) in_->around().judge.ended(*held_);
}

}  // namespace redlock::simulation
