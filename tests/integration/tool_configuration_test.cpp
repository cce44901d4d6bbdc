// Where the command finds its nodes, and what it says where it finds none; knows no lock.
// SPDX-License-Identifier: MIT
#include "../support/catch.hpp"
#include "support/cluster.hpp"
#include "tool_call.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

using namespace redlock::testing;

namespace {

using words = std::vector<std::string>;

// The command in an environment of these variables alone.
tool_outcome in_environment(words variables, const words& arguments) {
    variables.insert(variables.begin(), "-i");
    variables.emplace_back(std::getenv("REDLOCK_TOOL"));
    variables.insert(variables.end(), arguments.begin(), arguments.end());
    tool_process running(tool_process::program{"/usr/bin/env"}, variables);
    return outcome_of(running);
}

std::string list_of(cluster& nodes) {
    std::string out;
    for (std::size_t i = 0; i < nodes.size(); ++i) out += (i == 0 ? "" : " ") + nodes[i].uri();
    return out;
}

void check_source(const words& variables, const words& arguments, const std::string& source) {
    words doctor = arguments;
    doctor.emplace_back("doctor");
    const auto text = in_environment(variables, doctor);
    INFO(text.out << text.err);
    CHECK(text.status == 1);  // these nodes forget at a restart
    CHECK(text.out.starts_with("configuration: " + source + "\n"));
    CHECK(text.err.empty());
    doctor.emplace_back("--json");
    CHECK(has_text(in_environment(variables, doctor).out, "\"configuration\":\"" + source + "\""));
    words inspect = arguments;
    inspect.insert(inspect.end(), {"--verbose", "inspect", "r"});
    const auto verbose = in_environment(variables, inspect);
    CHECK(verbose.status == 0);
    CHECK(has_text(verbose.err, "redlock: configuration: " + source + "\n"));
}

}  // namespace

TEST_CASE("the command takes its nodes from the first place that has them, and says which",
          "[tool]") {
    cluster nodes(3);
    const scratch home;
    const std::string file = home / ".config/redlock/config.json";
    std::filesystem::create_directories(home / ".config/redlock");
    std::filesystem::copy_file(nodes.config(), file);
    words variables{"HOME=" + home / ""};
    check_source(variables, {}, file);
    std::filesystem::rename(home / ".config", home / "xdg");
    variables.push_back("XDG_CONFIG_HOME=" + home / "xdg");
    check_source(variables, {}, home / "xdg/redlock/config.json");
    variables.push_back("REDLOCK_NODES=" + list_of(nodes));
    check_source(variables, {}, "REDLOCK_NODES");
    variables.push_back("REDLOCK_CONFIG=" + nodes.config());
    check_source(variables, {}, "REDLOCK_CONFIG=" + nodes.config());
    check_source(variables, {"--config", nodes.config()}, nodes.config());
    words options;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        options.insert(options.end(), {"--node", "127.0.0.1:" + std::to_string(nodes[i].port())});
    }
    check_source(variables, options, "--node");
}

TEST_CASE("where no nodes are known the command names the six places", "[tool]") {
    const auto got = in_environment({"HOME=/nowhere"}, {"inspect", "r"});
    CHECK(got.status == 125);
    for (const char* place :
         {"--node, once per node", "--config FILE", "REDLOCK_CONFIG", "REDLOCK_NODES",
          "/nowhere/.config/redlock/config.json", "/etc/redlock/config.json"}) {
        INFO(place);
        CHECK(has_text(got.err, place));
    }
}

TEST_CASE("each bad node is named by the option or the variable that has it", "[tool]") {
    const auto options =
        in_environment({}, {"--node", "x:99999", "--node", "good", "--node", "a,b", "--node",
                            "u:secret@h", "inspect", "r"});
    CHECK(options.status == 125);
    CHECK(options.err ==
          "redlock: --node 'x:99999': has a port that is not 1 to 65535\n"
          "redlock: --node 'a,b': names several nodes: give --node once per node\n"
          "redlock: --node '***@h': has more than host and port; write a URI that begins with "
          "redis://, rediss:// or unix:///\n");
    const auto twice = in_environment({}, {"--node", "a", "--node", "a", "inspect", "r"});
    CHECK(twice.err.starts_with("redlock: --node 'a': is the same server as the earlier node a"));
    const auto variable = in_environment({"REDLOCK_NODES=good x:99999"}, {"inspect", "r"});
    CHECK(variable.err == "redlock: REDLOCK_NODES: node 2: has a port that is not 1 to 65535\n");
    const auto file = in_environment({"REDLOCK_CONFIG=/no/such"}, {"inspect", "r"});
    CHECK(file.err == "redlock: REDLOCK_CONFIG=/no/such: can't be read: No such file or directory\n");
}

TEST_CASE("the help of redlock, and its manual, say where the nodes come from", "[tool]") {
    const std::string help = in_environment({}, {"help"}).out;
    for (const char* place : {"--node", "--config", "REDLOCK_CONFIG", "REDLOCK_NODES",
                              "$XDG_CONFIG_HOME/redlock/config.json",
                              "~/.config/redlock/config.json", "/etc/redlock/config.json"}) {
        INFO(place);
        CHECK(has_text(help.substr(help.find("The nodes are those of")), place));
    }
    CHECK(has_text(in_environment({}, {"help", "--man"}).out, "/etc/redlock/config.json"));
}
