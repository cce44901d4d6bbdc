// What a refusal for want of a right is said to lack, in the words of each kind of server.
// SPDX-License-Identifier: MIT
#include "wire/failure.hpp"

#include "support/catch.hpp"

#include <string>

using namespace redlock;

TEST_CASE("a refusal names the command, the key pattern or the channel pattern", "[rights]") {
    struct refusal {
        const char* words;
        const char* command;
        const char* missing;
    };
    const auto r = GENERATE(
        refusal{"NOPERM this user has no permissions to run the 'get' command", "", "get"},
        refusal{"NOPERM User ann has no permissions to run the 'config|get' command", "",
                "config|get"},
        refusal{"NOPERM this user has no permissions to run the 'script' command or its subcommand",
                "script|load", "script|load"},
        refusal{"NOPERM this user has no permissions to run the 'script' command or its subcommand",
                "", "script"},
        refusal{"ERR The user executing the script can't run this command or subcommand", "zadd",
                "zadd"},
        refusal{"ERR The user executing the script can't run this command or subcommand", "", ""},
        refusal{"NOPERM this user has no permissions to access one of the keys used as arguments",
                "eval", "~app:*"},
        refusal{"NOPERM No permissions to access a key", "", "~app:*"},
        refusal{"NOPERM ACL failure in script: User channel has no permissions to access the "
                "'app:channel' key",
                "get", "~app:*"},
        refusal{"ERR The user executing the script can't access at least one of the keys mentioned "
                "in the command arguments",
                "set", "~app:*"},
        refusal{"NOPERM this user has no permissions to access one of the channels used as "
                "arguments",
                "subscribe", "&app:redlock:wake:*"},
        refusal{"NOPERM No permissions to access a channel", "", "&app:redlock:wake:*"},
        refusal{"ERR The user executing the script can't publish to the channel mentioned in the "
                "command",
                "publish", "&app:redlock:wake:*"},
        refusal{"SELECT: NOPERM No permissions to access database", "select", "db=N"});
    INFO(r.words);
    CHECK(wire::is_forbidden(r.words));
    CHECK(wire::missing_right(r.words, "app:", r.command) == r.missing);
}

TEST_CASE("what is no refusal of a right is none", "[rights]") {
    CHECK_FALSE(wire::is_forbidden("NOREPLICAS Not enough good replicas to write."));
    CHECK_FALSE(wire::is_forbidden("WRONGTYPE Operation against a key"));
}

TEST_CASE("the remedy is what ACL SETUSER takes, or another prefix", "[rights]") {
    CHECK(wire::remedy_for_missing({"get", "script|load"}, "") ==
          "give this user +get +script|load");
    CHECK(wire::remedy_for_missing({"db=N"}, "") == "give this user db=N");
    CHECK(wire::remedy_for_missing({"~*"}, "").starts_with("give this user ~*, or "));
    CHECK(wire::remedy_for_missing({"~app:*", "&app:redlock:wake:*"}, "app:").find("key_prefix") !=
          std::string::npos);
    CHECK(wire::remedy_for("NOPERM no", "") ==
          "give this user the rights that docs/nodes.md lists");
}
