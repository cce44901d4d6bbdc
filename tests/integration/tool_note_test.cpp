// redlock run --note and acquire --note, and where the note is shown, seen from outside only.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "tool_call.hpp"

#include <signal.h>

#include <cstddef>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

bool shows(const tool_outcome& call, const std::string& part) {
    return has_text(call.out + call.err, part);
}

}  // namespace

TEST_CASE("the note of a run is shown wherever its holder is", "[tool]") {
    cluster nodes(3);
    tool_process holder(call_on(nodes, {"run", "--note", "import of \"2026\"", "r", "--", "sh",
                                        "-c", "echo $REDLOCK_NOTE; exec sleep 60"}));
    REQUIRE(eventually([&] { return holder.out() == "import of \"2026\"\n"; }));
    const std::string in_json = "\"note\":\"import of \\\"2026\\\"\"";
    const std::string in_text = "(\"import of \"2026\"\")";
    CHECK(shows(outcome_on(nodes, {"inspect", "r"}), in_text));
    CHECK(shows(outcome_on(nodes, {"inspect", "--json", "r"}), in_json));
    CHECK(shows(outcome_on(nodes, {"list"}), in_text));
    CHECK(shows(outcome_on(nodes, {"list", "--json"}), in_json));
    const auto refused = outcome_on(nodes, {"run", "--verbose", "r", "--", "true"});
    CHECK(refused.status == 120);
    CHECK(shows(refused, ", since "));
    CHECK(shows(refused, "note \"import of \"2026\"\""));
    tool_process watching(call_on(nodes, {"watch", "--json", "r"}));
    CHECK(eventually([&] { return has_text(watching.out(), in_json); }));
    holder.send(SIGTERM);
    holder.wait();
    CHECK_FALSE(shows(outcome_on(nodes, {"inspect", "--json", "r"}), "note"));
    CHECK(outcome_on(nodes, {"run", "r", "--", "sh", "-c", "echo ${REDLOCK_NOTE-none}"}).out ==
          "none\n");
}

TEST_CASE("a note stays with a token, and is escaped where another program wrote it", "[tool]") {
    cluster nodes(3);
    const std::string token =
        outcome_on(nodes, {"acquire", "--ttl", "20s", "--note", "step 1", "r"}).out;
    REQUIRE_FALSE(token.empty());
    for (std::size_t i = 0; i < 3; ++i) {
        std::string value = nodes.ask(i).get("r").value();
        const std::string noted = "#note=step 1.";
        REQUIRE(value.ends_with(noted));
        value.replace(value.size() - noted.size(), noted.size(), "#note=\x1b[2Jstep 1.");
        nodes.ask(i).set("r", value);
    }
    const auto seen = outcome_on(nodes, {"inspect", "r"});
    CHECK(shows(seen, "\\x1b[2Jstep 1"));
    CHECK_FALSE(shows(seen, "\x1b"));
    CHECK(outcome_on(nodes, {"release", "--force", "--yes", "r"}).status == 0);
    CHECK(outcome_on(nodes, {"run", "--note", "two\nlines", "s", "--", "true"}).status == 125);
}
