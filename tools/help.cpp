// The help of the command and of each of its parts, and its manual page.
// SPDX-License-Identifier: MIT
#include "tools/help.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

namespace redlock::tool {

namespace {

// An example, a variable, a file or an exit status, and what it does or means.
struct entry {
    std::string name;
    std::string text;
};

const std::map<std::string_view, std::vector<entry>>& examples_of_commands() {
    static const std::map<std::string_view, std::vector<entry>> all{
        {"run",
         {{"redlock run --min-hold 50s nightly-report -- ./report.sh",
           "In the crontab of several machines: one of them runs it, the others end with 120 and "
           "say nothing."},
          {"redlock run --wait 10m deploy -- ./deploy.sh production",
           "Waits for the lock, for ten minutes at most."},
          {"redlock run -w 5 deploy ./deploy.sh production", "The same for 5 s, as with flock(1)."},
          {"redlock run --min-hold 50s collect -- ./collect.sh",
           "Keeps the other machines out for 50 s also where it ends sooner, so that a job of each "
           "minute runs once."},
          {"redlock run --record 30d nightly -- ./nightly.sh",
           "Notes how the run ends, for redlock last."}}},
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
        {"last",
         {{"redlock last nightly", "Shows when the last runs were, where, and how they ended."}}},
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

std::string about_json(std::string_view command) {
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

std::vector<entry> all_variables() {
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
             "Set for CMD: how the value of the lock's keys begins; inspect abbreviates it. "
             "What knows it can release the lock."},
            {"REDLOCK_SLOT",
             "Set for CMD with --slots: the slot that is held; several stand one a line."},
            {"REDLOCK_NOTE", "Set for CMD with --note: the note of its lock."},
            {"REDLOCK_WATCHDOG_FD",
             "Set for CMD with --watchdog: the descriptor on which it gives its signs of life."},
            {"REDLOCK_HELD",
             "Set for CMD: by it a redlock run inside CMD finds the lock that is held already."}};
}

std::vector<entry> all_files() {
    return {{"$XDG_CONFIG_HOME/redlock/config.json",
             "The configuration of the user; ~/.config/redlock/config.json where "
             "XDG_CONFIG_HOME is not set."},
            {"/etc/redlock/config.json", "The configuration of the machine."},
            {"PREFIX/share/redlock/config/output.schema.json",
             "What each command prints with --json: a JSON Schema. Of a package PREFIX is /usr."}};
}

std::vector<entry> all_statuses() {
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

constexpr const char* description =
    "redlock lets programs on many machines hold a lock, which a majority of several "
    "independent Redis or Valkey masters grants. It has a lease: when its holder is gone, the "
    "lock is free after at most that time.";

constexpr const char* about_nodes =
    "The nodes are those of --node, else of the file --config, else of the file "
    "REDLOCK_CONFIG, else the URIs in REDLOCK_NODES, else those of "
    "$XDG_CONFIG_HOME/redlock/config.json (by default ~/.config/redlock/config.json), else of "
    "/etc/redlock/config.json.";

// The words of a call. CLI11 does not see CMD.
std::string usage_of(const CLI::App& command) {
    const std::string name = "redlock " + command.get_name();
    const std::string usage = CLI::Formatter().make_usage(&command, name);
    const auto begin = usage.find(name);
    return usage.substr(begin, usage.find_last_not_of('\n') + 1 - begin) +
           (command.get_name() == "run" ? " -- CMD [ARGS...]" : "");
}

bool is_argument(const CLI::Option& option) {
    return option.get_positional() && option.get_lnames().empty();
}

// Those of `which` that are arguments, or options.
std::vector<const CLI::Option*> options_of(const CLI::App& of, bool arguments) {
    std::vector<const CLI::Option*> out;
    for (const CLI::Option* one : of.get_options()) {
        if (is_argument(*one) == arguments) out.push_back(one);
    }
    return out;
}

std::string argument_name(const CLI::Option& argument) {
    return argument.get_name(true) + (argument.get_items_expected_max() > 1 ? "..." : "");
}

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
std::string filled_option(const CLI::Option& option) {
    const auto names = names_of(option);
    const std::string value = value_of(option);
    std::string head = names.front().starts_with("--") ? "    " : "";
    for (const auto& name : names) head += (&name == &names[0] ? "" : ", ") + name;
    return filled_entry(head + (value.empty() ? "" : " " + value), option.get_description());
}

std::string filled_options(const CLI::App& of, const std::string& json) {
    std::string out;
    for (const auto* option : options_of(of, false)) out += filled_option(*option);
    if (!json.empty()) out += filled_entry("    --json", json);
    return out.empty() ? "" : "\nOptions:\n" + out;
}

std::string filled_examples(const std::vector<entry>& of) {
    std::string out = of.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
    for (const auto& one : of) out += "  " + one.name + "\n" + filled(one.text, 6);
    return out;
}

std::string opening(const CLI::App& of, const std::string& usage) {
    return of.get_description() + ".\n\nUsage: " + usage + "\n";
}

std::string whole_page(const CLI::App& whole) {
    std::string out = opening(whole, "redlock [OPTIONS] COMMAND ...") + "\nCommands:\n";
    for (const CLI::App* command : whole.get_subcommands({})) {
        out += filled_entry(command->get_name(), command->get_description());
    }
    const auto& examples = examples_of_commands();
    return out + filled_options(whole, "") +
           filled_examples({examples.at("run").front(), examples.at("doctor").front()}) +
           filled_paragraphs(about_nodes) + filled_paragraphs(whole.get_footer());
}

std::string command_page(const CLI::App& whole, const CLI::App& command) {
    std::string out = opening(command, usage_of(command));
    const auto arguments = options_of(command, true);
    if (!arguments.empty()) out += "\nArguments:\n";
    for (const auto* argument : arguments) {
        out += filled_entry(argument_name(*argument), argument->get_description());
    }
    const std::string json = about_json(command.get_name());
    std::string others;
    for (const auto* option : whole.get_options()) {
        const std::string name = names_of(*option).back();
        const bool is_shown = name == "--json" && !json.empty();
        if (!is_shown) others += (others.empty() ? "" : ", ") + name;
    }
    return out + filled_options(command, json) +
           filled_examples(examples_of_commands().at(command.get_name())) +
           filled_paragraphs(command.get_footer()) +
           filled_paragraphs("See redlock help for " + others + ", and where the nodes come from.");
}

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

std::string bold(const std::string& text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + plain(text) + "\\fR"; }

std::string entries(const CLI::App& of) {
    std::string out;
    for (const auto* argument : options_of(of, true)) {
        out += tagged(italic(argument_name(*argument)), argument->get_description());
    }
    for (const auto* option : options_of(of, false)) {
        std::string tag;
        for (const auto& name : names_of(*option)) tag += (tag.empty() ? "" : ", ") + bold(name);
        if (const auto value = value_of(*option); !value.empty()) tag += " " + italic(value);
        out += tagged(tag, option->get_description());
    }
    return out;
}

std::string section(const char* heading, const std::vector<entry>& of) {
    std::string out = std::string(".SH ") + heading + "\n";
    for (const auto& one : of) out += tagged(bold(one.name), one.text);
    return out;
}

}  // namespace

const CLI::App* find_command(const CLI::App& whole, const std::string& name) {
    const auto all = whole.get_subcommands({});
    const auto found = std::find_if(all.begin(), all.end(), [&](const CLI::App* one) {
        return one->get_name() == name;
    });
    return found == all.end() ? nullptr : *found;
}

std::vector<std::string> names_of(const CLI::Option& option) {
    std::vector<std::string> out;
    for (const auto& name : option.get_snames()) out.push_back("-" + name);
    for (const auto& name : option.get_lnames()) out.push_back("--" + name);
    return out;
}

std::string value_of(const CLI::Option& option) {
    if (option.get_items_expected_max() == 0) return {};
    const std::string type = option.get_type_name();
    return type.substr(0, type.find(':'));  // behind it what CLI11 checks
}

std::string help_page(const CLI::App& whole, const std::string& command) {
    const auto* const one = find_command(whole, command);
    return one == nullptr ? whole_page(whole) : command_page(whole, *one);
}

std::string manual_page(const CLI::App& whole, const std::string& version) {
    const auto commands = whole.get_subcommands({});
    std::string out = ".TH REDLOCK 1 \"\" \"redlock " + plain(version) + "\" \"User Commands\"\n";
    out += ".SH NAME\nredlock \\- " + plain(whole.get_description()) + "\n";
    out += ".SH SYNOPSIS\n";
    for (const auto* command : commands) out += plain(usage_of(*command)) + "\n.br\n";
    out += ".SH DESCRIPTION\n" + paragraphs(std::string(description) + "\n\n" + about_nodes);
    out += ".SH OPTIONS\nThey may stand before or behind the name of a command.\n" + entries(whole);
    out += ".SH COMMANDS\n";
    std::vector<entry> examples;
    for (const auto* command : commands) {
        const std::string json = about_json(command->get_name());
        out += ".SS " + plain(usage_of(*command)) + "\n" + plain(command->get_description()) +
               ".\n" + entries(*command);
        if (!json.empty()) out += tagged(bold("--json"), json);
        out += paragraphs(command->get_footer());
        const auto& own = examples_of_commands().at(command->get_name());
        examples.insert(examples.end(), own.begin(), own.end());
    }
    return out + section("EXAMPLES", examples) + section("FILES", all_files()) +
           section("ENVIRONMENT", all_variables()) + section("EXIT STATUS", all_statuses()) +
           ".SH SEE ALSO\n\\fBflock\\fR(1),\n\\fBredis\\-cli\\fR(1),\n"
           "\\fBredis\\-server\\fR(1),\n\\fBcrontab\\fR(5)\n";
}

}  // namespace redlock::tool
