# Draws the pictures of docs/: a lease's life, a change of the list, what each rule prevents.
# SPDX-License-Identifier: MIT
import html
import re
import textwrap

# The colours are those of Okabe and Ito. The ground is drawn, too: a page may be light where the
# picture, which goes by the settings of the system, is dark.
STYLE = """\
  <style>
    svg { --ground: #ffffff; --ink: #1f2328; --faint: #656d76; --line: #d0d7de; --blue: #0072b2;
          --pale: #d6e9f5; --red: #c04a00; --rose: #fae3d6; --green: #007a5a; --mint: #d5efe6; }
    @media (prefers-color-scheme: dark) {
      svg { --ground: #1c2128; --ink: #e6edf3; --faint: #9aa4af; --line: #444c56; --blue: #56b4e9;
            --pale: #173a52; --red: #ff9e5e; --rose: #4d2c17; --green: #4cc9a0; --mint: #163f33; }
    }
    text { font: 14px sans-serif; fill: var(--ink) }
    .small { font-size: 12.5px; fill: var(--faint) }
    .bold { font-weight: bold }
    .strong { fill: var(--ink) }
  </style>
"""


class Drawing:
    def __init__(self, width, height, text):
        self.size = width, height
        self.text = text
        self.parts = []

    def add(self, element, content=None, **attributes):
        words = "".join(f' {name.replace("_", "-").rstrip("-")}="{value}"' for name, value in attributes.items())
        inner = f">{html.escape(content, quote=False)}</{element}>" if content is not None else "/>"
        self.parts.append(f"  <{element}{words}{inner}")

    def words(self, x, y, content, anchor="start", kind=""):
        self.add("text", content, x=x, y=y, text_anchor=anchor, **({"class": kind} if kind else {}))

    def box(self, x, y, width, height, fill, stroke, **more):
        self.add("rect", x=x, y=y, width=width, height=height, rx=4,
                 style=f"fill: var(--{fill}); stroke: var(--{stroke}); stroke-width: 1.5", **more)

    def line(self, x1, y1, x2, y2, stroke="faint", dashed=False):
        dashes = {"stroke_dasharray": "5 4"} if dashed else {}
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, style=f"stroke: var(--{stroke}); stroke-width: 1.5", **dashes)

    def svg(self):
        width, height = self.size
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                f'viewBox="0 0 {width} {height}" role="img">\n'
                f"  <title>{html.escape(self.text, quote=False)}</title>\n{STYLE}"
                f'  <rect width="{width}" height="{height}" rx="6" style="fill: var(--ground)"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


WIDTH = 440  # a phone shows letters of 12.5 in ten pixels


def lease(_project):
    """The last of three extensions decides when the lease ends."""
    drawing = Drawing(WIDTH, 398, "The life of a lease: granted, renewed, and lost")
    ttl, drift = 200, 20
    sent = (24, 94, 164)
    ends, gone = sent[-1] + ttl - drift, sent[-1] + ttl + 12
    lost = ends - 26
    drawing.words(WIDTH - 16, 16, "time, not to scale", "end", kind="small")
    drawing.line(16, 24, WIDTH - 16, 24)
    drawing.add("path", d=f"M{WIDTH - 16} 24l-9 -4v8z", style="fill: var(--faint)")
    for y, x, what in zip((34, 82, 130), sent, ("granted", "renewed", "renewed")):
        drawing.line(x, 18, x, 30, "blue")
        drawing.words(x, y + 12, what, kind="bold")
        drawing.box(x, y + 18, ttl - drift, 24, "pale", "blue")
        drawing.box(x + ttl - drift, y + 18, drift, 24, "rose", "red")
        drawing.words(x + 8, y + 35, "valid")
    drawing.words(sent[0] + ttl + 6, 69, "less: the drift allowance", kind="small")
    drawing.words(24, 198, "sent again, no quorum", kind="bold")
    for x in (262, 276, 290, 304):
        drawing.add("path", d=f"M{x - 4} 189l8 8m0 -8l-8 8", style="stroke: var(--red); stroke-width: 2.5; fill: none")
    drawing.line(lost, 142, lost, 232, "red", dashed=True)
    drawing.line(ends, 142, ends, 256, "blue", dashed=True)
    drawing.words(lost - 6, 230, "the loss is reported: the holder stops", "end")
    drawing.words(ends - 6, 254, "valid_until()", "end")
    drawing.words(24, 284, "the keys on the nodes keep others out", kind="bold")
    drawing.box(sent[0] + 10, 290, gone - sent[0] - 10, 24, "ground", "faint")
    drawing.words(WIDTH - 16, 336, "another holder may be granted it", "end", kind="bold")
    drawing.box(gone + 4, 342, WIDTH - 16 - gone - 4, 14, "mint", "green")
    for i, line in enumerate(("Each time counts from before the request is sent,", "so the lease ends before the keys do.")):
        drawing.words(16, 372 + 16 * i, line, kind="small")
    return drawing


def rules(project):
    """The bars are the rows of the table in docs/guarantees.md."""
    text = (project / "docs/guarantees.md").read_text(encoding="utf-8")
    worlds = re.search(r"runs ([\d,]+) hostile worlds", text)[1]
    table = text.partition("| left out | worlds with two holders |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in table.splitlines()]
    lines = [textwrap.wrap(what, 54) for what, _ in rows]
    most = max(int(count) for _, count in rows)
    height = 66 + sum(18 * len(part) + 34 for part in lines)
    drawing = Drawing(WIDTH, height, f"Worlds with two holders, of {worlds}, for each rule that is left out")
    drawing.words(16, 26, "Left out: the worlds in which", kind="bold")
    drawing.words(16, 44, f"two programs held one lock, of {worlds}", kind="bold")
    y = 74
    for part, (_, count) in zip(lines, rows):
        for i, line in enumerate(part):
            drawing.words(16, y + 18 * i, line)
        y += 18 * len(part)
        length = round(360 * int(count) / most)
        if length:
            drawing.box(16, y - 10, length, 14, "rose", "red")
        else:
            drawing.line(16, y - 10, 16, y + 4, "green")
        drawing.words(24 + length, y + 2, count, kind="bold")
        y += 34
    return drawing


def change(project):
    """The four steps are those of docs/changes.md, by their first words."""
    text = (project / "docs/changes.md").read_text(encoding="utf-8")
    steps = [words.replace("`", "").rstrip(".").split(" --")[0]
             for words in re.findall(r"^\d\. \*\*(.+?)\*\*", text, re.M)]
    votes, closed = ("votes", ""), ("votes", "closed for the old list")
    # Of each step: what lock-1 and lock-2, lock-3 and lock-4 are, and what a grant takes.
    scenes = ((votes, ("votes", "leaving"), ("joining", "votes after ttl_max"),
               ("old list: 2 of 1, 2, 3", "joint list: also 2 of 1, 2, 4")),
              (closed, closed, votes, ("joint list: 2 of 1, 2, 3", "and 2 of 1, 2, 4")),
              (votes, ("votes", "for the joint list only"), votes,
               ("joint list: as before", "new list: 2 of 1, 2, 4")),
              (votes, ("off", ""), votes, ("new list: 2 of 1, 2, 4",)))
    if len(steps) != len(scenes):
        raise ValueError(f"docs/changes.md has {len(steps)} steps of a change, and the picture {len(scenes)}")
    drawing = Drawing(WIDTH, 740, "A change of the list of nodes in four steps: lock-4 takes the place of lock-3")
    for number, (step, (stays, third, fourth, grant)) in enumerate(zip(steps, scenes)):
        x, top = 16 + 208 * (number % 2), 364 * (number // 2)
        drawing.box(x, top + 12, 200, 352, "ground", "line")
        for i, line in enumerate(textwrap.wrap(f"{number + 1}. {step}", 24)):
            drawing.words(x + 12, top + 38 + 18 * i, line, kind="bold")
        nodes = (("lock-1", stays), ("lock-2", stays), ("lock-3", third), ("lock-4", fourth))
        for i, (name, (state, more)) in enumerate(nodes):
            y = top + 84 + 54 * i
            fill, stroke = {"votes": ("mint", "green"), "joining": ("pale", "blue")}.get(state, ("ground", "faint"))
            drawing.box(x + 12, y, 176, 44, fill, stroke,
                        **({"stroke_dasharray": "5 4"} if state != "votes" else {}))
            drawing.words(x + 20, y + 18, f"{name}: {state}")
            if more:
                drawing.words(x + 20, y + 36, more, kind="small")
        drawing.words(x + 12, top + 322, "a grant takes", kind="small")
        for i, line in enumerate(grant):
            drawing.words(x + 12, top + 340 + 17 * i, line, kind="small strong")
    return drawing


PICTURES = {"lease.svg": lease, "rules.svg": rules, "list-change.svg": change}
