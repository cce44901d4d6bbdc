// redlock run --note and acquire --note, and where the note is shown, seen from outside only.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "support/run.hpp"
#include "tool_process.hpp"

#include <signal.h>

#include <cstddef>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::testing;

namespace {

using note_words = std::vector<std::string>;

note_words on_nodes(cluster& nodes, const note_words& rest) {
    note_words all{rest.front(), "--config", nodes.config()};
    all.insert(all.end(), rest.begin() + 1, rest.end());
    return all;
}

struct note_result {
    int status;
    std::string out;
    std::string err;

    bool shows(const std::string& part) const { return (out + err).find(part) != std::string::npos; }
};

note_result finish(const note_words& words) {
    tool_process running(words);
    const int status = running.wait();
    return {status, running.out(), running.err()};
}

}  // namespace

TEST_CASE("the note of a run is shown wherever its holder is", "[tool]") {
    cluster nodes(3);
    tool_process holder(on_nodes(nodes, {"run", "--note", "import of \"2026\"", "r", "--", "sh", "-c",
                                         "echo $REDLOCK_NOTE; exec sleep 60"}));
    REQUIRE(eventually([&] { return holder.out() == "import of \"2026\"\n"; }));
    const std::string in_json = "\"note\":\"import of \\\"2026\\\"\"";
    const std::string in_text = "(\"import of \"2026\"\")";
    CHECK(finish(on_nodes(nodes, {"inspect", "r"})).shows(in_text));
    CHECK(finish(on_nodes(nodes, {"inspect", "--json", "r"})).shows(in_json));
    CHECK(finish(on_nodes(nodes, {"list"})).shows(in_text));
    CHECK(finish(on_nodes(nodes, {"list", "--json"})).shows(in_json));
    const auto refused = finish(on_nodes(nodes, {"run", "--verbose", "r", "--", "true"}));
    CHECK(refused.status == 120);
    CHECK(refused.shows(", since "));
    CHECK(refused.shows("note \"import of \"2026\"\""));
    tool_process watching(on_nodes(nodes, {"watch", "--json", "r"}));
    CHECK(eventually([&] { return watching.out().find(in_json) != std::string::npos; }));
    holder.send(SIGTERM);
    holder.wait();
    CHECK_FALSE(finish(on_nodes(nodes, {"inspect", "--json", "r"})).shows("note"));
    CHECK(finish(on_nodes(nodes, {"run", "r", "--", "sh", "-c", "echo ${REDLOCK_NOTE-none}"})).out ==
          "none\n");
}

TEST_CASE("a note stays with a token, and is escaped where another program wrote it", "[tool]") {
    cluster nodes(3);
    const std::string token =
        finish(on_nodes(nodes, {"acquire", "--ttl", "20s", "--note", "step 1", "r"})).out;
    REQUIRE_FALSE(token.empty());
    for (std::size_t i = 0; i < 3; ++i) {
        std::string value = nodes.ask(i).get("r").value();
        const std::string noted = "#note=step 1.";
        REQUIRE(value.ends_with(noted));
        value.replace(value.size() - noted.size(), noted.size(), "#note=\x1b[2Jstep 1.");
        nodes.ask(i).set("r", value);
    }
    const auto seen = finish(on_nodes(nodes, {"inspect", "r"}));
    CHECK(seen.shows("\\x1b[2Jstep 1"));
    CHECK_FALSE(seen.shows("\x1b"));
    CHECK(finish(on_nodes(nodes, {"release", "--force", "--yes", "r"})).status == 0);
    CHECK(finish(on_nodes(nodes, {"run", "--note", "two\nlines", "s", "--", "true"})).status == 125);
}
