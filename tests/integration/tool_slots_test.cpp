// redlock run --slots, and what inspect shows of slots, seen from outside only.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "tool_process.hpp"

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

arguments with_nodes(cluster& nodes, const arguments& rest) {
    arguments all{rest.front(), "--config", nodes.config()};
    all.insert(all.end(), rest.begin() + 1, rest.end());
    return all;
}

struct result_of {
    int status;
    std::string out;
    std::string err;
};

result_of run_to_end(const arguments& words) {
    tool_process running(words);
    const int status = running.wait();
    return {status, running.out(), running.err()};
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("run --slots runs so many at once, each with its slot, and no more", "[tool]") {
    cluster nodes(3);
    std::vector<std::unique_ptr<tool_process>> running;
    std::set<std::string> slots;
    for (int i = 0; i < 3; ++i) {
        running.push_back(std::make_unique<tool_process>(with_nodes(
            nodes, {"run", "--slots", "3", "r", "--", "sh", "-c",
                    "echo $REDLOCK_RESOURCE $REDLOCK_SLOT; exec sleep 60"})));
        REQUIRE(eventually([&] { return running.back()->out().ends_with('\n'); }));
        slots.insert(running.back()->out());
    }
    CHECK(slots == std::set<std::string>{"r 0\n", "r 1\n", "r 2\n"});
    const auto refused = run_to_end(with_nodes(nodes, {"run", "--slots", "3", "r", "--", "true"}));
    CHECK(refused.status == 120);
    // The resource itself is another lock, and has no slot.
    const auto whole = run_to_end(with_nodes(
        nodes, {"run", "r", "--", "sh", "-c", "echo ${REDLOCK_SLOT-none}"}));
    CHECK(whole.status == 0);
    CHECK(whole.out == "none\n");
    tool_process next(with_nodes(
        nodes, {"run", "--json", "--wait", "90s", "--slots", "3", "r", "--", "true"}));
    REQUIRE(eventually([&] { return contains(next.err(), R"("slots":3)"); }));
    CHECK(contains(next.err(), R"("kind":"waiting")"));
    const auto told = run_to_end(with_nodes(
        nodes, {"run", "--json", "--wait", "100ms", "--slots", "3", "r", "--", "true"}));
    CHECK(told.status == 120);
    running.pop_back();  // killed: its slot is free after its ttl, at the latest
    CHECK(next.wait() == 0);
    CHECK(contains(next.err(), R"("kind":"granted")"));
    CHECK(contains(next.err(), R"("slot":)"));
}

TEST_CASE("run --permits holds so many slots at once, or none", "[tool]") {
    cluster nodes(3);
    const auto run = [&](const std::string& permits, const arguments& more,
                         const std::string& line) {
        arguments all{"run", "--slots", "5", "--permits", permits};
        all.insert(all.end(), more.begin(), more.end());
        all.insert(all.end(), {"r", "--", "sh", "-c", line});
        return with_nodes(nodes, all);
    };
    tool_process three(run("3", {"--json"}, "echo $REDLOCK_SLOT; exec sleep 60"));
    REQUIRE(eventually([&] { return three.out().ends_with('\n'); }));
    CHECK(three.out().size() == 6);
    CHECK(contains(three.err(), R"("slots":[)"));
    CHECK(run_to_end(run("3", {}, "true")).status == 120);
    const auto table = run_to_end(with_nodes(nodes, {"inspect", "r"}));
    CHECK(contains(table.out, "3 of 5 slots are held"));
}

TEST_CASE("slots that can't be are refused with the remedy", "[tool]") {
    cluster nodes(1);
    scratch folder;
    const auto refused = [&](const arguments& options, const std::string& why) {
        arguments all{"run"};
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {"r", "--", "touch", folder / "ran"});
        const auto got = run_to_end(with_nodes(nodes, all));
        INFO(got.err);
        CHECK(got.status == 125);
        CHECK(contains(got.err, why));
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
    const auto plain = run_to_end({"run", "--config", folder / "plain.json", "--slots", "2", "r",
                                   "--", "touch", folder / "ran"});
    CHECK(plain.status == 125);
    CHECK(contains(plain.err, "--slots needs fences"));
    CHECK_FALSE(std::filesystem::exists(folder / "ran"));
    CHECK(contains(run_to_end({"run", "--help"}).out, "--slots K"));
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
    const auto table = run_to_end(with_nodes(nodes, {"inspect", "r"}));
    CHECK(table.status == 0);
    INFO(table.out);
    CHECK(contains(table.out, "'r' is not held, 2 of 5 slots are held (quorum 2 of 3)"));
    CHECK(contains(table.out, "SLOT"));
    const auto json = run_to_end(with_nodes(nodes, {"inspect", "--json", "r"}));
    CHECK(json.status == 0);
    INFO(json.out);
    CHECK(contains(json.out, R"("held":false)"));
    CHECK(contains(json.out, R"("slot_count":5,"slots":[{"slot":)"));
    for (std::size_t i = 0; i < leases.size(); ++i) {
        const std::string number = std::to_string(leases[i].slot());
        const std::string fence = std::to_string(leases[i].fence());
        const std::string who = i == 0 ? "...@ann" : "...@bob";
        CHECK(contains(table.out, "\n" + number + "     "));
        CHECK(contains(table.out, who));
        CHECK(contains(table.out, fence));
        CHECK(contains(json.out, R"("slot":)" + number + R"(,"owner":")"));
        CHECK(contains(json.out, who + R"(","fence":)" + fence + R"(,"valid_ms":)"));
        // Never enough to give it back.
        CHECK_FALSE(contains(json.out, leases[i].owner().to_string()));
    }
}
