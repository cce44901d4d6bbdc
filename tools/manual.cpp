// The manual page redlock(1).
// SPDX-License-Identifier: MIT
#include "tools/manual.hpp"

#include <sstream>
#include <vector>

namespace redlock::tool {

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
