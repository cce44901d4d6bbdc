# Makes docs/command.md from the manual page that the command prints; knows no command by name.
# SPDX-License-Identifier: MIT
import re
import subprocess

import dialect

HEAD = """\
<!-- Each command, its options and exit statuses; made by `scripts/docs --pages` from `redlock help --man`. -->
<!-- SPDX-License-Identifier: MIT -->
# The command

What `redlock help` says, on one page.

{description}

```text
{synopsis}
```
"""
TAIL = """\
Next: [Which lock for which job](locks.md), [configuration](configuration.md), [the nodes](nodes.md)
"""
ESCAPES = {r"\-": "-", r"\(aq": "'", r"\(ha": "^", r"\(ti": "~", r"\e": "\\", r"\&": "", r"\fB": "", r"\fI": "",
           r"\fR": ""}
# What is set as code: options, variables and paths.
CODE = re.compile(r"(?<![\w$`/-])(--?[a-zA-Z][\w-]*|REDLOCK_[A-Z_]+|NOTIFY_SOCKET"
                  r"|(?:\$XDG_CONFIG_HOME|~|/etc)/[\w./]*\w)(?![\w`])")


def plain(roff):
    return re.sub(r"\\(?:-|\(..|f.|e|&)", lambda found: ESCAPES[found[0]], roff)


def markdown(text):
    """The text with what Markdown would take for its own."""
    text = re.sub(r"([*_\\`\[\]])", r"\\\1", text).replace("<", "&lt;").replace(">", "&gt;")
    return CODE.sub(lambda found: f"`{found[1]}`", re.sub(r"\\_", "_", text))


def filled(text, indent=""):
    return dialect.filled(markdown(text), indent)


def paragraph(text):
    """A paragraph; of exit statuses a list."""
    head, _, statuses = text.partition("Exit status: ")
    if head or "; " not in statuses:
        return filled(text) + "\n"
    items = (re.sub(r"^(\d+(?:\+n)?)\b ?", r"`\1` ", markdown(one)).strip() for one in statuses.rstrip(".").split("; "))
    return "Exit status:\n\n" + "\n".join(f"- {dialect.filled(one, '  ')}" for one in items) + "\n"


def sections_of(page):
    """Each section: its name, its level, and its entries (a tag and a text) and paragraphs (no tag)."""
    sections = []
    tag_is_next = False
    for line in page.splitlines():
        macro, _, rest = line.partition(" ")
        if macro in (".SH", ".SS"):
            sections.append((plain(rest), macro, [["", ""]]))
        elif macro in (".TP", ".PP"):
            sections[-1][2].append(["", ""])
            tag_is_next = macro == ".TP"
        elif macro == ".br":
            sections[-1][2].append(["", ""])
        elif tag_is_next:
            sections[-1][2][-1][0] = plain(line)
            tag_is_next = False
        elif sections:
            sections[-1][2][-1][1] += " " + plain(line)
    return [(name, level, [(tag, text.strip()) for tag, text in parts if tag or text])
            for name, level, parts in sections]


def table(head, entries):
    rows = [f"| {head} | |", "|---|---|"]
    for tag, text in entries:
        text = markdown(text).replace("|", "\\|")
        rows.append(f"| `{tag}` | {text} |")
    return "\n".join(rows) + "\n"


def command(usage, parts, examples):
    name = usage.split()[1]
    out = [f"## redlock {name}\n", filled(parts[0][1]) + "\n", f"```text\n{usage}\n```\n"]
    out += ["\n".join(f"- `{tag}`: {filled(text, '  ')}" for tag, text in parts if tag) + "\n"]
    shown = "\n".join(f"# {text}\n{call}" for call, text in examples if call.split()[1] == name)
    out += [f"```bash\n{shown}\n```\n"] if shown else []
    out += [paragraph(text) for tag, text in parts[1:] if not tag]
    return "\n".join(part for part in out if part.strip())


def page(tool):
    said = subprocess.run([tool, "help", "--man"], check=True, stdout=subprocess.PIPE, text=True).stdout
    sections = sections_of(said)
    parts_of = {name: parts for name, _, parts in sections}
    description, nodes = (text for _, text in parts_of["DESCRIPTION"])
    synopsis = "\n".join(text for _, text in parts_of["SYNOPSIS"])
    options = [part for part in parts_of["OPTIONS"] if part[0]]
    out = [HEAD.format(description=filled(description), synopsis=synopsis),
           "## Options of every command\n\nThey may stand before or behind the name of a command.\n",
           "\n".join(f"- `{tag}`: {filled(text, '  ')}" for tag, text in options) + "\n", filled(nodes) + "\n"]
    out += [command(name, parts, parts_of["EXAMPLES"]) for name, level, parts in sections if level == ".SS"]
    out += ["## Exit status\n", table("status", parts_of["EXIT STATUS"]),
            "## Environment\n", table("variable", parts_of["ENVIRONMENT"]),
            "## Files\n", table("file", parts_of["FILES"]), TAIL]
    return "\n".join(out)
