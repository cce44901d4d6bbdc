# Compares what pages and README show with the tracked lines of the benchmarks; measures nothing.
# SPDX-License-Identifier: MIT
"""usage: tests/bench/pages.py TABLE [--planted]

What `bench/table --pages` computes of bench/redlock_bench/lines.jsonl and bench/peers/lines.jsonl has to stand in the
page that it names: a table as a whole, sentences however their lines break. What has no lines, but stands on several
pages, is the same on all. With --planted each of these figures is changed in the page, then each line in the file, and
every such change has to be found. Status 1 if something is wrong.
"""
import importlib.machinery
import importlib.util
import pathlib
import re
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]
LINES = ("bench/redlock_bench/lines.jsonl", "bench/peers/lines.jsonl")
FIGURE = re.compile(r"\d[\d,.]*\d|\d")
WITHOUT_LINES = {  # the rate over redsync's on tuned rueidis
    "README.md": re.compile(r"\bhad (\S+ to \S+) times the rate of redsync"),
    "docs/performance.md": re.compile(r"\| rate over redsync's on rueidis[^|]*\| (\S+ to \S+) \|"),
    "docs/measuring.md": re.compile(r"rate over redsync's on tuned rueidis[^|]*\| (\S+ to \S+) \|"),
}
# How many are shown at least: fewer, and something is no longer compared.
LEAST_BLOCKS = 7


def load(path):
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("table", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("table", loader))
    loader.exec_module(module)
    return module


def is_table(block):
    return block.startswith("|")


def as_compared(block, text):
    return text if is_table(block) else " ".join(text.split())


def stands_in(block, text):
    """A table with all its rows and no other; text is as_compared."""
    return f"\n\n{block}\n\n" in text if is_table(block) else block in text


def wrong_in(pages, blocks):
    return [f"{page} does not show what `bench/table --pages` computes:\n{block}" for page, block in blocks
            if not stands_in(block, as_compared(block, pages[page]))]


def differing(pages):
    found = {page: pattern.findall(" ".join(pages[page].split())) for page, pattern in WITHOUT_LINES.items()}
    if len(set(map(tuple, found.values()))) > 1 or not all(len(figures) == 1 for figures in found.values()):
        yield f"the rate over redsync's on rueidis is not the same on all pages: {found}"


def changed(figure):
    """The same with another last digit."""
    return figure[:-1] + str((int(figure[-1]) + 1) % 10)


def planted_in_pages(pages, blocks):
    """Changes each figure of each block, and each row of a table, where the page shows it."""
    for page, block in blocks:
        text = as_compared(block, pages[page])
        at = text.index(block)
        after = text[at + len(block):]
        wrong = [(figure[0], block[:figure.start()] + changed(figure[0]) + block[figure.end():])
                 for figure in FIGURE.finditer(block)]
        if is_table(block):
            rows = block.split("\n")
            wrong += [(row, "\n".join(rows[:i] + rows[i + 1:])) for i, row in enumerate(rows)]
            wrong.append(("one more row", f"{block}\n{rows[-1]}"))
        for what, other in wrong:
            yield f"{page}: {what}", bool(wrong_in({page: text[:at] + other + after}, [(page, block)]))


def planted_without_lines(pages):
    for page, pattern in WITHOUT_LINES.items():
        text = " ".join(pages[page].split())
        found = pattern.search(text)
        other = text[:found.start(1)] + changed(found[1]) + text[found.end(1):]
        yield f"{page}: {found[1]}", any(differing({**pages, page: other}))


def is_shown(line):
    """Callbacks and UNIX sockets are in no table of a page; nor is what names the machine."""
    if line["bench"] == "throughput":
        return line["transport"] == "tcp" and line["by"] == "coroutines"
    return line["bench"] == "beside" or (line["bench"] == "latency" and line["transport"] == "tcp")


def planted_in_lines(table, all_lines, pages):
    """Doubles the figures of each line; of systems that are measured in rounds, of all rounds."""
    for path, lines in all_lines.items():
        keys = [tuple(map(line.get, ("bench", "nodes", "mode", "transport", "by", "workers", "peer", "sync")))
                for line in lines]
        for key in dict.fromkeys(key for key, line in zip(keys, lines) if is_shown(line)):
            other = [{name: 2 * value if isinstance(value, float) or name in ("p50_us", "p99_us") else value
                      for name, value in line.items()} if own == key else line
                     for own, line in zip(keys, lines)]
            yield f"{path}: {key}", bool(wrong_in(pages, table.blocks_of_pages(other)))


def main():
    table = load(sys.argv[1])
    all_lines = {path: table.read(PROJECT / path) for path in LINES}
    blocks = [block for lines in all_lines.values() for block in table.blocks_of_pages(lines)]
    pages = {page: (PROJECT / page).read_text(encoding="utf-8") for page, _ in blocks}
    wrong = [*wrong_in(pages, blocks), *differing(pages)]
    if len(blocks) < LEAST_BLOCKS or "README.md" not in pages:
        wrong.append(f"only {len(blocks)} tables and sentences are compared, in {', '.join(pages)}")
    if not wrong and "--planted" in sys.argv:
        planted = [*planted_in_pages(pages, blocks), *planted_without_lines(pages),
                   *planted_in_lines(table, all_lines, pages)]
        wrong = [f"nobody noticed a change of {what}" for what, is_found in planted if not is_found]
        print(f"{len(planted)} changes planted")
    print(*wrong, sep="\n")
    sys.exit(1 if wrong else 0)


main()
