// What holds for each kind of lock with fences, on a node in memory; knows no client.
// SPDX-License-Identifier: MIT
#include "component/support/fake_node.hpp"
#include "component/support/script_node.hpp"
#include "support/catch.hpp"
#include "wire/lock.hpp"
#include "wire/request.hpp"

#include <redlock/options.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::testing;
using namespace std::chrono_literals;

namespace {

/// Takes, prolongs and gives back "r", or slot 0 of it, or "r" and "s".
class node_of_kinds {
public:
    fakes::model_reply acquire(const wire::lock_kind& kind, char who) {
        const wire::fence_terms fence = next_fence();
        wire::write_acquire(kind, blank(), lease_of(kind, who), &fence);
        return carry_out();
    }
    fakes::model_reply extend(const wire::lock_kind& kind, char who) {
        const wire::fence_terms fence = next_fence();
        wire::write_extend(kind, blank(), lease_of(kind, who), &fence);
        return carry_out();
    }
    fakes::model_reply release(const wire::lock_kind& kind, char who) {
        const wire::lease_request lease = lease_of(kind, who);
        wire::write_release(kind, blank(), {.key = lease.key, .value = lease.value,
                                            .slot = lease.slot, .others = lease.others});
        return carry_out();
    }
    /// But for the locks themselves and the node record.
    std::vector<std::string> companions() {
        std::vector<std::string> out;
        for (const auto& [name, what] : node_.server.database().all()) {
            if (name != "N" && name != "r" && name != "r#0" && name != "s") out.push_back(name);
        }
        return out;
    }
    /// The last one.
    const fakes::command& command() const { return command_; }

private:
    wire::request& blank() {
        request_.clear();
        return request_;
    }
    wire::lease_request lease_of(const wire::lock_kind& kind, char who) {
        value_ = std::string(22, who) + "@a:1";
        wire::lease_request out{kind.has_slot ? "r#0" : "r", value_, 10s};
        if (kind.has_slot) out.slot = {0, 1};
        if (kind.is_of_several) out.others = others_;
        return out;
    }
    wire::fence_terms next_fence() {
        return {static_cast<std::uint64_t>(node_.us(now_) + ++fences_), ""};
    }
    fakes::model_reply carry_out() {
        wire::batch all("N");
        all.add(request_);
        std::string text;
        all.write(text, resp::script_form::whole, {record_epoch, {}}, {15s, 0s});
        resp::parser parser;
        const auto commands = fakes::decode(parser, text);
        REQUIRE(commands.size() == 1);
        command_ = commands.front();
        return node_.carry_out(command_, now_);
    }

    time_point now_{};
    script_node node_{now_};
    std::int64_t fences_ = 0;
    std::string value_;
    const std::vector<detail::recycled_string> others_{"s"};
    wire::request request_;
    fakes::command command_;
};

bool is_done(const fakes::model_reply& said) { return said.items.empty() && said.number == 1; }

// The answers of requests.lua to an acquire of what is held, or of a slot that is.
bool is_held(const fakes::model_reply& said) {
    return !said.items.empty() && (said.items[0].number == 2 || said.items[0].number == 6);
}

std::vector<const wire::lock_kind*> fenced_kinds() {
    std::vector<const wire::lock_kind*> out;
    for (const wire::lock_kind* kind : wire::all_kinds) {
        if (kind->is_fenced) out.push_back(kind);
    }
    return out;
}

}  // namespace

TEST_CASE("each kind of lock is taken, prolonged and given back by its requests") {
    for (const wire::lock_kind* kind : fenced_kinds()) {
        INFO("kind \"" << kind->suffix << '"');
        node_of_kinds n;
        REQUIRE(is_done(n.acquire(*kind, 'A')));
        CHECK(is_done(n.acquire(*kind, 'A')));
        CHECK(is_done(n.extend(*kind, 'A')));
        const auto other = n.acquire(*kind, 'B');
        CHECK((kind->is_shared ? is_done(other) : is_held(other)));
        if (!kind->has_slot) CHECK(is_held(n.acquire(wire::fenced_lock, 'C')));
        if (kind->is_shared) CHECK(is_done(n.release(*kind, 'B')));
        CHECK(is_done(n.release(*kind, 'A')));
        CHECK(is_done(n.acquire(*kind, 'B')));
        CHECK(is_held(n.acquire(*kind, 'A')) != kind->is_shared);
    }
}

TEST_CASE("no resource can be named like a key that a kind of lock keeps beside its own") {
    for (const wire::lock_kind* kind : fenced_kinds()) {
        INFO("kind \"" << kind->suffix << '"');
        node_of_kinds n;
        REQUIRE(is_done(n.acquire(*kind, 'A')));
        CHECK_FALSE(n.companions().empty());
        for (const std::string& name : n.companions()) {
            INFO(name);
            CHECK_FALSE(validate_resource({}, name).empty());
        }
    }
}

TEST_CASE("tests and simulation read the requests of each kind as they were written") {
    for (const wire::lock_kind* kind : fenced_kinds()) {
        INFO("kind \"" << kind->suffix << '"');
        node_of_kinds n;
        const auto check = [&] {
            const auto read = requests_of(n.command());
            REQUIRE(read);
            fakes::command whole = keys_of(*read);
            for (const auto& word : arguments_of(*read)) whole.push_back(word);
            CHECK(whole == fakes::command(n.command().begin() + 3, n.command().end()));
        };
        n.acquire(*kind, 'A');
        check();
        n.extend(*kind, 'A');
        check();
        n.release(*kind, 'A');
        check();
    }
}

TEST_CASE("a request of a kind that has no rules takes nothing, and says so") {
    node_of_kinds n;
    const wire::lock_kind unknown{.suffix = "_unknown"};
    const auto said = n.acquire(unknown, 'A');
    REQUIRE(said.is_error());
    CHECK(said.text.find("unknown") != std::string::npos);
    CHECK(n.companions().empty());
    CHECK(is_done(n.acquire(wire::fenced_lock, 'B')));
}
