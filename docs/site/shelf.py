# Reads the list of pages, and makes docs/index.md of it; knows nothing of the site.
# SPDX-License-Identifier: MIT
import re

HEAD = """\
<!-- The pages of docs/ in the order of a job; made by `scripts/docs --pages` from docs/site/pages. -->
<!-- SPDX-License-Identifier: MIT -->
# Documents

Find your job below: each line leads to one page. [README](../README.md) says in one screen what redlock is.
"""


# Of the pages with tasks those with a remedy in each row; the others say how to see that it worked, and how to undo it.
REMEDIES = {"runbook.md", "failure-modes.md"}


def title_of(path):
    """The text of a page's first heading, as it is read."""
    found = re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.M)
    return found[1].replace("`", "") if found else None


def read(project):
    """The groups: a name, and for each page its path within docs/ and its line."""
    groups = []
    for line in (project / "docs/site/pages").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, text = line.partition(" ")
        if "." in name:
            groups[-1][1].append((name, text.strip()))
        else:
            groups.append((line.strip(), []))
    return groups


def wrong_with(project):
    """Pages that stand in no group or in two, and those that are in a group but not in the tree."""
    listed = [name for _, pages in read(project) for name, _ in pages]
    files = {path.name for path in (project / "docs").glob("*.md")} - {"index.md"}
    wrong = [f"docs/{name} is in no group of docs/site/pages" for name in sorted(files - set(listed))]
    wrong += [f"docs/site/pages names {name} twice" for name in sorted(set(listed)) if listed.count(name) > 1]
    wrong += [f"docs/site/pages names {name}, which is not in docs/" for name in listed
              if not (project / "docs" / name).exists()]
    tasks = [name for group, pages in read(project) if group in ("How to", "Operate") for name, _ in pages]
    for name in set(tasks) & files - REMEDIES:
        text = (project / "docs" / name).read_text(encoding="utf-8")
        wrong += [f"docs/{name} does not say: {words}" for words in ("To see", "o undo")
                  if not re.search(words.replace(" ", r"\s+") + r"\b", text)]
    return wrong


def index(project):
    lines = [HEAD]
    for group, pages in read(project):
        lines.append(f"## {group}\n")
        for name, text in pages:
            path = project / "docs" / name
            title, text = (title_of(path), text) if path.is_file() else text.split(": ", 1)
            lines.append(f"- [{title}]({name}): {text}")
        lines.append("")
    first = read(project)[0][1][0][0]
    lines.append(f"Next: [{title_of(project / 'docs' / first)}]({first})")
    return "\n".join(lines) + "\n"
