# Lays the pages, and the files of the tree that they link to, out for mkdocs; builds nothing.
# SPDX-License-Identifier: MIT
import os
import pathlib
import re
import shutil

import dialect
import python_api
import shelf

# Whole folders that are read in the site; of other folders a page lists what is in them.
SHOWN_WHOLE = ("config", "deploy", "examples")
PICTURES = (".svg", ".png")
LANGUAGE_OF = {".cpp": "cpp", ".hpp": "cpp", ".h": "c", ".py": "python", ".lua": "lua", ".json": "json",
               ".jsonl": "json", ".yml": "yaml", ".yaml": "yaml", ".go": "go", ".sh": "bash", ".txt": "text"}
LINK = re.compile(r"(\]\()(?!https?://|mailto:|#)([^)\s#]+)(#[^)\s]*)?(\))")


def opening_of(path):
    """The sentence with which a file says what it is."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()[:3]
    except (UnicodeDecodeError, OSError):
        return ""
    for line in lines:
        found = re.match(r"\s*(?:#(?!!)|//|--|<!--|\*|;)\s*(.+?)\s*(?:-->)?$", line)
        if found:
            return found[1]
    return ""


class Stage:
    """A copy of the tree as far as the site shows it. A file that is no page becomes one."""

    def __init__(self, project, folder, api_page_of):
        self.project = project
        self.folder = folder
        self.api_page_of = api_page_of
        self.done = set()
        self.waiting = []

    def write(self, path, text):
        to = self.folder / path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text, encoding="utf-8")

    def lead_to(self, name):
        """Where in the site a path of the tree is; it is laid out there."""
        target = self.project / name
        if page := self.api_page_of(name):
            return page
        if name == "python/redlock_quorum":
            return "python/redlock_quorum/index.md"
        if not target.exists():
            return name  # mkdocs says which page names it
        self.waiting.append(name)
        return self.place_of(name)

    def place_of(self, name):
        """Where a file or folder of the tree is laid out. mkdocs leaves out what begins with a dot."""
        target = self.project / name
        place = "/".join(part.lstrip(".") for part in name.split("/"))
        if target.is_dir():
            return f"{place}/index.md"
        return place if target.suffix in (".md", *PICTURES) else f"{place}.md"

    def lay_out_all(self):
        while self.waiting:
            name = self.waiting.pop()
            if name not in self.done:
                self.done.add(name)
                self.lay_out(name)

    def lay_out(self, name):
        source, place = self.project / name, self.place_of(name)
        if source.is_dir():
            self.write(place, self.listing(name))
        elif source.suffix == ".md":
            self.write(place, self.page(name, source.read_text(encoding="utf-8")))
        elif source.suffix in PICTURES:
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, self.folder / place)
        else:
            self.write(place, self.source(name))

    def page(self, name, text):
        """The page with links that lead to where the site has what they name."""
        here = pathlib.PurePosixPath(name).parent

        def followed(found):
            path = os.path.normpath(here / found[2])
            to = os.path.relpath(self.lead_to(path), pathlib.PurePosixPath(self.place_of(name)).parent)
            return f"{found[1]}{to}{found[3] or ''}{found[4]}"

        lines = [line if is_code else dialect.outside_code(line, lambda part: LINK.sub(followed, part))
                 for line, is_code in dialect.paragraphs(dialect.translated(text))]
        return "\n".join(lines) + "\n"

    def source(self, name):
        text = (self.project / name).read_text(encoding="utf-8")
        suffix = pathlib.PurePosixPath(name).suffix
        language = LANGUAGE_OF.get(suffix, "text")
        if text.startswith("#!"):
            language = "python" if "python" in text.splitlines()[0] else "bash"
        return f"# {name}\n\n~~~~~~{language}\n{text.rstrip()}\n~~~~~~\n"

    def listing(self, name):
        lines = [f"# {name}/\n"]
        is_whole = name.startswith(SHOWN_WHOLE)
        for entry in sorted((self.project / name).iterdir()):
            if entry.name.startswith((".", "__pycache__")):
                continue
            shown = entry.name + ("/" if entry.is_dir() else "")
            says = "" if entry.is_dir() else opening_of(entry)
            path = f"{name}/{entry.name}"
            if is_whole:
                shown = f"[{shown}]({os.path.relpath(self.lead_to(path), name)})"
            else:
                shown = f"`{shown}`"
            lines.append(f"- {shown}{': ' + escaped(says) if says else ''}")
        return "\n".join(lines) + "\n"


def escaped(text):
    return text.replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[")


def lay_out(project, folder, api_page_of):
    """Lays out the pages, and returns the menu."""
    stage = Stage(project, folder, api_page_of)
    stage.lead_to("README.md")
    stage.lead_to("docs/index.md")
    menu = [{"redlock": "README.md"}, {"Documents": "docs/index.md"}]
    for group, pages in shelf.read(project):
        entries = []
        for name, text in pages:
            path = os.path.normpath(f"docs/{name}")
            title = shelf.title_of(project / path) if name.endswith(".md") else text.split(": ")[0]
            entries.append({title: stage.lead_to(path)})
        menu.append({group: entries})
    stage.lay_out_all()
    stage.write("python/redlock_quorum/index.md", python_api.page(project))
    return menu
