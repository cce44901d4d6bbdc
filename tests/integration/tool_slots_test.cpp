// redlock run --slots, and what inspect shows of slots, seen from outside only.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "tool_call.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

using arguments = std::vector<std::string>;

}  // namespace

TEST_CASE("run --slots runs so many at once, each with its slot, and no more", "[tool]") {
    cluster nodes(3);
    std::vector<std::unique_ptr<tool_process>> running;
    std::set<std::string> slots;
    for (int i = 0; i < 3; ++i) {
        running.push_back(std::make_unique<tool_process>(
            call_on(nodes, {"run", "--slots", "3", "r", "--", "sh", "-c",
                            "echo $REDLOCK_RESOURCE $REDLOCK_SLOT; exec sleep 60"})));
        REQUIRE(eventually([&] { return running.back()->out().ends_with('\n'); }));
        slots.insert(running.back()->out());
    }
    CHECK(slots == std::set<std::string>{"r 0\n", "r 1\n", "r 2\n"});
    const auto refused = outcome_on(nodes, {"run", "--slots", "3", "r", "--", "true"});
    CHECK(refused.status == 120);
    // The resource itself is another lock, and has no slot.
    const auto whole =
        outcome_on(nodes, {"run", "r", "--", "sh", "-c", "echo ${REDLOCK_SLOT-none}"});
    CHECK(whole.status == 0);
    CHECK(whole.out == "none\n");
    tool_process next(
        call_on(nodes, {"run", "--json", "--wait", "90s", "--slots", "3", "r", "--", "true"}));
    REQUIRE(eventually([&] { return has_text(next.err(), R"("slots":3)"); }));
    CHECK(has_text(next.err(), R"("kind":"waiting")"));
    const auto told =
        outcome_on(nodes, {"run", "--json", "--wait", "100ms", "--slots", "3", "r", "--", "true"});
    CHECK(told.status == 120);
    running.pop_back();  // killed: its slot is free after its ttl, at the latest
    CHECK(next.wait() == 0);
    CHECK(has_text(next.err(), R"("kind":"granted")"));
    CHECK(has_text(next.err(), R"("slot":)"));
}

TEST_CASE("run --permits holds so many slots at once, or none", "[tool]") {
    cluster nodes(3);
    const auto run = [&](const std::string& permits, const arguments& more,
                         const std::string& line) {
        arguments all{"run", "--slots", "5", "--permits", permits};
        all.insert(all.end(), more.begin(), more.end());
        all.insert(all.end(), {"r", "--", "sh", "-c", line});
        return call_on(nodes, all);
    };
    tool_process three(run("3", {"--json"}, "echo $REDLOCK_SLOT; exec sleep 60"));
    REQUIRE(eventually([&] { return three.out().ends_with('\n'); }));
    CHECK(three.out().size() == 6);
    CHECK(has_text(three.err(), R"("slots":[)"));
    CHECK(outcome_of(run("3", {}, "true")).status == 120);
    const auto table = outcome_on(nodes, {"inspect", "r"});
    CHECK(has_text(table.out, "3 of 5 slots are held"));
}

TEST_CASE("slots that can't be are refused with the remedy", "[tool]") {
    cluster nodes(1);
    scratch folder;
    const auto refused = [&](const arguments& options, const std::string& why) {
        arguments all{"run"};
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {"r", "--", "touch", folder / "ran"});
        const auto got = outcome_on(nodes, all);
        INFO(got.err);
        CHECK(got.status == 125);
        CHECK(has_text(got.err, why));
    };
    refused({"--slots", "3", "--shared"}, "--slots and --shared can't be had together");
    refused({"--slots", "0"}, "--slots");
    refused({"--slots", "1001"}, "--slots");
    refused({"--slots", "-1"}, "--slots");
    refused({"--slots", "many"}, "--slots");
    refused({"--slots", "3", "--permits", "4"}, "--permits 4 is above --slots 3");
    refused({"--slots", "3", "--permits", "0"}, "--permits");
    refused({"--slots", "100", "--permits", "65"}, "--permits");
    refused({"--permits", "2"}, "give --slots, too");
    std::ofstream(folder / "plain.json") << R"({"nodes": ["redis://127.0.0.1:)"
                                         << nodes[0].port() << R"("], "fencing": false})";
    const auto plain = outcome_of({"run", "--config", folder / "plain.json", "--slots", "2", "r",
                                   "--", "touch", folder / "ran"});
    CHECK(plain.status == 125);
    CHECK(has_text(plain.err, "--slots needs fences"));
    CHECK_FALSE(std::filesystem::exists(folder / "ran"));
    CHECK(has_text(outcome_of({"run", "--help"}).out, "--slots K"));
}

TEST_CASE("inspect shows which slots are held, and by whom", "[tool]") {
    cluster nodes(3);
    auto named = nodes.options();
    std::vector<std::unique_ptr<driver>> clients;
    std::vector<lease> leases;
    for (const std::string name : {"ann", "bob"}) {
        named.client_name = name;
        clients.push_back(std::make_unique<driver>(named));
        auto got = clients.back()->acquire("r", {.ttl = 30s, .slots = 5});
        REQUIRE(got.error() == error_code{});
        leases.push_back(std::move(got.value()));
    }
    const auto table = outcome_on(nodes, {"inspect", "r"});
    CHECK(table.status == 0);
    INFO(table.out);
    CHECK(has_text(table.out, "'r' is not held, 2 of 5 slots are held (quorum 2 of 3)"));
    CHECK(has_text(table.out, "SLOT"));
    const auto json = outcome_on(nodes, {"inspect", "--json", "r"});
    CHECK(json.status == 0);
    INFO(json.out);
    CHECK(has_text(json.out, R"("held":false)"));
    CHECK(has_text(json.out, R"("slot_count":5,"slots":[{"slot":)"));
    for (std::size_t i = 0; i < leases.size(); ++i) {
        const std::string number = std::to_string(leases[i].slot());
        const std::string fence = std::to_string(leases[i].fence());
        const std::string who = i == 0 ? "...@ann" : "...@bob";
        CHECK(has_text(table.out, "\n" + number + "     "));
        CHECK(has_text(table.out, who));
        CHECK(has_text(table.out, fence));
        CHECK(has_text(json.out, R"("slot":)" + number + R"(,"owner":")"));
        CHECK(has_text(json.out, who + R"(","fence":)" + fence + R"(,"valid_ms":)"));
        // Never enough to give it back.
        CHECK_FALSE(has_text(json.out, leases[i].owner().to_string()));
    }
}
