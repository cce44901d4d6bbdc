# Compares what pages and README show with the tracked lines of the benchmarks; measures nothing.
# SPDX-License-Identifier: MIT
"""usage: tests/bench/pages.py TABLE [--planted]

What `bench/table --pages` computes of the lines that are kept has to stand in the page that it names: a table as a
whole, sentences however their lines break. With --planted each of these figures is changed in the page, then each line
in the file, and every such change has to be found. Status 1 if something is wrong.
"""
import importlib.machinery
import importlib.util
import pathlib
import re
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]
LINES = ("bench/redlock_bench/lines.jsonl", "bench/redlock_bench/redsync.jsonl", "bench/peers/lines.jsonl")
FIGURE = re.compile(r"\d[\d,.]*\d|\d")
# How many are shown at least: fewer, and something is no longer compared.
LEAST_BLOCKS = 11


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


def is_shown(line, pages):
    """Callbacks and UNIX sockets are in no table of a page; nor is what names the machine."""
    if line["bench"] == "throughput":
        return line["transport"] == "tcp" and line["by"] == "coroutines"
    if line["bench"] == "contended":
        best = any(f"| eight, {line['by']} |" in text for text in pages.values())
        return line["workers"] == 8 and (line["by"] == "redlock" or best)
    if line["bench"] == "throughput_peer":
        return line["workers"] == 128
    return line["bench"] == "beside" or (line["bench"] == "latency" and line["transport"] == "tcp")


def planted_in_lines(table, all_lines, pages):
    """Doubles the figures of each line; of systems that are measured in rounds, of all rounds."""
    for path, lines in all_lines.items():
        keys = [tuple(map(line.get, ("bench", "nodes", "mode", "transport", "by", "workers", "peer", "sync")))
                for line in lines]
        for key in dict.fromkeys(key for key, line in zip(keys, lines) if is_shown(line, pages)):
            other = [{name: 2 * value if isinstance(value, float) or name in ("p50_us", "p99_us") else value
                      for name, value in line.items()} if own == key else line
                     for own, line in zip(keys, lines)]
            yield f"{path}: {key}", bool(wrong_in(pages, table.blocks_of_pages(other)))


def main():
    table = load(sys.argv[1])
    all_lines = {path: table.read(PROJECT / path) for path in LINES}
    blocks = [block for lines in all_lines.values() for block in table.blocks_of_pages(lines)]
    pages = {page: (PROJECT / page).read_text(encoding="utf-8") for page, _ in blocks}
    wrong = wrong_in(pages, blocks)
    if len(blocks) < LEAST_BLOCKS or "README.md" not in pages:
        wrong.append(f"only {len(blocks)} tables and sentences are compared, in {', '.join(pages)}")
    if not wrong and "--planted" in sys.argv:
        planted = [*planted_in_pages(pages, blocks), *planted_in_lines(table, all_lines, pages)]
        wrong = [f"nobody noticed a change of {what}" for what, is_found in planted if not is_found]
        print(f"{len(planted)} changes planted")
    print(*wrong, sep="\n")
    sys.exit(1 if wrong else 0)


main()
