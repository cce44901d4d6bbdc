// The help of the command, filled to the width of a terminal.
// SPDX-License-Identifier: MIT
#include "tools/help.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <map>
#include <sstream>
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

namespace {

constexpr std::size_t columns = 80;
constexpr std::size_t text_column = 28;

// The words of `text` in lines that begin at `indent`, the first of them behind `head` if there is
// room.
std::string filled(const std::string& text, std::size_t indent, std::string head = {}) {
    std::string out;
    if (!head.empty() && head.size() + 2 > indent) {
        out = head + "\n";
        head.clear();
    }
    std::string line = std::move(head);
    line.resize(indent, ' ');
    bool is_empty = true;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (!is_empty && line.size() + 1 + word.size() > columns) {
            out += line + "\n";
            line.assign(indent, ' ');
            is_empty = true;
        }
        if (!is_empty) line += ' ';
        line += word;
        is_empty = false;
    }
    return out + line + "\n";
}

std::string filled_paragraphs(const std::string& text) {
    std::string out;
    std::string paragraph;
    std::istringstream lines(text + "\n\n");
    for (std::string line; std::getline(lines, line);) {
        paragraph += line + " ";
        if (!line.empty()) continue;
        if (paragraph != " ") out += "\n" + filled(paragraph, 0);
        paragraph.clear();
    }
    return out;
}

std::string filled_entry(const std::string& head, const std::string& text) {
    return filled(text, text_column, "  " + head);
}

// The long names stand below each other.
std::string filled_entry(const option_outline& option) {
    std::string head = option.names.front().starts_with("--") ? "    " : "";
    for (const auto& name : option.names) head += (&name == &option.names[0] ? "" : ", ") + name;
    return filled_entry(head + (option.value.empty() ? "" : " " + option.value), option.text);
}

std::string filled_options(const std::vector<option_outline>& options) {
    std::string out = "\nOptions:\n";
    for (const auto& option : options) out += filled_entry(option);
    return out;
}

std::string filled_examples(const std::vector<example_outline>& of) {
    std::string out = of.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
    for (const auto& one : of) out += "  " + one.call + "\n" + filled(one.text, 6);
    return out;
}

std::string opening(const command_outline& of) {
    return of.text + ".\n\nUsage: " + of.usage + "\n";
}

std::string whole_page(const outline& of) {
    std::string out = opening(of.whole) + "\nCommands:\n";
    for (const auto& command : of.commands) out += filled_entry(command.name, command.text);
    return out + filled_options(of.whole.options) + filled_examples(of.whole.examples) + filled_paragraphs(of.nodes) +
           filled_paragraphs(of.whole.footer);
}

std::string command_page(const outline& of, const command_outline& command) {
    std::string out = opening(command);
    if (!command.arguments.empty()) out += "\nArguments:\n";
    for (const auto& argument : command.arguments) out += filled_entry(argument.name, argument.text);
    auto options = command.options;
    if (!command.json.empty()) options.push_back({{"--json"}, "", command.json});
    if (!options.empty()) out += filled_options(options);
    std::string others;
    for (const auto& option : of.whole.options) {
        const bool is_shown = option.names.back() == "--json" && !command.json.empty();
        if (!is_shown) others += (others.empty() ? "" : ", ") + option.names.back();
    }
    return out + filled_examples(command.examples) + filled_paragraphs(command.footer) +
           filled_paragraphs("See redlock help for " + others + ", and where the nodes come from.");
}

}  // namespace

std::string help_page(const outline& of, const std::string& command) {
    const auto found = std::find_if(of.commands.begin(), of.commands.end(),
                                    [&](const auto& one) { return one.name == command; });
    return found == of.commands.end() ? whole_page(of) : command_page(of, *found);
}

namespace {

// Text that roff takes as it is. Dashes and quotes are such as can be copied into a shell.
std::string plain(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool begins_line = out.empty() || out.back() == '\n';
        if (begins_line && c == '.') out += "\\&";
        switch (c) {
            case '\\': out += "\\e"; break;
            case '-': out += "\\-"; break;
            case '\'': out += "\\(aq"; break;
            case '^': out += "\\(ha"; break;
            case '~': out += "\\(ti"; break;
            default: out += c;
        }
    }
    return out;
}

// The blank lines of the text part paragraphs.
std::string paragraphs(const std::string& text) {
    std::istringstream lines(text);
    std::string out;
    bool begins = true;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty()) {
            begins = true;
            continue;
        }
        if (begins) out += ".PP\n";
        begins = false;
        out += plain(line) + "\n";
    }
    return out;
}

std::string tagged(const std::string& tag, const std::string& text) {
    return ".TP\n" + tag + "\n" + plain(text) + "\n";
}

std::string option_entry(const option_outline& option) {
    std::string tag;
    for (const auto& name : option.names) {
        tag += (tag.empty() ? "" : ", ") + ("\\fB" + plain(name) + "\\fR");
    }
    if (!option.value.empty()) tag += " \\fI" + plain(option.value) + "\\fR";
    return tagged(tag, option.text);
}

std::string entries(const command_outline& of) {
    std::string out;
    for (const auto& argument : of.arguments) {
        out += tagged("\\fI" + plain(argument.name) + "\\fR", argument.text);
    }
    for (const auto& option : of.options) out += option_entry(option);
    return out;
}

std::string terms(const char* heading, const std::vector<term_outline>& of) {
    std::string out = std::string(".SH ") + heading + "\n";
    for (const auto& one : of) out += tagged("\\fB" + plain(one.name) + "\\fR", one.text);
    return out;
}

std::string all_examples(const outline& of) {
    std::string out = ".SH EXAMPLES\n";
    for (const auto& command : of.commands) {
        for (const auto& one : command.examples) {
            out += tagged("\\fB" + plain(one.call) + "\\fR", one.text);
        }
    }
    return out;
}

std::string see_also(const std::vector<std::string>& pages) {
    std::string out = ".SH SEE ALSO\n";
    for (const auto& page : pages) {
        out += "\\fB" + plain(page.substr(0, page.find('('))) + "\\fR" +
               page.substr(page.find('(')) + (&page == &pages.back() ? "\n" : ",\n");
    }
    return out;
}

}  // namespace

std::string manual_page(const outline& of, const std::string& version) {
    std::string out = ".TH REDLOCK 1 \"\" \"redlock " + plain(version) + "\" \"User Commands\"\n";
    out += ".SH NAME\nredlock \\- " + plain(of.whole.text) + "\n";
    out += ".SH SYNOPSIS\n";
    for (const auto& command : of.commands) out += plain(command.usage) + "\n.br\n";
    out += ".SH DESCRIPTION\n" + paragraphs(of.description + "\n\n" + of.nodes);
    out += ".SH OPTIONS\nThey may stand before or behind the name of a command.\n" +
           entries(of.whole);
    out += ".SH COMMANDS\n";
    for (const auto& command : of.commands) {
        out += ".SS " + plain(command.usage) + "\n" + plain(command.text) + ".\n";
        out += entries(command);
        if (!command.json.empty()) out += option_entry({{"--json"}, "", command.json});
        out += paragraphs(command.footer);
    }
    return out + all_examples(of) + terms("FILES", of.files) + terms("ENVIRONMENT", of.environment) +
           terms("EXIT STATUS", of.statuses) + see_also(of.see_also);
}

}  // namespace redlock::tool
