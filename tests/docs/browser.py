#!/usr/bin/env python3
# Opens pages of the built site in headless Chromium, narrow and wide; builds nothing.
# SPDX-License-Identifier: MIT
"""usage: browser.py SITE [PICTURES]

Serves the folder SITE on loopback. Each page must fit into the window at 390 pixels, and one of each kind
at 1280; it may load nothing from another place and may log no error, and on the narrow
one no table may scroll sideways and no letter of a picture be small. The first screen has a command and what
it prints. The search must find a page by words that stand on it, of the API, too. With PICTURES each page is also kept there as PNG, light and
dark.
Status 1 with what is wrong, 77 where there is no Chromium.
"""
import base64
import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
# A page of each kind, which is opened at both widths; the others of docs/ are opened at the narrow one.
PAGES = ("index.html", "docs/index.html", "docs/nodes.html", "docs/configuration.html", "docs/command.html",
         "examples/election.cpp.html", "python/redlock_quorum/index.html", "api/index.html",
         "api/classredlock_1_1client.html", "api/c_8h.html")
NARROW, WIDE = 390, 1280
INDEX = "search_index.json"  # only a search needs it, and it takes a page as long as all else
LONGEST_S = 30  # ends what hangs; judges no speed
# What is searched for, and a page that must be among the first five that are found.
SEARCHES = {"appendfsync": "docs/runbook.html", "REDLOCK_NODES": "docs/configuration.html",
            "reentrant": "docs/runbook.html", "redlock run --wait": "docs/command.html",
            "--min-hold": "docs/once-per-period.html", "blocking_client": "api/classredlock_1_1blocking__client.html"}
SMALLEST_SCALE = 0.65  # of a picture, whose letters have 12 pixels and more


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Browser:
    """Chromium, to which the two pipes 3 and 4 speak: JSON with a NUL behind each message."""

    def __init__(self, program, folder):
        to_read, self.to = os.pipe()
        self.come_from, to_write = os.pipe()

        def pipes():
            # 3 and 4 may be the ends of these very pipes: copies out of the way first.
            ends = os.dup(to_read), os.dup(to_write)
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
        self.process = subprocess.Popen(
            [program, "--headless", *sandbox, "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--force-prefers-reduced-motion",
             f"--user-data-dir={folder}", "--remote-debugging-pipe", "about:blank"],
            close_fds=False, preexec_fn=pipes, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.come_from, 1 << 20)
            if not part:
                raise RuntimeError("the browser ended")
            self.rest += part
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        words = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            words["sessionId"] = self.session
        os.write(self.to, json.dumps(words).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def value(self, script):
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{script}: {done['exceptionDetails']['text']}")
        return done["result"].get("value")

    def wait_for(self, script, what):
        end = time.monotonic() + LONGEST_S
        while time.monotonic() < end:
            value = self.value(script)
            if value:
                return value
            time.sleep(0.05)
        raise RuntimeError(f"{what} did not come")

    def open(self, url, width, scheme):
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                  mobile=width == NARROW)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        # The theme keeps what it found at the first visit.
        self.call("Storage.clearDataForOrigin", origin="/".join(url.split("/")[:3]), storageTypes="local_storage")
        self.call("Page.navigate", url=url)
        self.wait_for(f"location.href === {json.dumps(url)} && document.readyState === 'complete'", url)

    def picture(self, path):
        """The first 2,000 pixels of the page."""
        width, height = self.value("[innerWidth, Math.min(2000, document.documentElement.scrollHeight)]")
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        path.write_bytes(base64.b64decode(shot["data"]))

    def end(self):
        self.process.kill()
        self.process.wait()


NARROW_FAULTS = """(async () => {
    const wrong = [];
    for (const table of document.querySelectorAll('article table')) {
        const box = table.closest('.md-typeset__scrollwrap') || table.parentElement;
        if (box.scrollWidth > box.clientWidth + 2)
            wrong.push(`a table of ${box.scrollWidth} pixels scrolls in ${box.clientWidth}: ${table.innerText.slice(0, 40)}`);
    }
    for (const image of document.querySelectorAll('article img[src$=".svg"]')) {
        await image.decode();
        const scale = image.clientWidth / image.naturalWidth;
        if (!(scale >= %s)) wrong.push(`${image.src} is shown at ${scale} of its size`);
    }
    return wrong;
})()""" % SMALLEST_SCALE


def wrong_on(browser, origin, page, width):
    """What is wrong with the page that is open."""
    wrong = []
    # With what is wider than the window a phone shows the page smaller, or scrolls it.
    has, wide = browser.value("[document.documentElement.clientWidth, document.documentElement.scrollWidth]")
    if wide > width:
        widest = browser.value(
            f"[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > {width} + 1)"
            ".slice(0, 3).map(e => e.tagName + '.' + e.className).join(', ')")
        wrong.append(f"{page} is {wide} pixels wide where the window has {width} ({has}): {widest}")
    if width == NARROW:
        wrong += [f"{page}: {text}" for text in browser.value(NARROW_FAULTS)]
    for event in browser.events:
        if event.get("method") == "Network.requestWillBeSent":
            url = event["params"]["request"]["url"]
            if not url.startswith((origin, "data:", "about:", "blob:")):
                wrong.append(f"{page} loads {url}")
        elif event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            entry = event["params"]["entry"]
            if not entry.get("url", "").endswith(INDEX):
                wrong.append(f"{page}: {entry['text']} {entry.get('url', '')}")
        elif event.get("method") == "Runtime.exceptionThrown":
            wrong.append(f"{page}: {event['params']['exceptionDetails']['text']}")
    return wrong


def wrong_on_first_screen(browser):
    """The first screen has a command and what it prints, and no tab is without its block."""
    blocks = browser.value("[...document.querySelectorAll('article pre')].filter(e => e.getBoundingClientRect().bottom <= innerHeight)"
                           ".map(e => e.innerText)")
    if not any("redlock run" in block for block in blocks) or len(blocks) < 2:
        return ["index.html has no command and its output on its first screen"]
    return []


def wrong_in_tabs(browser, page):
    """Each tab shows its block when it is chosen."""
    shown = browser.value(
        "[...document.querySelectorAll('article .tabbed-set')].map(set => [...set.querySelectorAll(':scope > input')].map("
        "(input, i) => { input.click(); const block = set.querySelectorAll(':scope > .tabbed-content > .tabbed-block')[i];"
        "return block.offsetHeight > 0 && block.querySelector('pre') !== null; }))")
    return [f"{page}: tabs {tabs}" for tabs in shown if len(tabs) < 2 or not all(tabs)]


def search(browser, origin, words, pictures):
    browser.open(f"{origin}/index.html", 1280, "light")
    # It loses what is typed before it has its index.
    browser.wait_for("document.querySelector('.md-search-result__meta').textContent.includes('Type to start')",
                     "the search")
    browser.value("document.querySelector('input.md-search__input').focus()")
    browser.call("Input.insertText", text=words)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key="Shift")  # it looks when a key is let go
    found = browser.wait_for(
        "[...document.querySelectorAll('.md-search-result__item a')].map(a => a.href).join(' ')",
        f"an answer to '{words}'").split()
    if pictures:
        browser.picture(pictures / f"search-{words}.png")
    pages = (url.removeprefix(origin + "/").partition("?")[0].partition("#")[0] for url in found)
    return list(dict.fromkeys(pages))[:5]


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] in ("--help", "-h"):
        print(__doc__.strip())
        return 0
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if not program:
        print("skipped: there is no Chromium; scripts/install-deps all installs chromium-headless-shell")
        return 77
    site = pathlib.Path(sys.argv[1])
    pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else None
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_address[1]}"
    wrong = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, folder)
        try:
            browser.call("Network.setBlockedURLs", urls=["*/" + INDEX])
            others = sorted(path.relative_to(site).as_posix() for path in site.glob("docs/*.html"))
            views = [(page, width) for page in PAGES for width in (NARROW, WIDE)]
            views += [(page, NARROW) for page in others if page not in PAGES]
            for page, width in views:
                if not (site / page).exists():
                    wrong.append(f"there is no {page}")
                    continue
                # What is dark is as wide as what is light.
                for scheme in ("light", "dark") if pictures else ("light",):
                    browser.open(f"{origin}/{page}", width, scheme)
                    wrong += wrong_on(browser, origin, page, width)
                    if (page, width) == ("index.html", WIDE):
                        wrong += wrong_on_first_screen(browser)
                    if width == NARROW:
                        wrong += wrong_in_tabs(browser, page)
                    if pictures:
                        name = page.replace("/", "-").removesuffix(".html")
                        browser.picture(pictures / f"{name}-{width}-{scheme}.png")
            browser.call("Network.setBlockedURLs", urls=[])
            for words, page in SEARCHES.items():
                found = search(browser, origin, words, pictures)
                if page not in found:
                    wrong.append(f"the search for '{words}' finds {found} first, and not {page}")
        finally:
            browser.end()
    server.shutdown()
    for line in wrong:
        print(line)
    print(f"browser: {len(views)} views of pages, {len(SEARCHES)} searches")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
