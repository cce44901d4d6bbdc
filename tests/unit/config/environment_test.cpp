// Where a configuration is looked for, and in which order; knows nothing of how one is read.
// SPDX-License-Identifier: MIT
#include "config/environment.hpp"

#include <redlock/error.hpp>

#include "tests/support/catch.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

using namespace redlock;

namespace {

// A home and a folder of the system, and none of the variables; as before with its end.
class surroundings {
public:
    surroundings() {
        std::string pattern = (std::filesystem::temp_directory_path() / "redlock-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
        root_ = pattern;
        for (const char* name : {"HOME", "XDG_CONFIG_HOME", "REDLOCK_CONFIG", "REDLOCK_NODES"}) {
            const char* const value = std::getenv(name);
            if (value != nullptr) before_[name] = value;
            ::unsetenv(name);
        }
        set("HOME", root_ / "home");
    }
    ~surroundings() {
        for (const char* name : {"HOME", "XDG_CONFIG_HOME", "REDLOCK_CONFIG", "REDLOCK_NODES"}) {
            ::unsetenv(name);
        }
        for (const auto& [name, value] : before_) set(name.c_str(), value);
        std::filesystem::remove_all(root_);
    }

    void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
    std::string operator/(const std::string& name) const { return (root_ / name).string(); }
    // A configuration.
    std::string write(const std::string& name) const {
        const std::filesystem::path file = root_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << R"({"nodes": ["node"]})";
        return file.string();
    }
    result<configuration, config_error> find() const { return config::look_up(root_ / "etc/c.json"); }
    // What was read, or the reasons why nothing was.
    std::string found() const {
        const auto read = find();
        return read ? read->source : "refused: " + read.error().message();
    }

private:
    std::filesystem::path root_;
    std::map<std::string, std::string> before_;
};

bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("each place is looked at before the next") {
    surroundings here;
    const std::string system = here.write("etc/c.json");
    CHECK(here.found() == system);
    const std::string home = here.write("home/.config/redlock/config.json");
    CHECK(here.found() == home);
    const std::string other = here.write("xdg/redlock/config.json");
    here.set("XDG_CONFIG_HOME", here / "xdg");
    CHECK(here.found() == other);
    here.set("REDLOCK_NODES", "a");
    CHECK(here.found() == "REDLOCK_NODES");
    here.set("REDLOCK_CONFIG", here.write("named.json"));
    CHECK(here.found() == "REDLOCK_CONFIG=" + (here / "named.json"));
}

TEST_CASE("an empty variable, and a relative folder of the user, count as not set") {
    surroundings here;
    const std::string home = here.write("home/.config/redlock/config.json");
    for (const char* name : {"REDLOCK_CONFIG", "XDG_CONFIG_HOME"}) here.set(name, "");
    here.set("REDLOCK_NODES", " \t\n");
    CHECK(here.found() == home);
    here.set("XDG_CONFIG_HOME", "xdg");
    CHECK(here.found() == home);
}

TEST_CASE("the variable's nodes have blanks between them") {
    surroundings here;
    here.set("REDLOCK_NODES", "  a:7001\tredis://:pw@b:7002\n[::1]:7003 ");
    const auto read = here.find();
    REQUIRE(read.has_value());
    REQUIRE(read->client.nodes.size() == 3);
    CHECK(read->client.nodes[0].host == "a");
    CHECK(read->client.nodes[1].password == "pw");
    CHECK(read->client.nodes[2].port == 7003);
    const auto options = options_from_environment();
    REQUIRE(options.has_value());
    CHECK(options->nodes.size() == 3);
}

TEST_CASE("each bad node of the variable is named by its number, and by no pointer") {
    surroundings here;
    here.set("REDLOCK_NODES", "a x:99999 a,b redis://u:hunter2@");
    CHECK(here.found() ==
          "refused: REDLOCK_NODES: node 2: has a port that is not 1 to 65535; node 3: names several "
          "nodes; name one alone; node 4: names no host");
    here.set("REDLOCK_NODES", "a redis://b?name=%0a a");
    CHECK(here.found() ==
          "refused: REDLOCK_NODES: node 2: name: must be at most 255 bytes without control "
          "characters; node 3: is the same server as the earlier node a:6379; one server has one "
          "vote, so name each once");
}

TEST_CASE("where nothing is found the message names every place") {
    surroundings here;
    const std::string why = here.found();
    CHECK(says(why, "refused: no nodes are known"));
    for (const std::string& place : {std::string("REDLOCK_CONFIG"), std::string("REDLOCK_NODES"),
                                     here / "home/.config/redlock/config.json",
                                     here / "etc/c.json"}) {
        CHECK(says(why, place));
    }
    ::unsetenv("HOME");
    CHECK(says(here.found(), "$HOME/.config/redlock/config.json"));
    CHECK(here.find().error().code() == errc::config_invalid);
}

TEST_CASE("a place that is there and can't be read is named, and not passed over") {
    surroundings here;
    here.write("etc/c.json");
    here.set("REDLOCK_CONFIG", here / "absent");
    CHECK(here.found() == "refused: REDLOCK_CONFIG=" + (here / "absent") +
                              ": can't be read: No such file or directory");
    ::unsetenv("REDLOCK_CONFIG");
    const std::string home = here / "home/.config/redlock/config.json";
    std::filesystem::create_directories(home);
    CHECK(here.found() == "refused: " + home + ": can't be read: Is a directory");
    std::filesystem::remove(home);
    std::filesystem::remove(here / "etc/c.json");
    std::filesystem::create_symlink("c.json", here / "etc/c.json");
    CHECK(says(here.found(), "/etc/c.json: can't be read: Too many levels of symbolic links"));
}

TEST_CASE("a file that this user may not read is named; another user's home is passed over") {
    if (::geteuid() != 0) return;  // only root can become somebody else
    surroundings here;
    const std::string system = here.write("etc/c.json");
    here.write("home/.config/redlock/config.json");
    ::chmod((here / "").c_str(), 0755);
    ::chmod((here / "home").c_str(), 0700);
    const auto found_by_nobody = [&] {
        REQUIRE(::seteuid(65534) == 0);
        const std::string found = here.found();
        REQUIRE(::seteuid(0) == 0);
        return found;
    };
    CHECK(found_by_nobody() == system);
    ::chmod(system.c_str(), 0600);
    CHECK(found_by_nobody() == "refused: " + system + ": can't be read: Permission denied");
    ::chmod((here / "etc").c_str(), 0700);
    CHECK(found_by_nobody() == "refused: " + system + ": can't be read: Permission denied");
}
