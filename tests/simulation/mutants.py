#!/usr/bin/env python3
# Plants bugs in a copy of the sources, one at a time, and has the simulation or a test find each.
# SPDX-License-Identifier: MIT
"""usage: mutants.py PROJECT BUILD [--only TEXT]... [--shard I/N] [--sample N] [--most N] [--seconds S]
                  [--seeds A-B] [--promise NAME] [--jobs N] [--clean PROGRAM] [--keep] [--compile]

One line for each: what was planted, the seed that caught it and what it broke; with --seeds, how many
of them did. A bug with a "world" in mutants.json is looked for in the orders of that small world
first; one with "with" only in worlds where somebody asks for that kind of lock. The "seed" is tried
before all others: it has caught the bug before, and --keep writes those that do so now into
mutants.json. What the simulation does not run has a "test" that must fail, of the program
lockable_tests, or of the "program" that it names: another one of Catch2's, where the test is a file, or
with a "case" one of its cases; one in C, or python/NAME.py, where it is the name of the test.
The command is built where a test runs it; those in C and Python get nodes of their own. A bug that an
excuse of the judges must not cover has "hidden_by": an edit that widens the excuse, and the "world" that
breaks a promise with the bug, and none with both. So that world shows how wide the excuse is.

The last line is "N of N caught". Status 1 where one was not; 2 where one could not be planted, since its
text has moved, built or run. --clean names the simulation without a bug; it is built where none is named.
--shard runs the I-th of N parts, and writes BUILD/shard-I-of-N.log: a line each with the bug, the
verdict and the seconds, between tabs. --compile looks for none: it compiles the C++, the Lua and the
Python of each, as far as its syntax, and names those that do not compile or apply, or whose test is not
there: a sample would meet them some day. Bugs of one file are compiled together, and alone where that fails.
"""
import argparse
import ast
import concurrent.futures
import contextlib
import ctypes
import ctypes.util
import fcntl
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CRASHES = (signal.SIGABRT, signal.SIGSEGV, signal.SIGFPE, signal.SIGBUS, signal.SIGILL)
# About what two processors run in four minutes. A slower machine takes longer, and tries the same seeds.
MOST = 5_000
FOUND = re.compile(r"^(seed \d+|world \S+): ([^:]+): (.*)$", re.M)
BROKEN = re.compile(r"!!! ([^:]+): ", re.M)
# What a test says in the end, of Catch2, in C and in Python: without that it did not run.
ENDED = re.compile(r"assertions:|^All tests passed|\d+ tests, \d+ failures|^Ran [1-9]\d* test", re.M)
SOURCES = ("CMakeLists.txt", "CMakePresets.json", "cmake", "config", "deploy", "include", "lua", "python",
           "scripts", "src", "tests", "tools")


def shard(text):
    """Which part, of how many."""
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is no part, as 2/5 is the second of five")
    return int(part), int(parts)


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("project", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--shard", type=shard, default=(1, 1), metavar="I/N")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--seeds", default="")
    parser.add_argument("--promise", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--clean", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--compile", action="store_true")
    return parser.parse_args()


class BuildFailed(Exception):
    pass


def fail(text):
    print(f"mutants: {text}", file=sys.stderr)
    sys.exit(2)


def edits(mutant):
    yield mutant
    yield from mutant.get("also", [])


def with_excuses(mutant):
    """The bug beside an excuse of the judges in a wider form, for each that must hide it in its world."""
    return [{**mutant, "also": [*mutant.get("also", []), wider]} for wider in mutant.get("hidden_by", [])]


def swapped(text, swaps):
    """The text with a bug in it; it raises a ValueError where what goes does not stand there once."""
    for before, after in swaps:
        if text.count(before) != 1:
            raise ValueError(f"{text.count(before)} times\n{before}")
        text = text.replace(before, after)
    return text


def planted(mutant, root):
    """The files with the bug in them, by path."""
    changed = {}
    for edit in edits(mutant):
        path = root / edit["file"]
        try:
            changed[path] = swapped(changed.get(path) or path.read_text(encoding="utf-8"), edit["swap"])
        except ValueError as why:
            fail(f"'{mutant['name']}' no longer applies: {edit['file']} has {why}")
    return changed


def copy_sources(project, to):
    """As rsync would: what did not change keeps its time, so that little is built again."""
    for name in SOURCES:
        for source in sorted([project / name, *(project / name).rglob("*")]):
            target = to / source.relative_to(project)
            if source.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            elif not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
                shutil.copymode(source, target)
        for target in sorted((to / name).rglob("*")):
            if target.is_file() and not (project / target.relative_to(to)).exists():
                target.unlink()


SIMULATION = "redlock_simulate"
HUNG = -1000
IN_C = ("c_server_tests", "c_memory_master_tests", "c_situation_tests")
# Where all sources of a program are. The others take theirs from several folders.
SOURCES_OF = {"core_tests": "unit/core", "lockable_tests": "unit/lockable", "rules_tests": "component/rules"}
FOLDERS = {SIMULATION: "tests/simulation", **dict.fromkeys(IN_C, "tests/c")}
BUILD = "build/mutants"
# So many bugs pay for a library of which each file is compiled alone: a bug costs one file in place of twelve.
MANY = 60


def program_of(mutant):
    return mutant.get("program", "lockable_tests") if "test" in mutant else SIMULATION


def test_of(mutant):
    """The program, and the test in it that has to fail."""
    named, program = mutant["test"], program_of(mutant)
    if program in IN_C or program.endswith(".py"):
        return program, named
    return program, mutant["case"].replace(",", "\\,") if "case" in mutant else f"[#{named}]"


def run_cmake(root, *arguments):
    """As the preset does: by the same relative paths, so that a compiler cache has what did not change."""
    cached = dict(os.environ, CCACHE_BASEDIR=str(root), CCACHE_NOHASHDIR="1")
    done = subprocess.run(["cmake", *arguments], cwd=root, env=cached, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise BuildFailed(done.stdout[-3000:])


def in_phases(chosen):
    """The bugs, and whether each file of the library is compiled alone for them: where they are many, for
    all but those in headers, which most files include."""
    if len(chosen) < MANY:
        return [(chosen, False)]
    in_headers = [m for m in chosen if any(e["file"].endswith((".hpp", ".h")) for e in edits(m))]
    phases = [([m for m in chosen if m not in in_headers], True), (in_headers, False)]
    return [(bugs, is_by_file) for bugs, is_by_file in phases if bugs]


def configure(root, is_by_file):
    """Not for each bug: what it changes is no list of files."""
    run_cmake(root, "--preset", "mutants", f"-DREDLOCK_UNITY_LIBRARY={'OFF' if is_by_file else 'ON'}")


def build(root, options, program=SIMULATION):
    targets = ["redlock_c", "redlock_c_kit", "redlock_tool"] if program.endswith(".py") else [program]
    run_cmake(root, "--build", "--preset", "mutants", "-j", str(options.jobs), "--target", *targets)
    return root / BUILD / FOLDERS.get(program, "tests") / program


@contextlib.contextmanager
def built_with(mutant, root, options):
    """What finds the bug, with the bug in it; the sources are as before when that was used."""
    changed = planted(mutant, root)
    before = {path: path.read_text(encoding="utf-8") for path in changed}
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8")
    try:
        yield build(root, options, program_of(mutant))
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")


def run_test(root, program, name, options):
    """The status of the test, of what was built there; HUNG where it took too long."""
    folder = root / BUILD
    has = dict(os.environ, REDLOCK_TOOL=str(folder / "tools/redlock"))
    has.setdefault("REDIS_SERVER", shutil.which("redis-server") or "redis-server")
    beside = [root / "tests/with-nodes", "--nodes", "3", "--"]
    if program.endswith(".py"):
        # Masters in memory are in a library of their own.
        has_masters = program.endswith("/memory_masters.py")
        library = "tests/c/libredlock_c_kit.so" if has_masters else "libredlock_c.so"
        has.update(REDLOCK_LIBRARY=str(folder / library), PYTHONPATH=str(root / "python"),
                   PYTHONDONTWRITEBYTECODE="1")
        command = [*beside, sys.executable, root / "tests" / program, name]
    elif program in IN_C:
        command = [*beside, folder / FOLDERS[program] / program, name]
    else:
        command = [folder / "tests" / program, "--filenames-as-tags", name]
    with subprocess.Popen(command, env=has, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, start_new_session=True) as running:
        try:
            out, _ = running.communicate(timeout=options.seconds)
        except subprocess.TimeoutExpired:  # it hangs, by which it was found; its servers end, too
            os.killpg(running.pid, signal.SIGTERM)
            running.communicate()
            return HUNG
    status = running.returncode
    # Of a crash beside nodes the shell tells, as 128 and the signal.
    has_crashed = -status in CRASHES or status - 128 in CRASHES
    if not ENDED.search(out) and not has_crashed:
        fail(f"{program} ended with {status}, and ran no '{name}':\n{out[-2000:]}")
    return status


def simulate(program, options, *arguments, needs=None):
    """What it printed. A crash is an answer, too; any other end that is not its own fails the run."""
    command = [program, "--jobs", str(options.jobs), *arguments]
    if needs:
        command += ["--with", needs]
    if options.promise:
        command += ["--promise", options.promise]
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=options.seconds + 3600)
    if said.returncode not in (0, 1) and -said.returncode not in CRASHES:
        fail(f"the simulation ended with {said.returncode}:\n{said.stderr[-2000:]}")
    return said


def count(program, options):
    """What all of the given seeds show, and whether it is anything."""
    said = simulate(program, options, "--seeds", options.seeds, "--failures", "1000000")
    if said.returncode < 0:
        return f"crashed with signal {-said.returncode}", True
    result = json.loads(said.stdout.splitlines()[-1])
    text = f"{result['violations']} of {result['seeds']} seeds {json.dumps(result['broken'])}"
    return text, result["violations"] > 0


def keep(listed, name, seed):
    """Writes the seed into the list, which is laid out by hand: all else stays as it is."""
    entry = re.compile(r'(\{"name": ' + re.escape(json.dumps(name)) + r'(?:,\s*"w\w+": "[^"]*")*)(,\s*"seed": \d+)?')
    listed.write_text(entry.sub(rf'\1, "seed": {seed}', listed.read_text(encoding="utf-8")),
                      encoding="utf-8")


def hunt(program, clean, options, worlds, mutant):
    """The first world that breaks a promise, and does not without the bug: of the bug's own seed, one
    of those in text, or any seed."""
    needs, own = mutant.get("with"), mutant.get("seed")
    places = [("--world", worlds), ("--seeds", f"1-{options.most}", "--minutes",
                                    str(options.seconds / 60))]
    if own:
        places.insert(0, ("--seeds", f"{own}-{own}"))
    for where in places:
        said = simulate(program, options, *where, "--failures", "1", needs=needs)
        if said.returncode < 0:
            return f"crashed with signal {-said.returncode}", True
        found = FOUND.search(said.stderr)
        if found:
            break
    else:
        tried = json.loads(said.stdout.splitlines()[-1])["seeds"]
        return f"NOT CAUGHT by {tried} seeds", False
    place, promise = found.group(1), found.group(2)
    kind, name = place.split()
    where = ("--seeds", f"{name}-{name}") if kind == "seed" else ("--world", worlds)
    if simulate(clean, options, *where, needs=needs).returncode != 0:
        return f"NOT CAUGHT: {place} breaks a promise without it, too", False
    return f"{place}, {promise}", True


def search(program, clean, options, world):
    """Whether some order of a small world breaks a promise, and none does without the bug."""
    said = simulate(program, options, "--orders", world)
    if said.returncode < 0:
        return f"crashed with signal {-said.returncode}", True
    found = BROKEN.search(said.stdout)
    if not found:
        return None, False
    if simulate(clean, options, "--orders", world).returncode != 0:
        return f"NOT CAUGHT: \"{world}\" breaks a promise without it, too", False
    return f"\"{world}\", {found.group(1)}", True


def judge(root, program, clean, mutant, options, worlds):
    if "test" in mutant:
        named = mutant.get("case", mutant["test"])
        if run_test(root, *test_of(mutant), options) == 0:
            return f"NOT CAUGHT by {named}", False
        return named, True
    if options.seeds:
        return count(program, options)
    if "world" in mutant:
        verdict, is_caught = search(program, clean, options, mutant["world"])
        if verdict:
            return verdict, is_caught
    return hunt(program, clean, options, worlds, mutant)


def judged(root, clean, mutant, options, worlds):
    """What came of it, and whether all of it is as it has to be: with a wider excuse, too."""
    def breaks(program, world):
        return simulate(program, options, "--world", f"{worlds}/{world}").returncode != 0

    with built_with(mutant, root, options) as program:
        verdict, is_caught = judge(root, program, clean, mutant, options, worlds)
        for wider in mutant.get("hidden_by", []):
            if not breaks(program, wider["world"]):
                return f"{verdict}, and NOT CAUGHT by {wider['world']}", False
    for wider, both in zip(mutant.get("hidden_by", []), with_excuses(mutant)):
        with built_with(both, root, options) as program:
            if breaks(program, wider["world"]):
                return f"{verdict}, and {wider['world']} NOT HIDDEN by a wider excuse", False
    return verdict, is_caught


AS_BUILT = ("-std=c++20", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wno-sign-conversion",
            "-Wshadow=local", "-Wno-restrict", "-Wno-maybe-uninitialized", "-Wno-subobject-linkage",
            "-Werror", "-DREDLOCK_HAS_TLS=1", "-fsyntax-only")


def wrong_in_lua(path, text):
    """What the Lua of the servers says of a text, without running it; empty where it takes it."""
    lua = ctypes.CDLL(ctypes.util.find_library("lua5.1") or "liblua5.1.so.0")
    lua.luaL_newstate.restype, lua.lua_tolstring.restype = ctypes.c_void_p, ctypes.c_char_p
    state, code = ctypes.c_void_p(lua.luaL_newstate()), text.encode()
    is_wrong = lua.luaL_loadbuffer(state, code, ctypes.c_size_t(len(code)), f"@{path}".encode())
    said = lua.lua_tolstring(state, -1, None).decode() + "\n" if is_wrong else ""
    lua.lua_close(state)
    return said


def compiled(changed, project):
    """What the compilers say of these texts, by their paths; empty where they take them."""
    said = ""
    with tempfile.TemporaryDirectory() as folder:
        over = pathlib.Path(folder)
        changed = {path.relative_to(project): text for path, text in changed.items()}
        for path, text in changed.items():
            (over / path).parent.mkdir(parents=True, exist_ok=True)
            (over / path).write_text(text, encoding="utf-8")
        for path, text in changed.items():
            if path.suffix == ".py":
                try:
                    ast.parse(text, path)
                except SyntaxError as why:
                    said += f"{path}:{why.lineno}: {why.msg}\n"
            if path.suffix == ".lua":
                said += wrong_in_lua(path, text)
            if path.suffix not in (".cpp", ".hpp"):
                continue
            alone = over / "alone.cpp"  # a header is no main file
            alone.write_text(f'#include "{over / path}"\n', encoding="utf-8")
            said += subprocess.run(
                [os.environ.get("CXX", "c++"), *AS_BUILT, f"-I{over}/include", f"-I{over}/src", f"-I{over}",
                 f"-I{over}/tests", "-Iinclude", "-Isrc", "-I.", "-Itests", alone],
                cwd=project, stderr=subprocess.PIPE, text=True, check=False).stderr
    return said


def together(listed, project):
    """The bugs in groups, and the files of a group with all of its bugs: bugs of one file that leave each
    other's lines alone are compiled at once, since a compiler's time goes into what a file includes."""
    groups = []
    for mutant in listed:
        changed = planted(mutant, project)
        for group, files in groups if "also" not in mutant else []:
            if files.keys() != changed.keys():
                continue
            try:
                files.update({path: swapped(text, mutant["swap"]) for path, text in files.items()})
            except ValueError:
                continue
            group.append(mutant)
            break
        else:
            groups.append(([mutant], changed))
    return groups


def what_is_wrong(group, files, project):
    """A text for each of these bugs that does not compile; those that do not together are tried alone."""
    said = compiled(files, project)
    if said and len(group) > 1:
        return [found for mutant in group
                for found in what_is_wrong([mutant], planted(mutant, project), project)]
    return [(group[0]["name"], said)] if said else []


def lacks_test(mutant, project):
    """What is wrong with the test that is to find the bug; empty where it is there."""
    if "test" not in mutant:
        return ""
    program, name = program_of(mutant), mutant["test"]
    case = re.escape(mutant.get("case", ""))
    pattern = f"{SOURCES_OF.get(program, '**')}/{name}.cpp"
    words = rf'TEST_CASE(?:_METHOD)?\((?:\w+,\s*)?"{case}"' if case else ""
    if program in IN_C:
        pattern, words = "c/*.c", rf"static void {name}\(void\)"
    elif program.endswith(".py"):
        pattern, words = program, rf"def {name.partition('.')[2]}\(self\)"
    # A long name of a test stands on several lines.
    for file in (project / "tests").glob(pattern):
        if re.search(words, re.sub(r'"\s*\n\s*"|(?<=\()\s+', "", file.read_text(encoding="utf-8"))):
            return ""
    return f"{name} {words} is not there\n"


def are_chosen(listed, options):
    """Those that --only names, without it all; of these the part of --shard, in the order of the list."""
    named = [m for m in listed if not options.only or any(o in m["name"] for o in options.only)]
    part, parts = options.shard
    # Each N-th by name, and not a run of names: bugs of one kind, which take about as long, are in all parts.
    names = set(sorted(m["name"] for m in named)[part - 1::parts])
    return [m for m in named if m["name"] in names]


def log_of(root, options):
    """Where a part writes what came of each bug, line by line: a run that is ended leaves what it has."""
    part, parts = options.shard
    if parts == 1:
        return open(os.devnull, "w", encoding="utf-8")
    return (root / f"shard-{part}-of-{parts}.log").open("w", encoding="utf-8", buffering=1)


def compile_all(project, options):
    listed = json.loads((project / "tests/simulation/mutants.json").read_text(encoding="utf-8"))
    listed = are_chosen(listed, options)
    wrong = [(mutant["name"], text) for mutant in listed if (text := lacks_test(mutant, project))]
    listed += [{**wider, "name": mutant["name"]} for mutant in listed for wider in mutant.get("hidden_by", [])]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as crew:
        for found in crew.map(lambda group: what_is_wrong(*group, project), together(listed, project)):
            wrong += found
    for name, text in wrong:
        print(f"{name}: DOES NOT COMPILE\n{text[:2000]}")
    names = {mutant["name"] for mutant in listed}
    print(f"{len(names) - len({name for name, _ in wrong})} of {len(names)} compile")
    return 2 if wrong else 0


def main():
    options = arguments()
    project = options.project.resolve()
    if options.compile:
        return compile_all(project, options)
    root = options.build.resolve()
    root.mkdir(parents=True, exist_ok=True)
    lock = (root / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        fail(f"another run is using {root}")
    copy_sources(project, root)
    source = project / "tests/simulation/mutants.json"
    listed = json.loads(source.read_text(encoding="utf-8"))
    for mutant in listed:
        for one in (mutant, *with_excuses(mutant)):  # all must apply, also those that are not in the sample
            planted(one, root)
    chosen = are_chosen(listed, options)
    if options.sample:
        # The same sources, the same sample: without a change of one it stays as it is.
        texts = [(root / mutant["file"]).read_text(encoding="utf-8") for mutant in listed]
        drawn = min(options.sample, len(chosen))
        chosen = random.Random("".join(texts)).sample(chosen, drawn)
    if not chosen:
        fail("there is none with this name, or in this part")
    phases = in_phases(chosen)
    configure(root, phases[0][1])
    clean = options.clean
    if not clean:
        clean = root / "clean"
        shutil.copy(build(root, options), clean)
    tests = sorted({test_of(m) for m in chosen if "test" in m})
    for program in sorted({program for program, _ in tests}):
        build(root, options, program)
    for program, name in tests:
        # A stall of the machine is no bug: one of three tries has to pass.
        if all(run_test(root, program, name, options) != 0 for _ in range(3)):
            fail(f"{name} of {program} fails without a bug, too")
    caught, can_build, log = 0, True, log_of(root, options)
    worlds = str(project / "tests/simulation/worlds")
    for bugs, is_by_file in phases:
        configure(root, is_by_file)
        for mutant in bugs:
            began = time.monotonic()
            try:
                verdict, is_caught = judged(root, clean, mutant, options, worlds)
            except BuildFailed as why:
                verdict, is_caught, can_build = f"DOES NOT BUILD\n{why}", False, False
            caught += is_caught
            seed = re.match(r"seed (\d+), ", verdict)
            if options.keep and seed:
                keep(source, mutant["name"], seed.group(1))
            print(f"{mutant['name']}: {verdict}", flush=True)
            line = (mutant["name"], verdict.partition("\n")[0], round(time.monotonic() - began))
            print(*line, sep="\t", file=log)
    print(f"{caught} of {len(chosen)} caught")
    log.close()
    return (0 if caught == len(chosen) else 1) if can_build else 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BuildFailed as why:
        fail(f"the build without a bug failed:\n{why}")
