// The manual page redlock(1).
// SPDX-License-Identifier: MIT
#include "tools/manual.hpp"

#include <sstream>

namespace redlock::tool {

namespace {

// Text that roff takes as it is. A dash is one that can be copied into a shell.
std::string plain(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool begins_line = out.empty() || out.back() == '\n';
        if (begins_line && (c == '.' || c == '\'')) out += "\\&";
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
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

}  // namespace

std::string manual_page(const outline& of, const std::string& version) {
    std::string out = ".TH REDLOCK 1 \"\" \"redlock " + plain(version) + "\" \"User Commands\"\n";
    out += ".SH NAME\nredlock \\- " + plain(of.whole.text) + "\n";
    out += ".SH SYNOPSIS\n";
    for (const auto& command : of.commands) out += plain(command.usage) + "\n.br\n";
    out += ".SH OPTIONS\nThey may stand before or behind the name of a command.\n" +
           entries(of.whole) + paragraphs(of.whole.footer);
    out += ".SH COMMANDS\n";
    for (const auto& command : of.commands) {
        out += ".SS " + plain(command.usage) + "\n" + plain(command.text) + ".\n";
        out += entries(command) + paragraphs(command.footer);
    }
    return out;
}

}  // namespace redlock::tool
