// Examples, JSON output, variables, files and exit statuses of the command.
// SPDX-License-Identifier: MIT
#include "tools/guide.hpp"

#include <cassert>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::tool {

namespace {

const std::map<std::string_view, std::vector<example_outline>>& examples_of_commands() {
    static const std::map<std::string_view, std::vector<example_outline>> all{
        {"run",
         {{"redlock run --wait 5s --min-hold 50s nightly-report -- ./report.sh",
           "In the crontab of several machines: one of them runs it, the others end with 120 and "
           "say nothing."},
          {"redlock run --wait 10m deploy -- ./deploy.sh production",
           "Waits for the lock, for ten minutes at most."},
          {"redlock run -w 5 deploy ./deploy.sh production", "The same for 5 s, as with flock(1)."},
          {"redlock run --min-hold 50s collect -- ./collect.sh",
           "Keeps the other machines out for 50 s also where it ends sooner, so that a job of each "
           "minute runs once."}}},
        {"acquire",
         {{"redlock acquire --ttl 50s --token-file token deploy",
           "Holds the lock for 50 s, for the next steps of a script."}}},
        {"extend",
         {{"redlock extend --ttl 50s --token-file token", "Holds it for 50 s from now on."}}},
        {"release",
         {{"redlock release --token-file token", "Gives it back."},
          {"redlock release --force deploy",
           "Takes it from a holder that is gone, after a question."}}},
        {"inspect",
         {{"redlock inspect deploy", "Shows the holder, for how long, and what each node says."}}},
        {"list",
         {{"redlock list orders:", "Shows what is held of all that begins with orders:"}}},
        {"watch",
         {{"redlock watch deploy nightly-report", "Shows each change of holder, until ^C."}}},
        {"doctor",
         {{"redlock doctor --config nodes.json", "Checks the nodes of that file."},
          {"redlock doctor --json", "The same for a program: an object, and the status."}}},
        {"init",
         {{"redlock init --config nodes.json",
           "Lets the nodes vote at once, after a question."}}},
        {"commit",
         {{"redlock commit --config joint.json",
           "Ends the change of the list that the file names, after a question."},
          {"redlock commit --config joint.json --yes --wait 10m",
           "The same from a script, when no program with another list is left."}}},
        {"bench",
         {{"redlock bench --each 1s --workers 16",
           "Measures for three seconds, after a question."}}},
        {"completion", {{"redlock completion bash", "Prints the script for bash."}}},
        {"help",
         {{"redlock help run", "Explains run."},
          {"redlock help --man", "Prints the manual page, for man -l -."}}}};
    return all;
}

std::string json_of(std::string_view command) {
    if (command == "run") {
        return "Write what happens to standard error, an object a line: waiting, granted, each "
               "event of the lock and of the nodes, message, and ended with the status; standard "
               "output is CMD's";
    }
    if (command == "list" || command == "watch" || command == "bench") {
        return "Print JSON, an object a line";
    }
    return command == "completion" || command == "help" ? "" : "Print JSON, one object";
}

std::vector<term_outline> all_variables() {
    return {{"REDLOCK_CONFIG",
             "The configuration file, where neither --node nor --config names nodes."},
            {"REDLOCK_NODES",
             "URIs of the nodes with blanks between, where REDLOCK_CONFIG is not set either."},
            {"XDG_CONFIG_HOME, HOME",
             "Where the configuration file of the user is: see FILES."},
            {"REDLOCK_TOKEN",
             "The token of extend and release, where there is no --token-file."},
            {"REDLOCK_RESOURCE",
             "Set for CMD: what is locked; several resources stand one a line."},
            {"REDLOCK_FENCE",
             "Set for CMD: a number that is larger than that of every earlier holder; 0 without "
             "fencing."},
            {"REDLOCK_OWNER",
             "Set for CMD: the value of the lock's keys, which inspect shows abbreviated. What knows it "
             "can release the lock."},
            {"REDLOCK_SLOT", "Set for CMD with --slots: the slot that is held."},
            {"REDLOCK_NOTE", "Set for CMD with --note: the note of its lock."},
            {"REDLOCK_WATCHDOG_FD, NOTIFY_SOCKET",
             "Set for CMD with --watchdog: where it gives its signs of life."},
            {"REDLOCK_HELD",
             "Set for CMD: by it a redlock run inside CMD finds the lock that is held already."}};
}

std::vector<term_outline> all_files() {
    return {{"$XDG_CONFIG_HOME/redlock/config.json",
             "The configuration of the user; ~/.config/redlock/config.json where "
             "XDG_CONFIG_HOME is not set."},
            {"/etc/redlock/config.json", "The configuration of the machine."}};
}

std::vector<term_outline> all_statuses() {
    return {{"0", "Success; of run, as CMD ended."},
            {"1, 2", "doctor found warnings, or errors."},
            {"120", "Another holder kept a RESOURCE until the wait was over."},
            {"121", "No quorum of nodes."},
            {"122", "The lease was lost, and CMD was stopped."},
            {"123", "The token is none, or its lease is not held any more."},
            {"124", "CMD gave no sign of life, and was stopped."},
            {"125", "redlock itself failed, or was called or configured wrongly."},
            {"126", "CMD can't be executed."},
            {"127", "CMD was not found."},
            {"128+n", "Signal n ended CMD, or redlock while it waited."},
            {"any other", "CMD ended with it."}};
}

}  // namespace

void add_guide(outline& to) {
    to.description =
        "redlock lets programs on many machines hold a lock, which a majority of several "
        "independent Redis or Valkey masters grants, with a lease: when its holder is gone, the "
        "lock is free after at most that time.";
    to.nodes =
        "The nodes are those of --node, else of the file --config, else of the file "
        "REDLOCK_CONFIG, else the URIs in REDLOCK_NODES, else those of "
        "$XDG_CONFIG_HOME/redlock/config.json (by default ~/.config/redlock/config.json), else of "
        "/etc/redlock/config.json.";
    to.whole.examples = {examples_of_commands().at("run").front(),
                         examples_of_commands().at("doctor").front()};
    for (command_outline& command : to.commands) {
        assert(examples_of_commands().contains(command.name));
        command.examples = examples_of_commands().at(command.name);
        command.json = json_of(command.name);
    }
    to.files = all_files();
    to.environment = all_variables();
    to.statuses = all_statuses();
    to.see_also = {"flock(1)", "redis-cli(1)", "redis-server(1)", "crontab(5)"};
}

}  // namespace redlock::tool
