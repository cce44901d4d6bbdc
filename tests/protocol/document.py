# Compares the SHA1s of docs/protocol.md with those of the tree's scripts.
# SPDX-License-Identifier: MIT
"""usage: document.py PROJECT SCRIPTS_CPP; with REDLOCK_WRITE_SHA1=1 it writes them into the document.

SCRIPTS_CPP is what cmake/embed_lua.cmake made: the texts that the library sends, each with its SHA1."""
import hashlib
import os
import pathlib
import re
import sys

document = pathlib.Path(sys.argv[1], "docs/protocol.md")
made = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
scripts = {name: sha1 for name, text, sha1 in re.findall(r'\{"(\w+)", R"lua\((.*?)\)lua", "(\w{40})"\}', made, re.S)
           if hashlib.sha1(text.encode()).hexdigest() == sha1}
row = re.compile(r"(?m)^(\| `(\w+)` \| `)([0-9a-f]{40})(?=` \|)")
text = document.read_text(encoding="utf-8")
stated = {name: sha1 for _, name, sha1 in row.findall(text)}
wrong = [f"{name}: the document has {stated.get(name)}, the tree {scripts.get(name)}"
         for name in sorted(scripts.keys() | stated.keys()) if scripts.get(name) != stated.get(name)]
if os.environ.get("REDLOCK_WRITE_SHA1") and scripts.keys() == stated.keys():
    document.write_text(row.sub(lambda found: found[1] + scripts[found[2]], text), encoding="utf-8")
elif wrong or not scripts:
    print("\n".join(wrong), "REDLOCK_WRITE_SHA1=1 writes those of the tree", sep="\n")
    sys.exit(1)
print(f"{len(scripts)} scripts")
