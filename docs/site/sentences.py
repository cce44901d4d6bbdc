# Counts the words of each page and of its sentences, and finds words that nobody has explained; knows no page.
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


# What docs/concepts.md explains. Where a page uses one first it links there, or explains it: in italics, by a heading.
CONCEPTS = ("quorums?", "leases?", "fenc(?:es?|ing)", "quarantines?", "joint (?:lists?|programs?)")
NO_USE = re.compile(r"<!--.*?-->|^```.*?^```$|`[^`]*`|\]\([^)]*\)", re.M | re.S)


def unexplained(text):
    """The concepts whose first use on a page is neither a link nor an explanation."""
    text = NO_USE.sub(lambda part: re.sub(r"[^\n\]]", " ", part[0]), text)
    for concept in CONCEPTS:
        use = re.search(rf"(?<![\w-])\*?{concept}(?!\w)", text, re.I)
        if use is None or use[0].startswith("*") or text[text.rfind("\n", 0, use.start()) + 1] == "#":
            continue
        if text.rfind("[", 0, use.start()) <= text.rfind("]", 0, use.start()):
            yield use[0]
