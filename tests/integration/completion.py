# The manual page and the completion of words, beside what the help says; knows no internals.
# SPDX-License-Identifier: MIT
"""usage: REDLOCK_TOOL=FILE completion.py [TEST...]

Each shell completes words for real: bash and fish are queried, and zsh has a terminal, on which
TAB is typed. A shell that is not installed is skipped, and named.
"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from skipping import say_skipped

LONGEST_S = 60  # ends what hangs; judges no speed
TOOL = os.environ["REDLOCK_TOOL"]
OPTION = re.compile(r"^  (?:(-\w)(?:, )?|    )(--[a-z-]+)?", re.MULTILINE)
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXAMPLES", "FILES",
            "ENVIRONMENT", "EXIT STATUS", "SEE ALSO"]


def said(*words):
    return subprocess.run([TOOL, *words], check=True, capture_output=True, text=True).stdout


def options_in_help(*words):
    options = said("help", *words).partition("\nOptions:\n")[2].split("\n\n")[0]
    return {name for pair in OPTION.findall(options) for name in pair if name}


GLOBAL = options_in_help()
COMMANDS = re.findall(r"^  ([a-z]+) ",
                      said("help").split("\nCommands:\n")[1].split("\n\n")[0], re.MULTILINE)
OPTIONS = {command: options_in_help(command) for command in COMMANDS}
FILES = {"--config", "--token-file", "--metrics", "--tls-ca", "--tls-cert", "--tls-key"}


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


def plain(page):
    """The words of a page, without roff's escapes and with single blanks."""
    for escape, character in (("\\-", "-"), ("\\(aq", "'"), ("\\(ha", "^"), ("\\(ti", "~"),
                              ("\\&", ""), ("\\e", "\\")):
        page = page.replace(escape, character)
    return " ".join(page.split())


class Help(unittest.TestCase):
    def test_no_line_is_longer_than_a_terminal(self):
        for topic in [[], *([command] for command in COMMANDS)]:
            for line in said("help", *topic).split("\n"):
                self.assertLessEqual(len(line), 80, line)

    def test_each_command_has_an_example(self):
        for command in COMMANDS:
            self.assertRegex(said("help", command), fr"\nExamples?:\n  redlock {command} ")

    def test_values_are_named_in_one_word(self):
        for command in COMMANDS:
            self.assertNotRegex(said("help", command), r":(INT|TEXT)|TEXT |REQUIRED| in \[")

    def test_run_says_what_json_does(self):
        self.assertRegex(said("help", "run"), r"(?m)^      --json +Write what happens to standard")


class Manual(unittest.TestCase):
    def test_it_has_the_usual_sections(self):
        page = said("help", "--man")
        self.assertEqual(re.findall(r"^\.SH (.*)$", page, re.MULTILINE), SECTIONS)
        for variable in ("REDLOCK_CONFIG", "REDLOCK_NODES", "REDLOCK_TOKEN", "XDG_CONFIG_HOME",
                         "HOME", "REDLOCK_RESOURCE", "REDLOCK_FENCE", "REDLOCK_OWNER",
                         "REDLOCK_WATCHDOG_FD"):
            self.assertIn(variable, page.split("\n.SH ENVIRONMENT\n")[1])

    def test_it_has_what_the_help_has(self):
        page = said("help", "--man").replace("\\-", "-")
        sections = re.split(r"^\.S[HS] ", page, flags=re.MULTILINE)
        found = {}
        for section in sections:
            title = section.split("\n")[0]
            names = set(re.findall(r"\\fB(-[-\w]+)\\fR", section))
            if title == "OPTIONS":
                self.assertEqual(names, GLOBAL)
            elif title.startswith("redlock "):
                found[title.split()[1]] = names
        self.assertEqual(found, OPTIONS)
        for command in COMMANDS:
            after = said("help", command).partition("\nExample")[2].split("\n\n")[1:-1]
            for paragraph in after:
                self.assertIn(plain(paragraph), plain(page.replace(".PP", "")))
            for call in re.findall(r"^  (redlock .*)$", said("help", command), re.MULTILINE):
                self.assertIn(call, plain(page.replace("\\fB", "").replace("\\fR", "")))

    @needs("groff")
    def test_roff_takes_it_without_a_word(self):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=said("help", "--man"),
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        self.assertIn("redlock run [OPTIONS] RESOURCE... -- CMD [ARGS...]", done.stdout)

    @needs("man")
    def test_man_shows_it_without_a_warning(self):
        with tempfile.NamedTemporaryFile("w", suffix=".1") as page:
            page.write(said("help", "--man"))
            page.flush()
            done = subprocess.run(["man", "--warnings", "-l", page.name], capture_output=True,
                                  text=True, check=True,
                                  env=os.environ | {"MANPAGER": "cat", "MANWIDTH": "80"})
        self.assertEqual(done.stderr, "")
        self.assertIn("EXIT STATUS", done.stdout)


class Candidates(unittest.TestCase):
    """What the command answers to the scripts of all shells."""

    def test_each_has_its_meaning(self):
        self.assertEqual(said("__complete", "ins"),
                         "inspect\tShow the holder of a lock, node by node\n")
        for words in ([""], ["-"], ["run", "-"], ["help", ""], ["commit", "--"]):
            offered = said("__complete", *words)
            self.assertRegex(offered, r"\A([^\s]+\t[ -~]+\n)+\Z")

    def test_words_of_the_line_are_not_printed(self):
        evil = "\x1b[2J"
        for words, answer in ((["run", "r", evil], ":command 3\n"),
                              (["run", "--ttl", "9s", "r", "--", "a", evil], ":command 6\n"),
                              (["run", "--config", evil], ":files \n"),
                              (["--config=" + evil], ":files --config=\n"),
                              (["--" + evil + "="], ""), ([evil], ""), ([evil, ""], "")):
            self.assertEqual(said("__complete", *words), answer, words)


class Shell:
    """Checks that hold for each shell; `complete(line)` returns the words offered for its last."""

    def check(self, line, expected):
        self.assertEqual(set(self.complete(line)), set(expected), line)

    def test_commands(self):
        self.check("redlock ", COMMANDS)
        self.check("redlock ins", ["inspect"])
        self.check("redlock --json ins", ["inspect"])
        self.check("redlock --node redis://h:1 ins", ["inspect"])
        self.check("redlock help re", ["release"])
        self.check("redlock completion ", ["bash", "zsh", "fish"])

    def test_options_of_each_command(self):
        for command in COMMANDS:
            offered = {word for word in self.complete(f"redlock {command} --")
                       if word.startswith("--")}
            longs = {name for name in OPTIONS[command] | GLOBAL if name.startswith("--")}
            self.assertEqual(offered, longs, command)

    def test_files_where_a_file_is_taken(self):
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "nodes.json"), "w").close()
            for option in FILES:
                command = next((c for c in COMMANDS if option in OPTIONS[c]), "run")
                words = self.complete(f"redlock {command} {option} {folder}/no")
                self.assertTrue(any("nodes.json" in word for word in words), (option, words))
            words = self.complete(f"redlock run --config={folder}/no")
            self.assertTrue(any("nodes.json" in word for word in words), words)

    def test_nothing_where_a_value_is_taken(self):
        self.check("redlock run --ttl ", [])

    def test_the_command_that_is_run(self):
        for before in ("r --", "r", "--node redis://h:1 r", "--ttl 9s r s --"):
            self.assertIn("redlock-tes-t", self.complete(f"redlock run {before} redlock-te"))


class Bash(Shell, unittest.TestCase):
    def complete(self, line):
        script = ('eval "$("$0" completion bash)"; COMP_LINE=$1; COMP_POINT=${#1}; shift; '
                  'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _redlock; '
                  '[ ${#COMPREPLY[@]} = 0 ] || printf "%s\\n" "${COMPREPLY[@]}"')
        words = re.findall(r"[^ :=]+|[:=]+", line) + [""] * line.endswith(" ")  # as bash does
        with Program() as path:
            return subprocess.run(["bash", "--norc", "-c", script, TOOL, line, *words],
                                  check=True, capture_output=True, text=True,
                                  env=os.environ | {"PATH": path}).stdout.split()


class Program:
    """A folder in PATH with a program whose name nothing else has."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp()
        path = os.path.join(self.folder, "redlock-tes-t")
        with open(path, "w") as file:
            file.write("#!/bin/sh\n")
        os.chmod(path, 0o755)
        os.symlink(TOOL, os.path.join(self.folder, "redlock"))
        return self.folder + ":" + os.environ["PATH"]

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


@needs("fish")
class Fish(Shell, unittest.TestCase):
    def complete(self, line):
        with Program() as path, tempfile.TemporaryDirectory() as home:
            done = subprocess.run(
                ["fish", "--no-config", "-c",
                 "redlock completion fish | source; complete -C $argv[1]", line],
                check=True, capture_output=True, text=True,
                env=os.environ | {"PATH": path, "HOME": home})
        self.assertEqual(done.stderr, "")
        return [word.split("\t")[0] for word in done.stdout.split("\n") if word]


@needs("zsh")
class Zsh(Shell, unittest.TestCase):
    """It completes words in its line editor only: the words are read off the screen. One shell
    completes all lines, since it takes a second to start."""

    # The prompt shows that the line editor reads: before that the terminal itself would take
    # Control-U, and echo what is typed.
    SETUP = ("unsetopt prompt_cr prompt_sp; stty cols 400; LISTMAX=10000; "
             "autoload -U compinit; compinit -u -D; zstyle ':completion:*' menu no; "
             "zstyle ':completion:*' verbose no; setopt list_rows_first no_list_beep; "
             "eval \"$(redlock completion zsh)\"; PS1=rea''dy%%\n")

    @classmethod
    def setUpClass(cls):
        path = cls.enterClassContext(Program())
        home = cls.enterClassContext(tempfile.TemporaryDirectory())
        pid, cls.screen = pty.fork()
        if pid == 0:
            os.environ.update(PATH=path, HOME=home, TERM="dumb")
            os.execvp("zsh", ["zsh", "-f", "-i"])
        cls.addClassCleanup(cls.end, pid)
        cls.type(cls.SETUP, "ready%")

    @classmethod
    def end(cls, pid):
        os.write(cls.screen, b"\x15exit\n")
        os.waitpid(pid, 0)
        os.close(cls.screen)

    def complete(self, line):
        # The list appears below the line; Control-U empties the line, for the mark.
        return self.words_in(self.type(line + "\t\t\x15print en''ded\n", "\nended", "ready%"), line)

    @classmethod
    def type(cls, text, *marks):
        """What the screen shows after that, until the marks have appeared, one after the other."""
        os.write(cls.screen, text.encode())
        seen = ""
        end = time.monotonic() + LONGEST_S
        awaited = re.compile(".*".join(map(re.escape, marks)), re.DOTALL)
        while not awaited.search(seen.replace("\r", "")):
            if time.monotonic() > end:
                raise AssertionError(f"zsh does not answer {text!r}: {seen!r}")
            if select.select([cls.screen], [], [], 0.1)[0]:
                seen += os.read(cls.screen, 65536).decode("utf-8", "replace")
        return seen

    def words_in(self, text, line):
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x07|.\x08", "", text)
        text = text.split("print en")[0]
        typed = line.split(" ")[-1]
        words = re.split(r"[\s]+", text)
        known = set(COMMANDS) | {"bash", "zsh", "fish", "redlock-tes-t", "nodes.json"}
        options = {name for names in OPTIONS.values() for name in names} | GLOBAL
        before = line.split(" ")[:-1]
        return [word for word in words
                if (os.path.basename(word) in known or word in options)
                and word not in before and word.startswith(typed[:2])]


if __name__ == "__main__":
    for missing in [shell for shell in ("groff", "fish", "zsh") if not shutil.which(shell)]:
        say_skipped(f"{missing} is not installed; scripts/install-deps installs it")
    unittest.main(argv=sys.argv)
