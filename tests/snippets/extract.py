# Takes the code blocks out of the documents into files of their own; runs none of them.
# SPDX-License-Identifier: MIT
"""usage: extract.py PROJECT FOLDER DOCUMENT...

Writes each ```cpp block, and each ```bash block under a line `<!-- run -->`, to FOLDER and prints
its path; under `<!-- run in a clone -->` its name ends in .clone.sh. One under `<!-- run on -->` goes on
where the last one ended, in the same shell. A block under `<!-- seen -->` is what the last one prints:
its lines go to a file beside the script, NAME.seen, for tests/snippets/seen. The bash blocks that are
not run must at least parse, and the files of the project that they name must exist. A ```cmake block
must stand, line by line, in the project that tests/consumer/find_package builds. A ```json block is
a configuration and must satisfy the schema, where python3-jsonschema is installed. A ```sql block is
a write under a fence, and is run; a ```lua block is such a write to Redis, and becomes a script that runs it;
a ```python block, which checks itself, becomes a program. A bash block under `<!-- run beside PostgreSQL -->`
has a server of that; its name ends in .psql.sh. The table under `<!-- each line runs -->` becomes a script of its
commands and a program of its lines of C++; tests/python/snippets.py runs those of Python. An ```acl block is what the integration test of the rights gives
its user. Each line of a ```crontab block becomes a script that runs it as cron does, on two machines.
Links to files must lead somewhere. Status 1 with what is wrong.

The pages of WALKED become scripts that do what a newcomer does, block by block in their order: each bash
block under `<!-- walk -->`, and each block under `<!-- walk: FILE -->`, which is written to that file.
walk.clone.sh leaves out those under `<!-- walk in a bare system -->`. For in-a-bare-system walk.network has
all up to the last one under `<!-- walk with a network -->`, and walk.bare the rest; their paths are not
printed. A ```text block under `<!-- seen -->` shows lines that the block
before it must have written, but for numbers and the name of the host.
"""
import json
import pathlib
import re
import shlex
import sqlite3
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

BLOCK = re.compile(r"^(?:<!-- (?P<mark>(?:run|walk|seen)\b[^>]*?) -->\n+)?"
                   r"```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
RUN = {"run": ".sh", "run in a clone": ".clone.sh", "run beside PostgreSQL": ".psql.sh"}
LINK = re.compile(r"\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)")
OF_PROJECT = re.compile(r"(?<![\w/.-])(?:scripts|tests|config|examples)/[\w./-]+")

project, folder = (pathlib.Path(word) for word in sys.argv[1:3])
wrong = []


def write(path, text):
    # Only if it changed: what is older than its program is not compiled again.
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    print(path)


def check_bash(where, text):
    parsed = subprocess.run(["bash", "-n"], input=text, text=True, stderr=subprocess.PIPE)
    if parsed.returncode != 0:
        wrong.append(f"{where}: {parsed.stderr}")
    for name in OF_PROJECT.findall(text):
        if not (project / name).exists():
            wrong.append(f"{where}: there is no {name}")


# The first machine's job writes a line; the second machine's job must not start, and cron must find
# nothing that it would mail.
CRON = """\
mkdir -p home/.local/bin home/.config/redlock home/bin
ln -s "$(command -v redlock)" home/.local/bin/redlock
cp nodes.json home/.config/redlock/config.json
printf '%s\\n' '#!/bin/sh' 'echo "the job ran"' | tee {jobs} >/dev/null
chmod +x home/bin/*
as_cron() {{ env -i HOME="$PWD/home" SHELL=/bin/sh PATH=/usr/bin:/bin LOGNAME="$(id -un)" /bin/sh -c "$1"; }}
[[ $(as_cron {command} 2>&1) == "the job ran" ]]
status=0
mail=$(as_cron {command} 2>&1) || status=$?
[[ -z $mail && $status -eq 120 ]] || {{ echo "status $status, and cron mails: $mail"; exit 1; }}
"""
CRON_LINE = re.compile(r"(?:[\d*,/-]+ +){5}(?P<command>[^%]+)")


def write_crontab(where, text):
    for number, line in enumerate(text.splitlines(), start=1):
        entry = CRON_LINE.fullmatch(line)
        jobs = re.findall(r"\$HOME/(bin/[\w-]+)", line)
        if not entry or not jobs:
            wrong.append(f"{where}: not five fields and a job in $HOME/bin: {line}")
            continue
        script = CRON.format(jobs=" ".join(f"home/{job}" for job in jobs),
                             command=shlex.quote(entry["command"]))
        write(folder / f"{where}_{number}.sh", script)


def check_cmake(where, text):
    built = (project / "tests/consumer/find_package/CMakeLists.txt").read_text(encoding="utf-8")
    known = {line.strip() for line in built.splitlines()}
    for line in text.splitlines():
        if line.strip() and line.strip() not in known:
            wrong.append(f"{where}: no consumer test has the line {line}")


def check_json(where, text):
    try:
        configuration = json.loads(text)
    except ValueError as error:
        wrong.append(f"{where}: {error}")
        return
    if jsonschema is None:
        return
    schema = json.loads((project / "config/redlock.schema.json").read_text(encoding="utf-8"))
    for error in jsonschema.Draft202012Validator(schema).iter_errors(configuration):
        wrong.append(f"{where}: {error.message}")


def check_sql(where, text):
    """A write under a fence: the row takes a younger one and refuses an older one."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE account (name TEXT, balance INTEGER, fence INTEGER)")
    database.execute("INSERT INTO account VALUES ('ada', 1, 5)")
    for fence, changed in ((6, 1), (4, 0), (6, 1)):
        done = database.execute(text, {"name": "ada", "balance": 2, "fence": fence})
        rows = len(done.fetchall()) if done.description else done.rowcount
        if rows != changed:
            wrong.append(f"{where}: fence {fence} changed {rows} rows, not {changed}")


# The second value of each line is what the write has to return.
LUA = """\
port=$(sed -n 's|.*redis://127.0.0.1:\\([0-9]*\\)".*|\\1|p' nodes.json | head -n 1)
for line in '6 1' '4 0' '6 1' '9007199254740990 1' '9007199254740989 0'; do
    read -r fence expected <<<"$line"
    got=$(redis-cli -p "$port" EVAL {script} 2 snippet snippet:fence "$fence" "written under $fence")
    [[ $got == "$expected" ]] || {{ echo "fence $fence: $got, not $expected"; exit 1; }}
done
[[ $(redis-cli -p "$port" GET snippet) == "written under 9007199254740990" ]]
"""


# What the lines of the table name: the jobs, and what a caller has. A lock that is not granted ends the program.
NEEDS = """\
#include <redlock/config.hpp>
#include <redlock/election.hpp>
#include <redlock/rate_limiter.hpp>
#include <redlock/with_lock.hpp>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <stop_token>

int main() {
    using namespace std::chrono_literals;
    redlock::blocking_client client("nodes.json");
    std::stop_source source;
    const std::stop_token stop = source.get_token();
    const auto sell = [](const redlock::lease& lease, const std::stop_token&) { return lease.fence(); };
    const auto migrate = sell;
    const auto call = [] { std::cout << "called\\n"; };
    const auto lead = [&](const redlock::lease&, const std::stop_token&) { source.request_stop(); };
    const auto late = [](std::uint64_t fence) { std::cerr << "lost " << fence << '\\n'; };
LINES
}
"""


def write_needs(where, table):
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]
    if not rows or any(len(row) != 4 for row in rows):
        wrong.append(f"{where}: a row has not four cells")
        return
    columns = [[row[column].strip("`") for row in rows if row[column].startswith("`")] for column in (1, 2)]
    jobs = sorted({name for line in columns[0] for name in re.findall(r" \./(\w+)", line)})
    write(folder / f"{where}_commands.sh", "".join(f"printf '#!/bin/sh\\necho {job}\\n' >{job} && chmod +x {job}\n" for job in jobs)
          + "".join(f'[[ $({line}) == {line.split("./")[1]} ]]\n' for line in columns[0]))
    lines = []
    for line in columns[1]:
        name = re.match(r"auto (\w+) = ", line)
        lines.append(f"    {{\n        {line}\n" + (f"        if (!{name[1]}) return 1;\n" if name else "") + "    }")
    write(folder / f"{where}.cpp", NEEDS.replace("LINES", "\n".join(lines)))


# What is in C or Python there, and what imports the Python package, tests/python/snippets.py runs.
LANGUAGES = ("languages", "protocol")


class Session:
    """What the blocks of a document run, and print: those that go on belong to the one before."""

    def __init__(self):
        self.scripts = {}

    def add(self, where, mark, code):
        if mark in RUN:
            self.scripts[f"{where}{RUN[mark]}"] = {"code": "", "seen": ""}
        elif not self.scripts:
            wrong.append(f"{where}: nothing runs before it")
            return
        last = list(self.scripts.values())[-1]
        last["seen" if mark == "seen" else "code"] += code

    def write(self):
        for name, script in self.scripts.items():
            write(folder / name, script["code"])
            (folder / name).with_suffix(".seen").write_text(script["seen"], encoding="utf-8")


def read(document):
    text = document.read_text(encoding="utf-8")
    session = Session()
    for number, table in enumerate(re.findall(r"^<!-- each line runs -->\n((?:\|.*\n)+)", text, re.M), start=1):
        write_needs(f"{document.stem.lower()}_needs_{number}", table)
    for name in LINK.findall(BLOCK.sub("", text)):
        if not (document.parent / name).exists():
            wrong.append(f"{document}: there is no {name}")
    for number, block in enumerate(BLOCK.finditer(text), start=1):
        where = f"{document.stem.lower()}_{number}"
        language, code = block["language"], block["text"]
        is_walked = document.stem in WALKED
        if block["mark"] and block["mark"] not in (*RUN, "run on", "seen") and not is_walked:
            wrong.append(f"{where}: '{block['mark']}' is not understood here")
        if block["mark"] == "seen" and not is_walked:
            session.add(where, "seen", code)
        elif language == "cpp":
            write(folder / f"{where}.cpp", code)
        elif language == "cmake":
            check_cmake(where, code)
        elif language == "bash":
            check_bash(where, code)
            if block["mark"] in (*RUN, "run on"):
                session.add(where, block["mark"], code)
        elif language == "json":
            check_json(where, code)
        elif language == "crontab":
            write_crontab(where, code)
        elif language == "sql":
            check_sql(where, code)
        elif language == "lua":
            write(folder / f"{where}.sh", LUA.format(script=shlex.quote(code)))
        elif language == "python" and document.stem not in LANGUAGES and "redlock_quorum" not in code:
            write(folder / f"{where}.py", code)
        elif language not in ("acl", "text", "mermaid", "c", "python"):
            wrong.append(f"{where}: nothing is known of a block of '{language}'")
    session.write()


# The walks: in a clone that uses what was built, and in a bare system, where all is done.
WALKED = ("quickstart", "once-per-period")
WALK = """\
# What a newcomer does, from the text of the pages; prints when each step began.
output=$(mktemp)
began=$SECONDS
inside=no
step() {
    inside=yes
    title=$1
    printf '[%4d s] %s\\n' $((SECONDS - began)) "$title"
    exec 3>&1 4>&2 >"$output" 2>&1
}
written() {
    [[ $inside == yes ]] || return 0
    inside=no
    exec >&3 2>&4 3>&- 4>&-
    tail -n "${1:-12}" "$output" | sed 's/^/         | /'
}
trap 'code=$?; [[ $code -eq 0 ]] || { written 40; echo "walk: failed in: $title"; }; rm -f "$output"; exit "$code"' EXIT
# Numbers, names of hosts and owners differ from what a page shows; its "..." stands for anything.
plain() {
    sed -E "s/[A-Za-z0-9_-]{6}\\.\\.\\.@/owner@/g; s/$(hostname)/host/g; s/[0-9]+(\\.[0-9]+)?/N/g; s/ +/ /g; s/ $//"
}
seen() {
    local line
    while IFS= read -r line; do
        plain <"$output" | grep -qxE -- "$line" ||
            { echo "walk: the page shows a line that was not written: $line"; exit 1; }
    done < <(plain | sed -E 's/[][(){}.*+?^$|]/\\\\&/g; s/\\\\\\.\\\\\\.\\\\\\./.*/g')
}
"""


def heading_before(text, position):
    return re.findall(r"^#+ (.*)$", BLOCK.sub("", text[:position]), re.M)[-1]


def walk(documents):
    """The scripts, of the pages in the order of WALKED."""
    scripts = {"clone": WALK, "network": "", "bare": WALK}
    for document in sorted((d for d in documents if d.stem in WALKED), key=lambda d: WALKED.index(d.stem)):
        text = document.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            mark, code = block["mark"] or "", block["text"]
            bare = mark == "walk in a bare system"
            if mark == "seen":
                part = f"seen <<'END_OF_PAGE'\n{code}END_OF_PAGE\n"
            elif mark.startswith("walk: "):
                part = f"cat >{shlex.quote(mark[6:])} <<'END_OF_PAGE'\n{code}END_OF_PAGE\n"
            elif bare or mark in ("walk", "walk with a network"):
                title = shlex.quote(f"{document.stem}: {heading_before(text, block.start())}")
                part = f"step {title}\n{code}written\n"
            else:
                continue
            scripts["bare"] += part
            if not bare:
                scripts["clone"] += part
            if mark == "walk with a network":
                scripts.update(network=scripts["network"] + scripts["bare"], bare=WALK)
    if scripts["clone"] != WALK:
        end = 'echo "walk: took $((SECONDS - began)) s"\n'
        write(folder / "walk.clone.sh", scripts["clone"] + end)
        for kind in ("network", "bare"):
            (folder / f"walk.{kind}").write_text(scripts[kind] + end, encoding="utf-8")


folder.mkdir(parents=True, exist_ok=True)
for name in sys.argv[3:]:
    read(pathlib.Path(name))
walk([pathlib.Path(name) for name in sys.argv[3:]])
for line in wrong:
    print(line, file=sys.stderr)
sys.exit(1 if wrong else 0)
