# Follows each link of the built site to its file and its anchor; knows no page.
# SPDX-License-Identifier: MIT
import html.parser
import os
import pathlib
import urllib.parse

# What a page loads by itself; a link may lead anywhere, if the reader follows it.
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}
LOADED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "modulepreload"}


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.anchors = set()
        self.links = []
        self.loads = []
        self.feed(path.read_text(encoding="utf-8", errors="replace"))

    def handle_starttag(self, tag, attributes):
        has = dict(attributes)
        self.anchors.update(has[name] for name in ("id", "name") if has.get(name))
        if tag == "a" and has.get("href"):
            self.links.append(has["href"])
        if tag == "link" and LOADED_LINKS & set((has.get("rel") or "").split()):
            self.loads.append(has.get("href", ""))
        if LOADS.get(tag) and has.get(LOADS[tag]):
            self.loads.append(has[LOADS[tag]])


def wrong_in(site):
    """What leads nowhere, and what is loaded from elsewhere; how many links were followed."""
    pages = {}

    def page_of(path):
        if path not in pages:
            pages[path] = Page(path)
        return pages[path]

    wrong, followed = [], 0
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        if name == "404.html":  # its links are absolute
            continue
        page = page_of(path)
        wrong += [f"{name}: loads {load}" for load in page.loads if urllib.parse.urlsplit(load).netloc]
        for link in page.links + page.loads:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            followed += 1
            target = path if not parts.path else \
                pathlib.Path(os.path.normpath(path.parent / urllib.parse.unquote(parts.path)))
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                wrong.append(f"{name}: {link} leads nowhere")
            elif parts.fragment and target.suffix == ".html" \
                    and urllib.parse.unquote(parts.fragment) not in page_of(target).anchors:
                wrong.append(f"{name}: {link}: there is no such heading")
    return wrong, followed
