# Turns the Markdown of the tree into what Python-Markdown reads in the same way; knows no page.
# SPDX-License-Identifier: MIT
import re
import textwrap

FENCE = re.compile(r" *(```+|~~~+)")
ITEM = re.compile(r"( *)([-*+]|\d+\.) +(?=\S)")
HEADING = re.compile(r"(#{1,6}) +(.+?) *$")
TABS, END_OF_TABS = "<!-- tabs -->", "<!-- end of tabs -->"
TAB_OF = {"bash": "Command", "cpp": "C++", "python": "Python", "c": "C"}
COMMENT = re.compile(r"<!--.*-->$")


def slug(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def filled(text, indent=""):
    """A paragraph in lines, of which none begins as a heading, a list or a quotation does."""
    lines = textwrap.fill(text, 110, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return re.sub(r"\n( *)(#|>|[-+*] |\d+\. )", r"\n\1\\\2", lines)


def outside_code(text, change):
    """The text, changed outside of its code spans."""
    return "".join(part if i % 2 else change(part) for i, part in enumerate(re.split(r"(`[^`]*`)", text)))


def paragraphs(text):
    """The lines of a page: each with whether it stands in a fenced block."""
    fence = None
    for line in text.splitlines():
        found = FENCE.match(line)
        if fence is None and found:
            fence = found[1]
            yield line, True
        elif fence is not None:
            yield line, True
            if found and line.strip() == fence:
                fence = None
        else:
            yield line, False


def headings(text):
    """The headings of a page, without their marks."""
    return [found[2] for line, is_code in paragraphs(text) if not is_code and (found := HEADING.fullmatch(line))]


def in_tabs(text):
    """The blocks between <!-- tabs --> and <!-- end of tabs -->, each behind the name of its language."""
    inside = begun = False
    for line, is_code in paragraphs(text):
        if not is_code and line in (TABS, END_OF_TABS):
            inside = line == TABS
            continue
        if inside and is_code:
            if not begun:
                yield from ("", f'=== "{TAB_OF[FENCE.sub("", line)]}"', "")
            begun = not (begun and FENCE.match(line))
            line = f"    {line}"
        yield line


def translated(text):
    """Lists by four columns with a blank line before them, explicit anchors, tabs, no comments."""
    out = []
    text = "\n".join(in_tabs(text))
    inner = []  # the columns at which the text of each list item begins, the outermost first
    for line, is_code in paragraphs(text):
        indent = len(line) - len(line.lstrip())
        if line.strip() and not (is_code and inner and indent < inner[-1] and not FENCE.match(line)):
            while inner and indent < inner[-1]:
                inner.pop()
        margin = inner[-1] if inner else 0
        rest = line[min(margin, indent):]
        level = "    " * len(inner)
        item = None if is_code else ITEM.match(rest)
        if item and len(item[1]) < 4:
            before = out[-1] if out else ""
            if before.strip() and not ITEM.match(before.lstrip()) and not before.startswith(level + "    ") \
                    and not (inner or before.startswith("    ")):
                out.append("")
            inner.append(margin + len(item[0]))
            rest = f"{item[2]}   "[:4] + rest[len(item[0]):]
        elif not is_code:
            if COMMENT.fullmatch(rest):
                continue
            if found := HEADING.fullmatch(rest):
                rest = f"{found[1]} {found[2]} {{#{slug(found[2])}}}"
            elif rest.startswith("|"):
                rest = re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), rest)
        out.append((level + rest).rstrip() if line.strip() else "")
    return "\n".join(out).strip("\n") + "\n"
