// The help of the command, filled to the width of a terminal.
// SPDX-License-Identifier: MIT
#include "tools/help.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <vector>

namespace redlock::tool {

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

}  // namespace redlock::tool
