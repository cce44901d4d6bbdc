// What a shell needs to complete the command's words.
// SPDX-License-Identifier: MIT
#include "tools/completion.hpp"

#include <algorithm>
#include <cassert>
#include <functional>

namespace redlock::tool {

namespace {

bool takes_file(const option_outline& option) { return option.value == "FILE"; }

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
    std::string out;
    for (const auto& word : words) out += (out.empty() ? "" : between) + word;
    return out;
}

// In single quotes; `also` are escaped, too.
std::string quoted_for_shell(const std::string& text, std::string_view also = "") {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') {
            out += "'\\''";
            continue;
        }
        if (also.find(c) != also.npos) out += '\\';
        out += c;
    }
    return out + "'";
}

std::vector<std::string> names_of(const std::vector<option_outline>& options,
                                  const std::function<bool(const option_outline&)>& which) {
    std::vector<std::string> out;
    for (const auto& option : options) {
        if (which(option)) out.insert(out.end(), option.names.begin(), option.names.end());
    }
    return out;
}

bool is_any(const option_outline&) { return true; }

std::vector<option_outline> all_options(const outline& of) {
    std::vector<option_outline> out = of.whole.options;
    for (const auto& command : of.commands) {
        out.insert(out.end(), command.options.begin(), command.options.end());
    }
    return out;
}

std::vector<std::string> command_names(const outline& of) {
    std::vector<std::string> out;
    for (const auto& command : of.commands) out.push_back(command.name);
    return out;
}

std::vector<std::string> those_that_run(const outline& of) {
    std::vector<std::string> out;
    for (const auto& command : of.commands) {
        if (command.runs_command) out.push_back(command.name);
    }
    return out;
}

std::vector<std::string> choices_of(const command_outline& command) {
    std::vector<std::string> out;
    for (const auto& argument : command.arguments) {
        out.insert(out.end(), argument.choices.begin(), argument.choices.end());
    }
    return out;
}

std::vector<std::string> without_repeats(std::vector<std::string> words) {
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return words;
}

std::string for_bash(const outline& of) {
    const auto options = all_options(of);
    const auto files = without_repeats(names_of(options, takes_file));
    const auto values = without_repeats(names_of(
        options, [](const option_outline& o) { return !o.value.empty() && !takes_file(o); }));
    std::string out =
        "# Completes the words of redlock in bash; written by: redlock completion bash\n"
        "_redlock() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
        "    local command= words= choices= i\n"
        "    COMPREPLY=()\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        case ${COMP_WORDS[i]} in\n"
        "            --)\n"
        "                case $command in\n"
        "                    " + joined(those_that_run(of), "|") + ") ;;\n"
        "                    *) return ;;\n"
        "                esac\n"
        "                if declare -F _command_offset >/dev/null; then\n"
        "                    _command_offset $((i + 1))\n"
        "                elif ((COMP_CWORD == i + 1)); then\n"
        "                    COMPREPLY=($(compgen -c -- \"$word\"))\n"
        "                else\n"
        "                    COMPREPLY=($(compgen -f -- \"$word\"))\n"
        "                fi\n"
        "                return\n"
        "                ;;\n"
        "            " + joined(files, "|") + "|" + joined(values, "|") + ") ((i++)) ;;\n"
        "            " + joined(command_names(of), "|") + ")\n"
        "                if [[ -z $command ]]; then command=${COMP_WORDS[i]}; fi\n"
        "                ;;\n"
        "        esac\n"
        "    done\n"
        "    case $before in\n"
        "        " + joined(files, "|") + ")\n"
        "            compopt -o filenames 2>/dev/null\n"
        "            COMPREPLY=($(compgen -f -- \"$word\"))\n"
        "            return\n"
        "            ;;\n"
        "        " + joined(values, "|") + ") return ;;\n"
        "    esac\n"
        "    case $command in\n"
        "        '') choices='" + joined(command_names(of)) + "' ;;\n";
    for (const auto& command : of.commands) {
        out += "        " + command.name + ")\n";
        out += "            words='" + joined(names_of(command.options, is_any)) + "'\n";
        if (const auto choices = choices_of(command); !choices.empty()) {
            out += "            choices='" + joined(choices) + "'\n";
        }
        out += "            ;;\n";
    }
    out += "    esac\n"
           "    if [[ $word == -* ]]; then\n"
           "        choices=\"$words " + joined(names_of(of.whole.options, is_any)) + "\"\n"
           "    fi\n"
           "    COMPREPLY=($(compgen -W \"$choices\" -- \"$word\"))\n"
           "}\n"
           "complete -F _redlock redlock\n";
    return out;
}

// The specification of one option for _arguments: each of its names excludes all of them, unless it
// may come several times.
void add_zsh_option(std::vector<std::string>& specs, const option_outline& option) {
    const bool may_repeat = option.value == "URI";
    std::string text;
    text += "[" + option.text + "]";
    if (takes_file(option)) text += ":" + option.value + ":_files";
    if (!option.value.empty() && !takes_file(option)) text += ":" + option.value + ": ";
    std::string tail;
    tail += "[";
    for (const char c : option.text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') tail += '\\';
        tail += c;
    }
    tail += text.substr(option.text.size() + 1);
    for (const auto& name : option.names) {
        std::string spec = may_repeat ? "*" : "(" + joined(option.names) + ")";
        specs.push_back(quoted_for_shell(spec.append(name).append(tail)));
    }
}

std::string zsh_arguments(const std::vector<std::string>& specs, const std::string& indent) {
    std::string out = "_arguments -s -S";
    for (const auto& spec : specs) out.append(" \\\n").append(indent).append("    ").append(spec);
    return out + "\n";
}

std::string for_zsh(const outline& of) {
    std::vector<std::string> common;
    for (const auto& option : of.whole.options) add_zsh_option(common, option);
    std::string out =
        "#compdef redlock\n"
        "# Completes the words of redlock in zsh; written by: redlock completion zsh\n"
        "_redlock() {\n"
        "    local curcontext=$curcontext state line\n"
        "    typeset -A opt_args\n"
        "    local mark=${words[(i)--]}\n"
        "    if (( CURRENT > mark )); then\n"
        "        (( ${words[(I)" + joined(those_that_run(of), "|") + "]} )) || return\n"
        "        shift mark words\n"
        "        (( CURRENT -= mark ))\n"
        "        _normal\n"
        "        return\n"
        "    fi\n"
        "    local -a commands=(\n";
    for (const auto& command : of.commands) {
        out += "        " + quoted_for_shell(command.name + ":" + command.text) + "\n";
    }
    auto first = common;
    first.push_back("'1:command:->command'");
    first.push_back("'*::argument:->argument'");
    out += "    )\n    _arguments -C" + zsh_arguments(first, "    ").substr(10) +
           "    case $state in\n"
           "        command) _describe command commands ;;\n"
           "        argument)\n"
           "            case ${line[1]} in\n";
    for (const auto& command : of.commands) {
        std::vector<std::string> specs = common;
        for (const auto& option : command.options) add_zsh_option(specs, option);
        const auto choices = choices_of(command);
        if (!choices.empty()) specs.push_back(quoted_for_shell("1:word:(" + joined(choices) + ")"));
        out += "                " + command.name + ")\n                    " +
               zsh_arguments(specs, "                    ") + "                    ;;\n";
    }
    out += "            esac\n"
           "            ;;\n"
           "    esac\n"
           "}\n"
           "if [[ $funcstack[1] == _redlock ]]; then _redlock \"$@\"; else compdef _redlock redlock; fi\n";
    return out;
}

std::string fish_option(const option_outline& option, const std::string& condition) {
    std::string out = "complete -c redlock";
    if (!condition.empty()) out += " -n '" + condition + "'";
    for (const auto& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (takes_file(option)) out += " -r -F";
    if (!option.value.empty() && !takes_file(option)) out += " -x";
    std::string text;
    for (const char c : option.text) text += c == '\'' || c == '\\' ? std::string("\\") + c
                                                                    : std::string(1, c);
    return out + " -d '" + text + "'\n";
}

std::string for_fish(const outline& of) {
    const std::string none = "not __fish_seen_subcommand_from " + joined(command_names(of));
    std::string out =
        "# Completes the words of redlock in fish; written by: redlock completion fish\n"
        "function __redlock_after_mark\n"
        "    set -l words (commandline -opc)\n"
        "    set -l mark (contains -i -- -- $words); or return 1\n"
        "    set -l rest\n"
        "    if test (count $words) -gt $mark\n"
        "        set rest (string escape -- $words[(math $mark + 1)..-1])\n"
        "    end\n"
        "    complete -C (string join ' ' -- $rest (commandline -ct))\n"
        "end\n"
        "function __redlock_has_mark\n"
        "    contains -- -- (commandline -opc)\n"
        "end\n"
        "complete -c redlock -f\n"
        "complete -c redlock -n '__redlock_has_mark; and __fish_seen_subcommand_from " +
        joined(those_that_run(of)) + "' -a '(__redlock_after_mark)'\n";
    for (const auto& option : of.whole.options) {
        out += fish_option(option, "not __redlock_has_mark");
    }
    for (const auto& command : of.commands) {
        out += "complete -c redlock -n '" + none + "' -a " + command.name + " -d " +
               quoted_for_shell(command.text) + "\n";
        const std::string here =
            "not __redlock_has_mark; and __fish_seen_subcommand_from " + command.name;
        for (const auto& option : command.options) out += fish_option(option, here);
        if (const auto choices = choices_of(command); !choices.empty()) {
            out += "complete -c redlock -n '" + here + "' -a '" + joined(choices) + "'\n";
        }
    }
    return out;
}

}  // namespace

std::vector<std::string> completing_shells() { return {"bash", "zsh", "fish"}; }

std::string completion_script(const outline& of, std::string_view shell) {
    if (shell == "bash") return for_bash(of);
    if (shell == "zsh") return for_zsh(of);
    assert(shell == "fish");
    return for_fish(of);
}

}  // namespace redlock::tool
