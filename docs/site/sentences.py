# Counts the words of each page, and the words of its sentences; knows no page.
# SPDX-License-Identifier: MIT
import re

import dialect

MOST = 35
BEGIN = re.compile(r"^ *(?:(?:[-*+]|\d+\.) +|>)")
END = re.compile(r"(?<=[.!?])[)\"*`]*\s+(?=[\"(*`\[]*[A-Z0-9`*\[(])")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|etc|cf)\.$")


def units(text):
    """The paragraphs and list items of a page, each in one line: no code, table, heading or comment."""
    unit = []
    for line, is_code in dialect.paragraphs(text):
        ends = is_code or not line.strip() or line.lstrip().startswith(("|", "#", "<!--", "![")) \
            or (line.startswith("    ") and not unit)  # code that is indented
        if (ends or BEGIN.match(line)) and unit:
            yield " ".join(unit)
            unit = []
        if not ends:
            unit.append(BEGIN.sub("", line, count=1).strip())
    if unit:
        yield " ".join(unit)


def sentences(text):
    for unit in units(text):
        unit = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", unit)
        # A code span is one word.
        unit = re.sub(r"`[^`]*`", "`code`", unit)
        yield from (one for one in END.split(unit) if one and not ABBREVIATION.search(one))


def report(project, name):
    """Of one page: its words, its sentences, the words of the longest one, and those that are too long."""
    text = (project / name).read_text(encoding="utf-8")
    lengths = [(len(one.split()), one) for one in sentences(text)]
    return {"words": sum(1 for word in text.split() if re.search(r"\w", word)), "sentences": len(lengths), "longest": max(lengths, default=(0, ""))[0],
            "mean": sum(n for n, _ in lengths) / max(1, len(lengths)),
            "long": [one for n, one in lengths if n > MOST]}
