# A hook of mkdocs: a table wider than a phone gets what site.css needs to show its rows as lists; knows no page.
# SPDX-License-Identifier: MIT
import html
import re

TABLE = re.compile(r"<table>\s*<thead>(.*?)</thead>\s*<tbody>(.*?)</tbody>\s*</table>", re.S)
ROW = re.compile(r"<tr>(.*?)</tr>", re.S)
CELL = re.compile(r"<(t[hd])([^>]*)>(.*?)</\1>", re.S)
TAG = re.compile(r"<[^>]*>")
# A phone's columns, in pixels: of a letter, of what surrounds a cell, and of all.
LETTER, AROUND, PHONE = 7.5, 26, 350


def text_of(cell):
    return html.unescape(TAG.sub("", cell)).strip()


def labelled(found):
    heads = [text_of(cell[2]) for cell in CELL.findall(found[1])]
    rows = [CELL.findall(row) for row in ROW.findall(found[2])]
    columns = zip(*([text_of(cell[2]) for cell in row] for row in rows), strict=False)
    width = sum(AROUND + LETTER * max((len(word) for text in (head, *column) for word in text.split()), default=0)
                for head, column in zip(heads, columns))
    if len(heads) < 3 or width <= PHONE:
        return found[0]
    lines = []
    for row in rows:
        cells = (f'<td{more} data-label="{html.escape(head)}">{inner}</td>'
                 for head, (_, more, inner) in zip(heads, row))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table data-rows>\n<thead>{found[1]}</thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody>\n</table>"


def on_page_content(content, **_):
    return TABLE.sub(labelled, content)
