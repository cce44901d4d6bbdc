// The scripts by which shells complete the command's words.
// SPDX-License-Identifier: MIT
#include "tools/completion.hpp"

#include <cassert>

namespace redlock::tool {

namespace {

// Bash parts words at ":" and "=", too: those that no blank separates are put together.
constexpr const char* for_bash =
    R"shell(# Completes the words of redlock in bash; written by: redlock completion bash
_redlock() {
    local rest=$COMP_LINE word=${COMP_WORDS[COMP_CWORD]} one i candidate
    local -a words=() starts=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        one=${COMP_WORDS[i]}
        if [[ $i == 0 || -z $one || ${rest%%"$one"*} == *[[:blank:]]* ]]; then
            words+=("$one") starts+=("$i")
        else
            words[-1]+=$one
        fi
        rest=${rest#*"$one"}
    done
    COMPREPLY=()
    while IFS= read -r candidate; do
        case $candidate in
            :files*)
                compopt -o filenames 2>/dev/null
                while IFS= read -r one; do COMPREPLY+=("$one"); done < <(compgen -f -- "$word")
                ;;
            :command*)
                i=${starts[${candidate#:command }]}
                if declare -F _command_offset >/dev/null; then
                    _command_offset "$i"
                else
                    [[ $i == "$COMP_CWORD" ]] && one=-c || one=-f
                    while IFS= read -r i; do COMPREPLY+=("$i"); done \
                        < <(compgen "$one" -- "$word")
                fi
                ;;
            *) COMPREPLY+=("${candidate%%$'\t'*}") ;;
        esac
    done < <("${words[0]/#\~\//"$HOME/"}" __complete "${words[@]:1}" 2>/dev/null)
}
complete -F _redlock redlock
)shell";

constexpr const char* for_zsh =
    R"shell(#compdef redlock
# Completes the words of redlock in zsh; written by: redlock completion zsh
_redlock() {
    local candidate
    local -a found
    for candidate in ${(f)"$(${words[1]/#\~\//$HOME/} __complete "${(@Q)words[2,CURRENT]}" \
                             2>/dev/null)"}; do
        case $candidate in
            (:files*)
                compset -P ${(b)${candidate#:files }}
                _files
                return
                ;;
            (:command*)
                shift ${candidate#:command } words
                (( CURRENT -= ${candidate#:command } ))
                _normal
                return
                ;;
            (*) found+=("${${candidate%%$'\t'*}//:/\\:}:${candidate#*$'\t'}") ;;
        esac
    done
    _describe redlock found
}
if [[ $funcstack[1] == _redlock ]]; then _redlock "$@"; else compdef _redlock redlock; fi
)shell";

constexpr const char* for_fish =
    R"shell(# Completes the words of redlock in fish; written by: redlock completion fish
function __redlock_candidates
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    for candidate in (command $program __complete $words[2..] "$word" 2>/dev/null)
        switch $candidate
            case ':files*'
                set -l prefix (string sub -s 8 -- $candidate)
                set -l path (string sub -s (math 1 + (string length -- "$prefix")) -- "$word")
                printf "$prefix%s\n" (__fish_complete_path "$path")
            case ':command*'
                set -l first (math 1 + (string sub -s 10 -- $candidate))
                set -l rest
                if test $first -le (count $words)
                    set rest (string escape -- $words[$first..])
                end
                complete -C (string join ' ' -- $rest "$word")
            case '*'
                printf '%s\n' $candidate
        end
    end
end
complete -c redlock -f -a '(__redlock_candidates)'
)shell";

}  // namespace

std::vector<std::string> completing_shells() { return {"bash", "zsh", "fish"}; }

std::string completion_script(const std::string& shell) {
    if (shell == "bash") return for_bash;
    if (shell == "zsh") return for_zsh;
    assert(shell == "fish");
    return for_fish;
}

}  // namespace redlock::tool
