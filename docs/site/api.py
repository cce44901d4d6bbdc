# Makes pages of the site, with its dress and its search, of what Doxygen writes; knows no class.
# SPDX-License-Identifier: MIT
import html
import re

# What Doxygen gets beside docs/Doxyfile.
SETTINGS = """
HTML_OUTPUT = .
GENERATE_XML = NO
SEARCHENGINE = NO
DISABLE_INDEX = YES
VERBATIM_HEADERS = NO
ALPHABETICAL_INDEX = NO
CLASS_GRAPH = TEXT
"""
KEPT = re.compile(r"(?:class|struct|namespace)redlock\w*|\w+_8hp*|index")
TITLE = re.compile(r'<div class="title">(.*?)</div>', re.S)
CONTENTS = re.compile(r'<div class="contents">\n?(.*?)</div><!-- contents -->', re.S)
MEMBER = re.compile(r'<a id="(\w+)" name="\w+"></a>\s*<h2 class="memtitle">(.*?)</h2>', re.S)
TAG = re.compile(r"<[^>]*>")
LINK = re.compile(r'<a\b[^>]*?href="([^"#]*)[^"]*"[^>]*>(.*?)</a>', re.S)
UNUSED = re.compile(r'\s*<a href="[^"]*">More\.\.\.</a>|<img [^>]*/>|</div><!-- PageDoc -->|<a href="javascript:[^>]*>'
                    r'|&#160;')


def is_kept(name):
    return KEPT.fullmatch(name.removesuffix(".html")) and not name.endswith("-members.html")


def kept_links(text):
    """Links to pages that the site does not have become their text."""
    return LINK.sub(lambda link: link[0] if not link[1] or "/" in link[1] or is_kept(link[1]) else link[2], text)


def plain(title):
    """A title as Markdown: without tags, and with no character that means something."""
    text = html.unescape(TAG.sub("", title)).replace("\u25c6", "").strip()
    return html.escape(text).replace("*", "&#42;")


def block(part):
    """HTML that Markdown leaves as it is."""
    part = re.sub(r"\n\s*\n+", "\n", part.strip())
    return f'<div class="api">\n{part}\n</div>\n' if TAG.sub("", part).strip() else ""


def markdown(text):
    """A page of Doxygen, in which each member is a heading, so that the search leads to it."""
    title = plain(TITLE.search(text)[1])
    title = re.sub(r" (?:Class|Struct|File|Namespace)(?: Template)? Reference$", "", title)
    contents = kept_links(UNUSED.sub(lambda found: " " * (found[0] == "&#160;"), CONTENTS.search(text)[1]))
    first, *rest = MEMBER.split(contents)
    parts = [f"# {title}\n", block(first)]
    for anchor, name, member in zip(rest[0::3], rest[1::3], rest[2::3]):
        parts += [f"### {plain(name)} {{#{anchor}}}\n", block(member)]
    return "\n".join(parts)


def lay_out(made, pages):
    """Of each page in the folder that Doxygen made one in the folder of pages."""
    pages.mkdir(parents=True)
    names = sorted(path.name for path in made.glob("*.html") if is_kept(path.name))
    titles = {}
    for name in names:
        text = markdown((made / name).read_text(encoding="utf-8"))
        titles[name] = text.partition("\n")[0].removeprefix("# ")
        (pages / name).with_suffix(".md").write_text(text, encoding="utf-8")
    with (pages / "index.md").open("a", encoding="utf-8") as index:
        for heading, begins in (("Classes", ("class", "struct")), ("Headers", ())):
            index.write(f"\n## {heading}\n\n")
            for name in names:
                if name.startswith(begins) if begins else re.search(r"_8hp*\.html$", name):
                    index.write(f"- [{titles[name]}]({name.replace('.html', '.md')})\n")
